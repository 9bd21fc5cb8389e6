// The compiler through its own interface: index, reflection, constants, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "metal/msl/interface.h"
#include "metal/msl/module.h"

namespace mlxn::msl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kHead = "#include <metal_stdlib>\nusing namespace metal;\n";

const Compiler& the_compiler() {
  auto found = compiler();
  EXPECT_TRUE(found) << found.error().message();
  return **found;
}

std::unique_ptr<Library> library(const std::string& source, CompileOptions options = {}) {
  auto result = the_compiler().create_library(source, options);
  EXPECT_TRUE(result) << result.error().message();
  return result ? std::move(*result) : nullptr;
}

std::string library_error(const std::string& source, CompileOptions options = {}) {
  auto result = the_compiler().create_library(source, options);
  EXPECT_FALSE(result) << "compiled although it should not";
  return result ? "" : result.error().message();
}

CompileRequest request(std::vector<std::string> entries = {}) {
  CompileRequest result;
  result.entry_points = std::move(entries);
  result.target.cpu = "x86-64-v3";
  return result;
}

std::string compile_error(const Library& library, const CompileRequest& wanted) {
  auto image = library.compile(wanted);
  EXPECT_FALSE(image) << "compiled although it should not";
  return image ? "" : image.error().message();
}

std::vector<std::string> names(const Library& library) {
  std::vector<std::string> result;
  for (const FunctionInfo& function : library.info().functions) result.push_back(function.name);
  return result;
}

TEST(Index, FindsEveryFormOfEntryPoint) {
  auto found = library(kHead + R"(
    kernel void plain(device float* x) { *x = 1; }
    [[kernel]] void attribute(device float* x) { *x = 1; }
    [[host_name("renamed")]] kernel void original(device float* x) { *x = 1; }
    namespace inner { kernel void nested(device float* x) { *x = 1; } }
    template <typename T, int N> [[kernel]] void generic(device T* x [[buffer(0)]]) { *x = T(N); }
    template [[host_name("generic_f32_" "3")]] [[kernel]] void generic<float, 3>(device float* x);
    #define INSTANTIATE(name, f, ...) template [[host_name(name)]] [[kernel]] decltype(f<__VA_ARGS__>) f<__VA_ARGS__>;
    INSTANTIATE("generic_half_4", generic, half, 4)
    typedef decltype(generic<int, 5>) generic_t;
    template [[host_name("generic_int_5")]] kernel generic_t generic<int, 5>;
    template <typename T> kernel void deduced(device T* x, constant T& y) { *x = y; }
    template [[host_name("deduced_uint")]] kernel void deduced(device uint* x, constant uint& y);
    void helper(device float* x) { *x = 2; }
  )");
  ASSERT_TRUE(found);
  EXPECT_THAT(names(*found), ElementsAre("plain", "attribute", "renamed", "nested", "generic_f32_3",
                                         "generic_half_4", "generic_int_5", "deduced_uint"));
  auto image = found->compile(request());
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->kernels.size(), 8u);
}

TEST(Index, NeedsNoParse) {
  auto found = the_compiler().entry_points(
      "kernel void a() { this does not parse }\nkernel void b() {}", {});
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre("a", "b"));
}

TEST(Reflection, DescribesArguments) {
  auto found = library(kHead + R"(
    struct Params { uint n; float3 scale; float table[4]; struct { half2 h; } inner; };
    [[max_total_threads_per_threadgroup(128)]]
    kernel void k(device const float* in, device half4* out [[buffer(5)]], constant Params& p, device float* unused,
                  threadgroup float* scratch [[threadgroup(2)]], uint id [[thread_position_in_grid]]) {
      threadgroup float fixed[40];
      fixed[id] = in[id] * p.n;
      scratch[id] = fixed[id];
      out[id] = half4(scratch[id]) + half4(half2(p.inner.h), 0, 0);
    })");
  ASSERT_TRUE(found);
  auto image = found->compile(request({"k"}));
  ASSERT_TRUE(image) << image.error().message();
  const Kernel& kernel = image->kernels.at(0);
  EXPECT_EQ(kernel.max_total_threads, 128u);
  EXPECT_EQ(kernel.static_threadgroup_bytes, 160u);
  EXPECT_EQ(kernel.tier, Tier::kWorkItemLoop);
  ASSERT_EQ(kernel.arguments.size(), 5u);
  const ArgumentInfo& in = kernel.arguments[0];
  EXPECT_EQ(in.name, "in");
  EXPECT_EQ(in.index, 0u);
  EXPECT_EQ(in.access, Access::kReadOnly);
  EXPECT_EQ(in.type, 3u);
  const ArgumentInfo& out = kernel.arguments[1];
  EXPECT_EQ(out.index, 5u);
  EXPECT_EQ(out.access, Access::kReadWrite);
  EXPECT_EQ(out.type, 19u);
  EXPECT_EQ(out.data_size, 8u);
  const ArgumentInfo& params = kernel.arguments[2];
  EXPECT_EQ(params.index, 1u);  // the lowest free index
  EXPECT_TRUE(params.is_reference);
  EXPECT_TRUE(params.is_constant_space);
  EXPECT_EQ(params.data_size, 64u);
  ASSERT_GE(params.members.size(), 4u);
  EXPECT_EQ(params.members[1].name, "scale");
  EXPECT_EQ(params.members[1].offset, 16u);
  EXPECT_EQ(params.members[1].type, 5u);
  EXPECT_EQ(params.members[2].array_length, 4u);
  EXPECT_EQ(params.members.back().name, "inner.h");
  EXPECT_FALSE(kernel.arguments[3].active);
  EXPECT_EQ(kernel.arguments[4].kind, ArgumentKind::kThreadgroupMemory);
  EXPECT_EQ(kernel.arguments[4].index, 2u);
}

