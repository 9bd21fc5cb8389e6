// Function constants: their text, what is refused, and that every type reaches the kernel.
#include "mlxn/core/kernels/function_constants.h"

#include "tests/core/registry_kernels.h"

namespace mlxn::test {
namespace {

using testing::HasSubstr;

TEST(FunctionConstants, OrderAndRepetitionPlayNoPart) {
  FunctionConstants a = ints({{100, 7}, {3, 1}}), b = ints({{3, 9}, {3, 1}, {100, 7}});
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.to_string(), "|3:i1|100:i7");
  a.set_bool(3, true);  // another type replaces too
  EXPECT_EQ(a.to_string(), "|3:b1|100:i7");
  EXPECT_EQ(ints({{1, -5}}).to_string(), "|1:i-5");
  EXPECT_EQ(FunctionConstants().to_string(), "");
}

TEST(FunctionConstants, TypesAreTold) {
  FunctionConstants constants;
  const uint32_t one = 1;
  EXPECT_OK(constants.set(0, MTL::DataTypeUInt, &one, 4));
  EXPECT_NE(constants, ints({{0, 1}}));
  EXPECT_EQ(constants.to_string(), "|0:uint:1");
  const float vector[4] = {1.0f, -2.0f, 0.0f, 99.0f};
  EXPECT_OK(constants.set(1, MTL::DataTypeFloat3, vector, 16));
  EXPECT_EQ(constants.to_string(), "|0:uint:1|1:float3:3f800000,c0000000,0");
  const float same[4] = {1.0f, -2.0f, 0.0f, 5.0f};  // the fourth place is no part of the value
  FunctionConstants other = constants;
  EXPECT_OK(other.set(1, MTL::DataTypeFloat3, same, 16));
  EXPECT_EQ(other, constants);
  const uint8_t truths[2] = {7, 0};
  EXPECT_OK(other.set(1, MTL::DataTypeBool2, truths, 2));
  EXPECT_EQ(other.to_string(), "|0:uint:1|1:bool2:1,0");
}

TEST(FunctionConstants, WrongTypesAndSizes) {
  FunctionConstants constants;
  const float value[16] = {};
  Status status = constants.set(4, MTL::DataTypeFloat, value, 8);
  EXPECT_ERROR(kInvalidArgument, status);
  EXPECT_EQ(status.error().message(), "function constant 4 has 8 bytes, expected the 4 of float");
  EXPECT_ERROR(kInvalidArgument, constants.set(4, MTL::DataTypeFloat3, value, 12));
  EXPECT_ERROR(kInvalidArgument, constants.set(4, MTL::DataTypeFloat, nullptr, 4));
  EXPECT_ERROR(kInvalidArgument, constants.set(4, MTL::DataTypeFloat4x4, value, 64));
  EXPECT_ERROR(kInvalidArgument, constants.set(4, MTL::DataTypeTexture, value, 4));
  EXPECT_TRUE(constants.empty());
}

TEST(FunctionConstants, WrongOnesAreReportedByThePipeline) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("int_fc_test_kernel", kIntKernel);
  auto missing = registry.get_pipeline("int_fc_test_kernel", device);
  EXPECT_ERROR(kCompileFailed, missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("number"));
  // Metal ignores values for constants that a library does not have.
  EXPECT_OK(registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 1}, {101, 2}})));
  FunctionConstants typed;
  const float number = 1;
  EXPECT_OK(typed.set(100, MTL::DataTypeFloat, &number, 4));
  EXPECT_ERROR(kCompileFailed, registry.get_pipeline("int_fc_test_kernel", device, typed));
}

struct TypeCase {
  const char* name;
  MTL::DataType scalar;
  size_t bytes;
};

class EveryConstantType : public testing::TestWithParam<TypeCase> {};

// Scalars and vectors of every type arrive in the kernel bit by bit.
TEST_P(EveryConstantType, ReachesTheKernel) {
  const TypeCase& type = GetParam();
  Device device = make_device();
  KernelRegistry registry;
  for (size_t width = 1; width <= 4; ++width) {
    const size_t size = type.bytes * (width == 3 ? 4 : width);
    if (size > 16) continue;  // more than Metal takes
    const std::string name = width == 1 ? type.name : str(type.name, width);
    registry.register_source("store", str("constant ", name, " value [[function_constant(7)]];\n",
                                          "kernel void store(device ", name,
                                          "* out [[buffer(0)]]) { out[0] = value; }"));
    std::vector<uint8_t> bytes(size, 0);
    for (size_t i = 0; i < type.bytes * width; ++i) {
      // Ordinary numbers in every floating-point format; truth values are 0 and 1.
      bytes[i] = type.scalar == MTL::DataTypeBool ? i % 2 == 0 : static_cast<uint8_t>(0x31 + i);
    }
    FunctionConstants constants;
    EXPECT_OK(
        constants.set(7, static_cast<MTL::DataType>(type.scalar + width - 1), bytes.data(), size));
    auto pipeline = registry.get_pipeline("store", device, constants);
    EXPECT_OK(pipeline);
    auto out = device.alloc(Dtype::kU8, {32});
    if (!pipeline || !out) continue;
    run_once(device, *pipeline, *out);
    const uint8_t* stored = out->as_slice<uint8_t>()->data();
    EXPECT_EQ(std::vector<uint8_t>(stored, stored + type.bytes * width),
              std::vector<uint8_t>(bytes.begin(), bytes.begin() + type.bytes * width))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryConstantType,
    testing::Values(
        TypeCase{"bool", MTL::DataTypeBool, 1}, TypeCase{"char", MTL::DataTypeChar, 1},
        TypeCase{"uchar", MTL::DataTypeUChar, 1}, TypeCase{"short", MTL::DataTypeShort, 2},
        TypeCase{"ushort", MTL::DataTypeUShort, 2}, TypeCase{"int", MTL::DataTypeInt, 4},
        TypeCase{"uint", MTL::DataTypeUInt, 4}, TypeCase{"long", MTL::DataTypeLong, 8},
        TypeCase{"ulong", MTL::DataTypeULong, 8}, TypeCase{"half", MTL::DataTypeHalf, 2},
        TypeCase{"bfloat", MTL::DataTypeBFloat, 2}, TypeCase{"float", MTL::DataTypeFloat, 4}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlxn::test
