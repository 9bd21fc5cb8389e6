#include "tests/conformance/msl/expression_case.h"

namespace msl_test {

namespace {

// A fixed sequence of well-mixed bits.
uint32_t mixed(uint32_t n) {
  uint64_t x = (n + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>(x >> 32);
}

float in_range(uint32_t bits, float low, float high) {
  return low + (high - low) * (static_cast<float>(bits >> 8) / 16777216.0f);
}

const float kSpecial[] = {0.0f,      -0.0f,  1.0f,   -1.0f,    0.5f,       -0.5f, INFINITY,
                          -INFINITY, NAN,    1e-40f, -1e-40f,  1.5f,       2.5f,  -2.5f,
                          3e38f,     -3e38f, 1e-30f, 65504.0f, 8388609.0f, -1e10f};
constexpr uint32_t kSpecials = sizeof(kSpecial) / sizeof(kSpecial[0]);

float real(Domain domain, uint32_t n) {
  const uint32_t bits = mixed(n);
  switch (domain) {
    case Domain::kReal: {
      if (bits % 3 == 0) return kSpecial[mixed(n + 1000) % kSpecials];
      const float magnitude = std::exp2(in_range(bits, -60.0f, 60.0f));
      return bits & 1 ? -magnitude : magnitude;
    }
    case Domain::kModerate: return in_range(bits, -40.0f, 40.0f);
    case Domain::kUnit:
      return n % 64 < 3 ? static_cast<float>(n % 64) - 1.0f : in_range(bits, -1.0f, 1.0f);
    case Domain::kPositive: return std::exp2(in_range(bits, -20.0f, 20.0f));
    case Domain::kIntegers:
      return static_cast<float>(static_cast<int32_t>(bits % 401) - 200) * 0.5f;
  }
  return 0;
}

const uint32_t kSpecialInts[] = {0, 1,  0xffffffffu, 0x7fffffffu, 0x80000000u,
                                 2, 31, 32,          33,          0xfffffffeu};

uint32_t whole(uint32_t n) {
  const uint32_t bits = mixed(n + 77777);
  if (bits % 4 == 0) return kSpecialInts[(bits >> 8) % 10];
  return bits % 4 == 1 ? (bits >> 4) % 100 : mixed(n + 99999);
}

const char* result_type(Type type) {
  switch (type) {
    case Type::kFloat: return "float";
    case Type::kHalf: return "half";
    case Type::kBfloat: return "bfloat";
    case Type::kInt: return "int";
    case Type::kUint: return "uint";
  }
  return "";
}

double value_of(uint32_t bits, Type type) {
  if (type == Type::kInt) return static_cast<int32_t>(bits);
  if (type == Type::kUint) return bits;
  return as_float(bits);  // half and bfloat results are widened by the kernel
}

}  // namespace

In input(Domain domain, int index) {
  const uint32_t n = static_cast<uint32_t>(index);
  In in;
  in.a = real(domain, n);
  in.b = real(domain, n + 64);
  in.c = real(domain, n + 128);
  in.i = static_cast<int32_t>(whole(n));
  in.j = static_cast<int32_t>(whole(n + 64));
  in.k = static_cast<int32_t>(whole(n + 128));
  in.u = whole(n + 192);
  in.v = whole(n + 256);
  in.w = whole(n + 320);
  return in;
}

std::string ExpressionTable::source() const {
  std::string text = kPrologue + declarations_;
  text +=
      "struct In { float a, b, c; int i, j, k; uint u, v, w; };\n"
      "kernel void k0(device uint* out [[buffer(0)]], const device In* in [[buffer(1)]],\n"
      "               uint t [[thread_position_in_grid]]) {\n";
  for (size_t n = 0; n < cases_.size(); ++n) {
    const ExpressionCase& c = cases_[n];
    text += "  { In p = in[" + std::to_string(static_cast<int>(c.domain) * kInputs) +
            " + t];\n"
            "    float a = p.a, b = p.b, c = p.c; int i = p.i, j = p.j, k = p.k;\n"
            "    uint u = p.u, v = p.v, w = p.w;\n    " +
            result_type(c.type) + " r = " + c.msl + ";\n    out[" + std::to_string(n * kInputs) +
            " + t] = ";
    text += c.type == Type::kInt || c.type == Type::kUint ? "uint(r); }\n"
                                                          : "as_type<uint>(float(r)); }\n";
  }
  return text + "}\n";
}

void ExpressionTable::compute() {
  computed_ = true;
  Library library = compile(source(), options_);
  if (!library.library) {
    error_ = library.error;
    return;
  }
  std::vector<std::vector<uint32_t>> buffers(2);
  buffers[0].resize(cases_.size() * kInputs);
  for (Domain d :
       {Domain::kReal, Domain::kModerate, Domain::kUnit, Domain::kPositive, Domain::kIntegers}) {
    for (int n = 0; n < kInputs; ++n) {
      const In in = input(d, n);
      const auto* words = reinterpret_cast<const uint32_t*>(&in);
      buffers[1].insert(buffers[1].end(), words, words + sizeof(In) / sizeof(uint32_t));
    }
  }
  error_ = run(library.library.get(), "k0", Launch(), buffers);
  results_ = buffers[0];
}

void ExpressionTable::check(const ExpressionCase& c) {
  if (!computed_) compute();
  ASSERT_EQ(error_, "");
  size_t index = 0;
  while (cases_[index].name != c.name) ++index;
  const bool exact_type = c.type == Type::kInt || c.type == Type::kUint;
  for (int n = 0; n < kInputs; ++n) {
    const In in = input(c.domain, n);
    const double got = value_of(results_[index * kInputs + static_cast<size_t>(n)], c.type);
    const double expected = c.host(in);
    const double distance =
        exact_type ? (got == expected ? 0 : 1e9) : distance_ulp(got, expected, c.type);
    ASSERT_LE(distance, c.ulp) << c.msl << " is " << got << ", expected " << expected
                               << "\n  a=" << in.a << " b=" << in.b << " c=" << in.c
                               << " i=" << in.i << " j=" << in.j << " k=" << in.k << " u=" << in.u
                               << " v=" << in.v << " w=" << in.w;
  }
}

}  // namespace msl_test