const std::string kConstants = kHead + R"(
    #define BASE 10
    constant int count [[function_constant(BASE + 1)]];
    constant bool wide [[function_constant(0)]];
    constant float2 pair [[function_constant(7)]];
    constant int derived = wide ? count * 2 : 0;
    kernel void uses(device int* x) { *x = derived; }
    kernel void gated(device int* x, device int* y [[buffer(1), function_constant(wide)]]) { *x = wide ? *y : int(pair.y); }
    kernel void optional(device int* x) { *x = is_function_constant_defined(count) ? count : -1; }
    kernel void free(device int* x) { *x = 1; })";

ConstantValue integer(const std::string& name, int value) {
  ConstantValue result;
  result.name = name;
  result.type = 29;
  std::memcpy(result.bytes, &value, 4);
  return result;
}

ConstantValue boolean(const std::string& name, bool value) {
  ConstantValue result;
  result.name = name;
  result.type = 53;
  result.bytes[0] = value;
  return result;
}

TEST(FunctionConstants, AreListedForTheFunctionsThatUseThem) {
  auto found = library(kConstants);
  ASSERT_TRUE(found);
  const auto& uses = found->info().functions[0].constants;
  ASSERT_EQ(uses.size(), 2u);
  for (const FunctionConstant& constant : uses) {
    EXPECT_TRUE((constant.name == "count" && constant.index == 11 && constant.type == 29) ||
                (constant.name == "wide" && constant.index == 0 && constant.type == 53))
        << constant.name;
  }
  EXPECT_TRUE(found->info().functions[3].constants.empty());
}

TEST(FunctionConstants, SpecialiseCodeAndArguments) {
  auto found = library(kConstants);
  ASSERT_TRUE(found);
  CompileRequest wanted = request({"gated"});
  wanted.constants = {boolean("wide", true)};
  auto image = found->compile(wanted);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->kernels[0].arguments.size(), 2u);
  wanted.constants = {boolean("wide", false), ConstantValue{"", 7, 4, {}}};
  image = found->compile(wanted);
  ASSERT_TRUE(image) << image.error().message();
  EXPECT_EQ(image->kernels[0].arguments.size(), 1u);
}

TEST(FunctionConstants, MistakesAreNamed) {
  auto found = library(kConstants);
  ASSERT_TRUE(found);
  EXPECT_THAT(compile_error(*found, request({"uses"})), HasSubstr("derived"));
  EXPECT_TRUE(found->compile(request({"free", "optional"})));
  CompileRequest wanted = request({"uses"});
  wanted.constants = {integer("cuont", 1)};
  EXPECT_THAT(compile_error(*found, wanted), HasSubstr("no function constant named 'cuont'"));
  wanted.constants = {ConstantValue{"", 99, 29, {}}};
  EXPECT_THAT(compile_error(*found, wanted), HasSubstr("no function constant with index 99"));
  wanted.constants = {boolean("count", true)};
  EXPECT_THAT(compile_error(*found, wanted), HasSubstr("'count' has type int, not bool"));
}

