// One command buffer from its creation to its completion.
#include "mlxn/core/encode/internal/submission.h"

#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/encode/session.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Submissions : public testing::Test {
 protected:
  NS::SharedPtr<MTL::Device> metal = make_metal_device();
  Device device = *Device::wrap(metal.get(), {});
  Buffer a = zeros(device, 4);
};

// Metal itself retains no pipeline in unretained mode.
TEST_F(Submissions, HoldPipelinesUntilTheEnd) {
  const Device unretained = device_with(&RuntimeOptions::unretained_references);
  const Buffer x = zeros(unretained, 4);
  EncoderSession session = *unretained.encoder_session();
  const StageFence gate = {NS::TransferPtr(metal->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  std::weak_ptr<const Pipeline::State> watched;
  {
    const Pipeline own = *Pipeline::wrap(kernel(unretained, "inc_one").metal(), "own");
    watched = own.state();
    EXPECT_OK(session.encoder().encode(own, {{0, &x}, {1, &x}}, width(4), width(4)));
  }
  EXPECT_OK(session.commit_stage());
  EXPECT_FALSE(watched.expired());
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  EXPECT_TRUE(watched.expired());
}

TEST_F(Submissions, TimesThatRunBackwardsAreNone) {
  EXPECT_EQ(nanoseconds(1.5e-6), 1500u);
  EXPECT_EQ(nanoseconds(0), 0u);
  EXPECT_EQ(nanoseconds(-1), 0u);
  EXPECT_EQ(nanoseconds(std::numeric_limits<double>::quiet_NaN()), 0u);
}

TEST_F(Submissions, AFailureIsLoggedOnceWithItsLabel) {
  LogLines lines;
  CommandEncoder encoder = *device.command_encoder();
  EXPECT_OK(inc_one(encoder, a, a));
  metal::inject_fault(metal.get(), metal::Fault::kRun);
  EXPECT_ERROR(kExecutionFailed, encoder.commit_and_wait_labeled("doomed"));
  EXPECT_ERROR(kExecutionFailed, encoder.wait_until_completed());
  EXPECT_EQ(lines.count("'doomed' failed"), 1u);
}

// Where a failed command buffer signals nothing, this is what keeps others from waiting for ever.
TEST_F(Submissions, AFailureIsActedUponBeforeTheWaitReturns) {
  LogLines quiet;
  for (const bool fails : {true, false}) {
    AutoreleaseScope scope;
    const auto submission = std::make_shared<Submission>(device.queue());
    std::string seen;
    submission->on_failure([&](const Error& error) { seen = error.message(); });
    auto* pass = (*submission->command_buffer())->computeCommandEncoder();
    pass->setComputePipelineState(kernel(device, "inc_one").metal());
    pass->setBuffer(a.metal_buffer(), 0, 0);
    pass->setBuffer(a.metal_buffer(), 0, 1);
    pass->dispatchThreads(width(4), width(4));
    pass->endEncoding();
    if (fails) metal::inject_fault(metal.get(), metal::Fault::kRun);
    EXPECT_OK(submission->commit());
    const Status status = submission->wait();
    EXPECT_EQ(status.has_value(), !fails);
    EXPECT_EQ(seen, fails ? status.error().message() : "");
    EXPECT_TRUE(submission->done());
  }
}

}  // namespace
}  // namespace mlxn::test
