// The indices that argument encoders give to members: [[id(n)]], arrays, nested structs.
#include "api_test.h"

namespace mlxn_test {
namespace {

const char* const kSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Pair { device float* data; float factor; };
struct Table {
  float first [[id(4)]];
  device float* out;             // 5
  float weights[3] [[id(10)]];   // to 12
  Pair single;                   // 13, 14
  Pair pairs[2] [[id(20)]];      // 20 to 23
  array<device float*, 2> more;  // 24, 25
  uint last [[id(1)]];
};
kernel void gather(constant Table& t [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  t.out[i] = t.first + t.weights[2] + t.single.factor * t.single.data[i] +
             t.pairs[1].factor * t.pairs[1].data[i] + t.more[1][i] + t.last;
})";

class ArgumentBufferTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    auto lib = library(kSource);
    ASSERT_TRUE(lib);
    function = TransferPtr(lib->newFunction(string("gather")));
    arguments = TransferPtr(function->newArgumentEncoder(0));
    ASSERT_TRUE(arguments);
    table = buffer(arguments->encodedLength());
    arguments->setArgumentBuffer(table.get(), 0);
  }
  void TearDown() override {
    function.reset();
    arguments.reset();
    table.reset();
    KernelTest::TearDown();
  }

  void set(NS::UInteger index, float value) {
    void* place = arguments->constantData(index);
    ASSERT_NE(place, nullptr) << index;
    std::memcpy(place, &value, sizeof(value));
  }

  Ptr<MTL::Function> function;
  Ptr<MTL::ArgumentEncoder> arguments;
  Ptr<MTL::Buffer> table;
};

TEST_F(ArgumentBufferTest, IndicesAreThoseOfTheSource) {
  auto out = buffer(64), ones = buffer(64), twos = buffer(64), threes = buffer(64);
  for (int i = 0; i < 16; ++i) {
    static_cast<float*>(ones->contents())[i] = 1;
    static_cast<float*>(twos->contents())[i] = 2;
    static_cast<float*>(threes->contents())[i] = 3;
  }
  set(4, 1000);
  set(12, 200);
  set(14, 10);
  set(23, 5);
  arguments->setBuffer(out.get(), 0, 5);
  arguments->setBuffer(ones.get(), 0, 13);
  arguments->setBuffer(twos.get(), 0, 22);
  arguments->setBuffer(threes.get(), 0, 25);
  *static_cast<uint32_t*>(arguments->constantData(1)) = 10000;
  NS::Error* error = nullptr;
  auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(table.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(16, 1, 1), MTL::Size(16, 1, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(static_cast<float*>(out->contents())[15], 10000 + 1000 + 200 + 10 * 1 + 5 * 2 + 3);
}

TEST_F(ArgumentBufferTest, IndicesBetweenMembersAreNone) {
  for (NS::UInteger index : {0, 2, 3, 6, 9, 15, 19, 26}) {
    EXPECT_EQ(arguments->constantData(index), nullptr) << index;
    EXPECT_THAT(messages().back(), ::testing::HasSubstr("expected one of the 14 arguments"));
  }
}

TEST_F(ArgumentBufferTest, ReflectionTellsTheIndices) {
  MTL::AutoreleasedArgument reflection = nullptr;
  auto again = TransferPtr(function->newArgumentEncoder(0, &reflection));
  ASSERT_TRUE(reflection);
  auto* members = reflection->bufferStructType();
  ASSERT_TRUE(members);
  auto index = [&](const char* name) {
    auto* member = members->memberByName(string(name));
    return member ? member->argumentIndex() : ~NS::UInteger(0);
  };
  EXPECT_EQ(index("first"), 4u);
  EXPECT_EQ(index("out"), 5u);
  EXPECT_EQ(index("weights"), 10u);
  EXPECT_EQ(index("single"), 13u);
  EXPECT_EQ(index("pairs"), 20u);
  EXPECT_EQ(index("last"), 1u);
  auto* pairs = members->memberByName(string("pairs"))->arrayType();
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->argumentIndexStride(), 2u);
  EXPECT_EQ(pairs->stride(), 16u);
}

}  // namespace
}  // namespace mlxn_test
