// Function constants: types, derived values, optional arguments, defaults.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

const char* const kDeclarations = R"(
constant uint kUint [[function_constant(0)]];
constant int kInt [[function_constant(1)]];
constant float kFloat [[function_constant(2)]];
constant bool kBool [[function_constant(3)]];
constant short kShort [[function_constant(4)]];
constant half kHalf [[function_constant(5)]];
constant uint kMaybe [[function_constant(6)]];
constant uint kDerived = kUint * 2 + 1;
constant bool kHasMaybe = is_function_constant_defined(kMaybe);
constant uint kOrDefault = is_function_constant_defined(kMaybe) ? kMaybe : 77;
constant bool kUseExtra [[function_constant(7)]];
)";
#define ARGS "device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]"

Launch with(std::vector<Constant> constants) {
  Launch launch;
  launch.constants = std::move(constants);
  return launch;
}
const Constant kFive = {"kUint", MTL::DataTypeUInt, 5};

KernelTable& table() {
  static KernelTable table(
      {
          {"unsigned_value", "kernel void unsigned_value(" ARGS ") { out[i] = kUint; }", 64,
           [](size_t) { return 5; }, with({kFive})},
          {"signed_value", "kernel void signed_value(" ARGS ") { out[i] = uint(kInt + 10); }", 64,
           [](size_t) { return 7; }, with({{"kInt", MTL::DataTypeInt, uint32_t(-3)}})},
          {"float_value",
           "kernel void float_value(device float* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { out[i] = kFloat * 2; }",
           64, [](size_t) { return 3; }, with({{"kFloat", MTL::DataTypeFloat, as_bits(1.5f)}}),
           Type::kFloat},
          {"bool_true", "kernel void bool_true(" ARGS ") { out[i] = kBool ? 1 : 2; }", 64,
           [](size_t) { return 1; }, with({{"kBool", MTL::DataTypeBool, 1}})},
          {"bool_false",
           "kernel void bool_false(" ARGS ") { if (kBool) out[i] = 1; else out[i] = 2; }", 64,
           [](size_t) { return 2; }, with({{"kBool", MTL::DataTypeBool, 0}})},
          {"short_value", "kernel void short_value(" ARGS ") { out[i] = uint(kShort + 100); }", 64,
           [](size_t) { return 90; }, with({{"kShort", MTL::DataTypeShort, 0xfff6}})},
          {"half_value", "kernel void half_value(" ARGS ") { out[i] = uint(kHalf * 2.0h); }", 64,
           [](size_t) { return 3; }, with({{"kHalf", MTL::DataTypeHalf, 0x3e00}})},
          {"derived_value", "kernel void derived_value(" ARGS ") { out[i] = kDerived; }", 64,
           [](size_t) { return 11; }, with({kFive})},
          {"array_bound_of_loop",
           "kernel void array_bound_of_loop(" ARGS
           ") { uint s = 0; for (uint k = 0; k < kUint; ++k) s += k; out[i] = s; }",
           64, [](size_t) { return 10; }, with({kFive})},
          {"defined_is_seen", "kernel void defined_is_seen(" ARGS ") { out[i] = kHasMaybe; }", 64,
           [](size_t) { return 1; }, with({{"kMaybe", MTL::DataTypeUInt, 9}})},
          {"undefined_is_seen",
           "kernel void undefined_is_seen(" ARGS ") { out[i] = kHasMaybe ? 1 : 2; }", 64,
           [](size_t) { return 2; }, with({kFive})},
          {"default_used", "kernel void default_used(" ARGS ") { out[i] = kOrDefault; }", 64,
           [](size_t) { return 77; }, with({kFive})},
          {"default_replaced", "kernel void default_replaced(" ARGS ") { out[i] = kOrDefault; }",
           64, [](size_t) { return 9; }, with({{"kMaybe", MTL::DataTypeUInt, 9}})},
          {"optional_argument_present",
           "kernel void optional_argument_present(" ARGS
           ", const device uint* extra [[buffer(2), function_constant(kUseExtra)]])"
           " { out[i] = kUseExtra ? extra[i] : 3; }",
           64, [](size_t i) { return double(uint_input(i)); },
           with({{"kUseExtra", MTL::DataTypeBool, 1}})},
          {"optional_argument_absent",
           "kernel void optional_argument_absent(" ARGS
           ", const device uint* extra [[buffer(2), function_constant(kUseExtra)]])"
           " { out[i] = kUseExtra ? extra[i] : 3; }",
           64, [](size_t) { return 3; }, with({{"kUseExtra", MTL::DataTypeBool, 0}})},
          {"in_called_function",
           "uint scaled_by_constant(uint x) { return x * kUint; }\nkernel void "
           "in_called_function(" ARGS ") { out[i] = scaled_by_constant(i); }",
           64, [](size_t i) { return 5.0 * double(i); }, with({kFive})},
          {"in_template",
           "template <typename T> kernel void constant_in_template(device T* out [[buffer(0)]], "
           "uint i [[thread_position_in_grid]]) { out[i] = T(kUint) + T(i); }\n"
           "template [[host_name(\"in_template\")]] kernel void constant_in_template<uint>(device "
           "uint*, uint);",
           64, [](size_t i) { return 5.0 + double(i); }, with({kFive})},
          {"several_together",
           "kernel void several_together(" ARGS
           ") { out[i] = kUint + uint(kInt) + uint(kFloat) + kBool; }",
           64, [](size_t) { return 5 + 3 + 2 + 1; },
           with({kFive,
                 {"kInt", MTL::DataTypeInt, 3},
                 {"kFloat", MTL::DataTypeFloat, as_bits(2)},
                 {"kBool", MTL::DataTypeBool, 1}})},
      },
      kDeclarations);
  return table;
}
MSL_KERNELS(FunctionConstants, table);

}  // namespace
