// Sessions whose stages fail, and stages that need no keeping.
#include <chrono>
#include <thread>

#include "mlxn/core/encode/session.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class SessionErrors : public testing::Test {
 protected:
  EncoderSession session() const { return *device.encoder_session(); }
  Status inc(EncoderSession& s) const {
    return s.encoder().encode(pipeline, {{0, &a}, {1, &a}}, width(4), width(4));
  }

  NS::SharedPtr<MTL::Device> metal = make_metal_device();
  Device device = *Device::wrap(metal.get(), {});
  Buffer a = zeros(device, 4);
  Pipeline pipeline = kernel(device, "inc_one");
  LogLines quiet;
};

// The stage behind a failed one fails because of it; whichever is asked for, the cause is told.
TEST_F(SessionErrors, TheFirstFailureIsTheOneThatIsTold) {
  auto s = session();
  const StageFence gate = {NS::TransferPtr(metal->newSharedEvent()), 1};
  metal::inject_fault(metal.get(), metal::Fault::kRun);
  EXPECT_OK(s.wait_for(gate));  // nothing is over before all is submitted
  EXPECT_OK(inc(s));
  EXPECT_OK(s.fence_stage("cause"));
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_OK(inc(s));
  EXPECT_OK(s.fence_stage("consequence"));
  gate.event->setSignaledValue(1);
  for (int i = 0; i < 2; ++i) {
    const Status status = i == 0 ? s.wait_for_fence(2) : s.commit_and_wait();
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), testing::HasSubstr("'cause'"));
  }
  EXPECT_OK(device.synchronize()) << "both have been seen";
}

TEST_F(SessionErrors, NothingIsSubmittedBehindAKnownFailure) {
  auto s = session();
  metal::inject_fault(metal.get(), metal::Fault::kRun);
  EXPECT_OK(inc(s));
  EXPECT_OK(s.fence_stage());
  EXPECT_ERROR(kExecutionFailed, device.synchronize());
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_OK(inc(s));
  EXPECT_ERROR(kExecutionFailed, s.fence_stage());
  EXPECT_ERROR(kExecutionFailed, s.commit_stage());
  EXPECT_EQ(s.fence_value(), 1u);
  EXPECT_FALSE(s.is_drained());
}

TEST_F(SessionErrors, AStageThatHoldsOnlyAWaitIsEmpty) {
  auto s = session();
  EXPECT_OK(s.fence_stage());
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_OK(s.reset_for_next_stage());
  EXPECT_EQ(s.wait_count(), 1u);
  EXPECT_EQ(device.counters().command_buffers, 2u);
  EXPECT_OK(s.commit_and_wait());
}

TEST_F(SessionErrors, FinishedStagesAreLetGo) {
  auto s = session();
  EXPECT_OK(inc(s));
  const auto commands = NS::RetainPtr(s.metal_command_buffer());
  EXPECT_OK(s.fence_stage());
  EXPECT_OK(device.synchronize());
  EXPECT_OK(s.reset_for_next_stage());
  // The thread that completed it may hold it for another moment.
  for (int i = 0; i < 1000 && commands->retainCount() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(commands->retainCount(), 1u);
}

TEST_F(SessionErrors, AMovedFromSessionRefusesEverything) {
  auto s = session();
  auto moved = std::move(s);
  EXPECT_ERROR(kInvalidState, inc(s));
  EXPECT_ERROR(kInvalidState, s.fence_stage());
  EXPECT_ERROR(kInvalidState, s.commit_stage());
  EXPECT_ERROR(kInvalidState, s.reset_for_next_stage());
  EXPECT_ERROR(kInvalidState, s.commit_and_wait());
  EXPECT_OK(inc(moved));
  EXPECT_OK(moved.commit_and_wait());
}

}  // namespace
}  // namespace mlxn::test
