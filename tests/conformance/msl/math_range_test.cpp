// The ends of every math function's range: zeros, infinities, NaN, denormals, the largest and
// smallest numbers, and where results overflow, underflow or leave the domain. Each function as
// plain, precise:: and fast::, in a library with safe and in one with fast math, against the host.
#include <gtest/gtest.h>

#include <map>

#include "tests/conformance/msl/expression_case.h"
#include "tests/conformance/msl/gpu.h"
#include "tests/conformance/msl/numbers.h"

namespace {

using namespace msl_test;

const float kEnds[] = {0.0f,          1e-45f,
                       1e-40f,        0x1.fffffcp-127f,
                       0x1p-126f,     1e-30f,
                       0x1p-24f,      1e-4f,
                       0.25f,         0x1.fffffep-2f,
                       0.5f,          0x1.fffffep-1f,
                       1.0f,          0x1.000002p0f,
                       1.5f,          0x1.921fb6p+0f,
                       2.0f,          2.5f,
                       3.0f,          0x1.921fb6p+1f,
                       9.0f,          10.0f,
                       38.5f,         38.6f,
                       45.0f,         45.2f,
                       87.0f,         87.4f,
                       88.5f,         88.7f,
                       88.75f,        89.5f,
                       104.0f,        126.0f,
                       126.9f,        127.6f,
                       127.99f,       128.0f,
                       149.0f,        150.0f,
                       1000.0f,       65535.0f,
                       65536.5f,      4194305.0f,
                       8388608.5f,    1e7f,
                       16777217.0f,   1e9f,
                       2147483648.0f, 1e15f,
                       0x1p64f,       1e30f,
                       0x1p126f,      0x1.fffffep127f,
                       INFINITY};

// Both signs of each, and NaN.
const std::vector<float>& ends() {
  static const std::vector<float> values = [] {
    std::vector<float> all = {NAN};
    for (float v : kEnds) all.insert(all.end(), {v, -v});
    return all;
  }();
  return values;
}
// For functions of two: fewer of them, in all pairs.
const std::vector<float>& some() {
  static const std::vector<float> values = [] {
    std::vector<float> all = {NAN};
    for (float v : {0.0f, 1e-40f, 0x1p-126f, 0.3f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 100.25f, 129.0f,
                    16777217.0f, 1e30f, 0x1.fffffep127f, INFINITY})
      all.insert(all.end(), {v, -v});
    return all;
  }();
  return values;
}

using Host = double (*)(double, double);
struct Function {
  const char* name;
  int operands;
  Host host;
  double precise_ulp;
  // What the fast form may err by: in units of the last place for results of ordinary size, more
  // the larger the logarithm of the result, as powers through exp2 do.
  double fast_ulp, fast_ulp_per_power = 0;
  bool angle = false;  // the fast form is good for small arguments and bounded for all
  const char* expression =
      nullptr;  // @ stands for the namespace; default: a call with x, or x and y
};
void PrintTo(const Function& f, std::ostream* out) {
  *out << f.name;
}

double sin_pi(double x) {
  const double k = std::fmod(x, 2.0);
  return k == 0 || std::fabs(k) == 1 ? std::copysign(0.0, x) : std::sin(M_PI * k);
}
double cos_pi(double x) {
  const double k = std::fabs(std::fmod(x, 2.0));
  return k == 0.5 || k == 1.5 ? 0 : std::cos(M_PI * k);
}
double tan_pi(double x) {
  const double k = std::remainder(x, 1.0);
  return std::fabs(k) == 0.5 ? NAN : std::tan(M_PI * k);  // infinite, of either sign
}
double fract(double x) {
  return std::isinf(x) ? 0 : std::isnan(x) ? x : std::fmin(x - std::floor(x), 0x1.fffffep-1);
}

// MSL's int(y): the nearest int, 0 for NaN; cut to where ldexp has long reached its ends.
int exponent_of(double y) {
  return std::isnan(y) ? 0 : static_cast<int>(std::fmax(-2000, std::fmin(2000, y)));
}
double ilogb_of(double x) {
  return x == 0 ? -0x1p31 : std::isfinite(x) ? std::ilogb(x) : 0x1p31;
}

#define ONE(name, precise, fast, ...) \
  {#name, 1, [](double x, double) { return std::name(x); }, precise, fast, __VA_ARGS__}
#define OWN(name, function, precise, fast, ...) \
  {#name, 1, [](double x, double) -> double { return function; }, precise, fast, __VA_ARGS__}
#define TWO(name, precise, fast, ...) \
  {#name, 2, [](double x, double y) { return std::name(x, y); }, precise, fast, __VA_ARGS__}

const Function kFunctions[] = {
    ONE(acos, 4, 5),
    ONE(acosh, 4, 5),
    ONE(asin, 4, 5),
    ONE(asinh, 4, 5),
    ONE(atan, 4, 5),
    ONE(atanh, 4, 5),
    ONE(ceil, 0, 0),
    ONE(cos, 4, 0, 0, true),
    ONE(cosh, 4, 5),
    OWN(cospi, cos_pi(x), 4, 5),
    ONE(exp, 4, 4, 2),
    OWN(exp10, std::pow(10.0, x), 4, 4, 4),
    ONE(exp2, 4, 4, 2),
    ONE(fabs, 0, 0),
    ONE(floor, 0, 0),
    OWN(fract, fract(x), 0.5, 0.5),
    ONE(log, 4, 16),
    ONE(log10, 4, 16),
    ONE(log2, 4, 16),
    ONE(rint, 0, 0),
    ONE(round, 0, 0),
    OWN(rsqrt, 1 / std::sqrt(x), 0.5, 2),
    ONE(sin, 4, 0, 0, true),
    ONE(sinh, 4, 5),
    OWN(sinpi, sin_pi(x), 4, 5),
    ONE(sqrt, 0.5, 1),
    ONE(tan, 6, 8),
    ONE(tanh, 5, 5),
    OWN(tanpi, tan_pi(x), 6, 8),
    ONE(trunc, 0, 0),
    TWO(atan2, 6, 6),
    TWO(copysign, 0, 0),
    {"divide", 2, [](double x, double y) { return x / y; }, 0.5, 3},
    {"fdim", 2,
     [](double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN
                                     : x > y                        ? x - y
                                                                    : 0.0; },
     0.5, 0.5},
    {"fmax", 2, [](double x, double y) { return std::fmax(x, y); }, 0, 0},
    {"fmin", 2, [](double x, double y) { return std::fmin(x, y); }, 0, 0},
    TWO(fmod, 0, 0),
    TWO(pow, 16, 8, 4),
    {"powr", 2,
     [](double x, double y) {
       const bool undefined = x < 0 || std::isnan(x) || std::isnan(y) || (x == 0 && y == 0) ||
                              (std::isinf(x) && y == 0) || (x == 1 && std::isinf(y));
       return undefined ? NAN : std::pow(std::fabs(x), y);
     },
     16, 8, 4},
    {"nextafter", 2, [](double x, double y) { return double(std::nextafter(float(x), float(y))); },
     0, 0},
};

struct Form {
  const char* space;  // how the function is named
  bool fast_library;
  bool fast() const { return fast_library ? space[0] != 'p' : space[0] == 'f'; }
};

std::string kernel_name(const Form& form, const Function& f) {
  std::string space = form.space;
  return (space.empty() ? "plain" : space.substr(0, space.find(':'))) + "_" + f.name;
}

std::string text_of(const Function& f, const std::string& space) {
  if (!f.expression) return space + f.name + (f.operands == 1 ? "(x)" : "(x, y)");
  std::string text = f.expression;
  return text.replace(text.find('@'), 1, space);
}

// One kernel for each function in each of the three forms; the two libraries differ in mode alone.
Library& library(bool fast) {
  static std::map<bool, Library> libraries;
  if (libraries.count(fast)) return libraries[fast];
  std::string source = kPrologue;
  for (const char* space : {"", "precise::", "fast::"})
    for (const Function& f : kFunctions)
      source += "kernel void " + kernel_name({space, fast}, f) +
                "(device float* r [[buffer(0)]], const device float* a [[buffer(1)]], const device "
                "float* b [[buffer(2)]], uint i [[thread_position_in_grid]]) { float x = a[i], y = "
                "b[i]; r[i] = " +
                text_of(f, *space ? space : "metal::") + "; }\n";
  return libraries[fast] = compile(source, Options{.fast_math = fast, .macros = {}});
}

std::vector<std::vector<uint32_t>> operands(const Function& f) {
  std::vector<std::vector<uint32_t>> buffers(3);
  for (float x : f.operands == 1 ? ends() : some())
    for (float y : f.operands == 1 ? std::vector<float>{0.0f} : some()) {
      buffers[1].push_back(as_bits(x));
      buffers[2].push_back(as_bits(y));
    }
  buffers[0].resize(buffers[1].size());
  return buffers;
}

double flushed(double x) {
  return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x;
}

// How far a fast result is from what it may be.
bool fast_result_fits(const Function& f, double x, double y, double got) {
  if (f.angle && std::isfinite(x) && std::fabs(x) > 16777216.0) return std::fabs(got) <= 1;
  // Denormals may count as zero, before and after.
  for (double exact : {f.host(x, y), f.host(flushed(x), flushed(y)), f.host(flushed(x), y),
                       f.host(x, flushed(y)), flushed(f.host(x, y))}) {
    if (f.angle && std::fabs(got - exact) <= 0x1p-13 && std::fabs(got) <= 1) return true;
    const double power =
        std::isfinite(exact) && exact != 0 ? std::fabs(std::log2(std::fabs(exact))) : 0;
    if (distance_ulp(got, exact, Type::kFloat) <= f.fast_ulp + f.fast_ulp_per_power * power)
      return true;
  }
  return false;
}

bool precise_result_fits(const Function& f, double x, double y, double got) {
  const double exact = f.host(x, y);
  if (exact == 0 && got == 0) return std::signbit(exact) == std::signbit(got);
  return distance_ulp(got, exact, Type::kFloat) <= f.precise_ulp;
}

// fmax(-0, 0) may be either; so may the sign of tanpi at its poles and of zeros of sinpi and the
// like.
bool is_free(const Function& f, double x, double y) {
  const std::string name = f.name;
  const double exact = f.host(x, y);
  if (name == "fmax" || name == "fmin") return x == 0 && y == 0;
  if (name == "tanpi" && std::isnan(exact)) return std::isfinite(x);
  return name.ends_with("pi") && exact == 0 && x != 0;
}

class MathRange : public testing::TestWithParam<Function> {
 protected:
  void check(const Form& form) {
    const Function& f = GetParam();
    Library& compiled = library(form.fast_library);
    ASSERT_EQ(compiled.error, "");
    auto buffers = operands(f);
    Launch launch;
    launch.grid = MTL::Size(buffers[0].size(), 1, 1);
    ASSERT_EQ(run(compiled.library.get(), kernel_name(form, f), launch, buffers), "");
    for (size_t i = 0; i < buffers[0].size(); ++i) {
      const double x = as_float(buffers[1][i]), y = as_float(buffers[2][i]),
                   got = as_float(buffers[0][i]);
      if (is_free(f, x, y)) continue;
      EXPECT_TRUE(form.fast() ? fast_result_fits(f, x, y, got) : precise_result_fits(f, x, y, got))
          << form.space << f.name << "(" << x << (f.operands == 2 ? ", " + std::to_string(y) : "")
          << ") is " << got << ", expected " << f.host(x, y);
    }
  }
};

TEST_P(MathRange, SafeLibrary) {
  for (const char* space : {"", "precise::", "fast::"}) check({space, false});
}
TEST_P(MathRange, FastLibrary) {
  for (const char* space : {"", "precise::", "fast::"}) check({space, true});
}
INSTANTIATE_TEST_SUITE_P(Msl, MathRange, testing::ValuesIn(kFunctions), CaseName());

// Every fraction and both parities of the exponent: what all other numbers are scaled from.
TEST(MathMode, ReciprocalSquareRootIsCorrectlyRounded) {
  const Library compiled =
      compile(kPrologue + std::string("kernel void k(device float* r [[buffer(0)]], constant uint& "
                                      "first [[buffer(1)]], uint i [[thread_position_in_grid]]) "
                                      "{ r[i] = rsqrt(as_type<float>(first + i)); }\n"));
  ASSERT_EQ(compiled.error, "");
  constexpr uint32_t kFirst = 0x3f800000, kCount = 1u << 24;  // [1, 4)
  std::vector<std::vector<uint32_t>> buffers(2);
  buffers[0].resize(kCount);
  buffers[1] = {kFirst};
  Launch launch;
  launch.grid = MTL::Size(kCount, 1, 1);
  launch.group = MTL::Size(256, 1, 1);
  ASSERT_EQ(run(compiled.library.get(), "k", launch, buffers), "");
  size_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i)  // no such root is near the middle of two floats
    wrong += as_float(buffers[0][i]) != float(1.0 / std::sqrt(double(as_float(kFirst + i))));
  EXPECT_EQ(wrong, 0u);
}

TEST(MathMode, FastMathIsKnownToThePreprocessor) {
  for (bool fast : {false, true}) {
    const Library compiled = compile(
        kPrologue + std::string("#ifdef __FAST_MATH__\nconstant uint kFast = 1;\n#else\nconstant "
                                "uint kFast = 0;\n#endif\nkernel void k(device uint* r "
                                "[[buffer(0)]]) { r[0] = kFast; }\n"),
        Options{.fast_math = fast, .macros = {}});
    ASSERT_EQ(compiled.error, "");
    std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
    ASSERT_EQ(run(compiled.library.get(), "k", Launch(), buffers), "");
    EXPECT_EQ(buffers[0][0], fast ? 1u : 0u);
  }
}

}  // namespace