TEST(Refusals, NameTheReason) {
  EXPECT_THAT(library_error("kernel void k(device float* x) { *x = y; }"),
              HasSubstr("program_source:1:39: error: use of undeclared identifier 'y'"));
  EXPECT_THAT(library_error("kernel void k(uint id) {}"),
              HasSubstr("'id' of kernel 'k' has no valid attribute"));
  EXPECT_THAT(library_error("kernel void k(device float* x [[buffer(31)]]) {}"),
              HasSubstr("0 to 30"));
  EXPECT_THAT(library_error(
                  "kernel void k(device float* x [[buffer(1)]], device float* y [[buffer(1)]]) {}"),
              HasSubstr("index 1 is used twice"));
  EXPECT_THAT(library_error("kernel int k(device float* x) { return 1; }"),
              HasSubstr("must return void"));
  EXPECT_THAT(library_error("kernel void k(float3 id [[thread_position_in_grid]]) {}"),
              HasSubstr("uint or ushort"));
  EXPECT_THAT(library_error("kernel void k(device int* x) {}\nkernel void k(device float* x) {}"),
              HasSubstr("two kernels are named 'k'"));
  EXPECT_THAT(library_error("#include \"missing.h\"\n"), HasSubstr("'missing.h' file not found"));
  EXPECT_THAT(library_error("struct S { int x; operator int() device { return 1; }\n"
                            "operator int() threadgroup { return 2; } };"),
              HasSubstr("operators that differ only in address space must have the same body"));
  auto found = library(
      "kernel void k(device float* x) { asm(\"nop\"); *x = 1; }\nfloat g();"
      "kernel void m(device float* x) { *x = g(); }"
      "int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }"
      "kernel void t(device int* x) { *x = gcd(*x, 12); }");
  ASSERT_TRUE(found);
  EXPECT_THAT(compile_error(*found, request({"k"})), HasSubstr("inline assembly"));
  EXPECT_THAT(compile_error(*found, request({"m"})), HasSubstr("undefined function 'g()'"));
  EXPECT_TRUE(library(kHead + R"(
    template <int N> int times(int x) { return N * x; }
    kernel void p(device int* x) { auto f = times<3>; *x = f(*x); })")
                  ->compile(request()))
      << "a pointer to one function is that function";
  EXPECT_TRUE(found->compile(request({"t"}))) << "a tail call is a loop";
  EXPECT_THAT(compile_error(*found, request({"nobody"})), HasSubstr("no kernel named 'nobody'"));
}

TEST(Includes, AreLimitedToTheGivenFolders) {
  namespace fs = std::filesystem;
  fs::path root = fs::path(testing::TempDir()) / "mlxn_include_test";
  fs::create_directories(root / "open");
  std::ofstream(root / "open" / "good.h") << "#define VALUE 3\n";
  std::ofstream(root / "secret.h") << "#define VALUE 4\n";
  CompileOptions options;
  options.include_dirs = {(root / "open").string()};
  EXPECT_TRUE(
      library("#include \"good.h\"\nkernel void k(device int* x) { *x = VALUE; }", options));
  EXPECT_THAT(library_error("#include \"../secret.h\"\n", options), HasSubstr("file not found"));
  EXPECT_THAT(library_error("#include \"" + (root / "secret.h").string() + "\"\n", options),
              HasSubstr("file not found"));
  fs::remove_all(root);
}

TEST(Output, IsTheSameEveryTimeAndFromEveryThread) {
  auto found = library(kHead + R"(
    kernel void a(device float* x, uint i [[thread_position_in_grid]]) { x[i] = simd_sum(exp(x[i])); }
    kernel void b(device float* x, uint i [[thread_position_in_grid]]) { x[i] = sin(x[i]) * 2; })");
  ASSERT_TRUE(found);
  auto first = found->compile(request());
  ASSERT_TRUE(first) << first.error().message();
  std::vector<std::vector<uint8_t>> codes(4);
  std::vector<std::thread> threads;
  for (auto& code : codes)
    threads.emplace_back([&] {
      auto image = found->compile(request());
      if (image) code = image->code;
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& code : codes) EXPECT_EQ(code, first->code);
}

TEST(Output, HasTextForms) {
  auto found = library(kHead +
                       "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] "
                       "= simd_sum(x[i]); }");
  ASSERT_TRUE(found);
  CompileRequest wanted = request();
  wanted.emit = Emit::kLlvmIr;
  auto ir = found->compile(wanted);
  ASSERT_TRUE(ir) << ir.error().message();
  EXPECT_THAT(std::string(ir->code.begin(), ir->code.end()), HasSubstr("define"));
  wanted.emit = Emit::kAssembly;
  auto assembly = found->compile(wanted);
  ASSERT_TRUE(assembly);
  EXPECT_THAT(std::string(assembly->code.begin(), assembly->code.end()), HasSubstr(".text"));
  wanted.emit = Emit::kCode;
  wanted.target = {Target::Kind::kPtx, "sm_90", ""};
  auto ptx = found->compile(wanted);
  ASSERT_TRUE(ptx) << ptx.error().message();
  std::string text(ptx->code.begin(), ptx->code.end());
  EXPECT_THAT(text, HasSubstr(".visible .entry k_0("));
  EXPECT_THAT(text, HasSubstr("shfl.sync"));
  EXPECT_THAT(text, Not(HasSubstr("__msl_")));
}

TEST(Options, MacrosAndVersionReachTheSource) {
  CompileOptions options;
  options.macros = {{"WIDTH", "17"}};
  options.language_version = 3 << 16 | 1;
  EXPECT_TRUE(
      library("#if WIDTH != 17 || __METAL_VERSION__ != 310\n#error wrong\n#endif\n"
              "kernel void k(device int* x) { *x = WIDTH; }",
              options));
}

}  // namespace
}  // namespace mlxn::msl
