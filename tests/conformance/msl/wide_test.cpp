// Kernels with loops and no cross-lane operation, which may run 16 threads at a time: whatever the
// size of grid and threadgroup is, each thread has the result it has alone.
#include <gtest/gtest.h>

#include <random>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

constexpr uint32_t kWords = 4096, kSteps = 5;

// What a kernel sees: where it is, and two inputs.
struct Thread {
  uint32_t i, t;  // in the grid, in the threadgroup
  const std::vector<uint32_t>&x, &y;
};

struct WideCase {
  const char* name;
  const char* body;                             // of a kernel that has `result` to set
  std::function<uint32_t(const Thread&)> host;  // 0xdeadbeef: nothing is written
};

uint32_t bits(float value) {
  return as_bits(value);
}
float number(uint32_t word) {
  return static_cast<float>(static_cast<int32_t>(word) % 1000);
}

const WideCase kCases[] = {
    {"sum", "for (uint k = 0; k < n; ++k) result += *(x + k * 512ul + i) * y[k];",
     [](const Thread& at) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < kSteps; ++k) sum += at.x[k * 512 + at.i] * at.y[k];
       return sum;
     }},
    {"float_sum",
     "float sum = 0; device const uint* p = x + i;\n"
     "for (uint k = 0; k < n; ++k, p += 512) sum = fma(float(int(*p) % 1000), 1.1f, sum) * 0.7f;\n"
     "result = as_type<uint>(sum);",
     [](const Thread& at) {
       float sum = 0;
       for (uint32_t k = 0; k < kSteps; ++k)
         sum = std::fma(number(at.x[k * 512 + at.i]), 1.1f, sum) * 0.7f;
       return bits(sum);
     }},
    {"guard", "if (i >= 77) return; for (uint k = 0; k < n; ++k) result += (x + i)[k * 512ul];",
     [](const Thread& at) {
       uint32_t sum = 0;
       for (uint32_t k = 0; k < kSteps; ++k) sum += at.x[k * 512 + at.i];
       return at.i >= 77 ? 0xdeadbeefu : sum;
     }},
    {"sides",
     "for (uint k = 0; k < n; ++k) {\n"
     "  uint v = (x + i)[k * 512ul];\n"
     "  if (v % 3 == 0) { result += v; if (k > 1 && v % 2 == 0) result ^= y[k]; else result -= 5; "
     "}\n"
     "  else if (v % 5 != 0) { result = result * 3 + v; }\n"
     "  result += k;\n"
     "}",
     [](const Thread& at) {
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k) {
         const uint32_t v = at.x[k * 512 + at.i];
         if (v % 3 == 0) {
           result += v;
           if (k > 1 && v % 2 == 0) {
             result ^= at.y[k];
           } else {
             result -= 5;
           }
         } else if (v % 5 != 0) {
           result = result * 3 + v;
         }
         result += k;
       }
       return result;
     }},
    {"loop_in_a_side",
     "if ((x[i] & 1) != 0) { for (uint k = 0; k < n; ++k) result += (x + i)[k * 512ul] ^ y[k]; }\n"
     "else for (uint k = 1; k < n; ++k) result -= (y + i)[k * 512ul];",
     [](const Thread& at) {
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k) {
         if ((at.x[at.i] & 1) != 0) {
           result += at.x[k * 512 + at.i] ^ at.y[k];
         } else if (k > 0) {
           result -= at.y[k * 512 + at.i];
         }
       }
       return result;
     }},
    // A thread that is switched off must not divide by what it happens to hold.
    {"division_in_a_side",
     "for (uint k = 0; k < n; ++k) {\n"
     "  int v = int((x + i)[k * 512ul]) >> 8, d = int((y + i)[k * 512ul]) % 3;\n"
     "  if (d != 0) result += uint(v / d) + uint(v % (d * int(n)));\n"
     "}",
     [](const Thread& at) {
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k) {
         const int v = static_cast<int32_t>(at.x[k * 512 + at.i]) >> 8;
         const int d = static_cast<int32_t>(at.y[k * 512 + at.i]) % 3;
         if (d != 0) {
           result += static_cast<uint32_t>(v / d);
           result += static_cast<uint32_t>(v % (d * static_cast<int>(kSteps)));
         }
       }
       return result;
     }},
    // The upper bits of a position are the same for 16 threads only if they begin at a multiple
    // of 16.
    {"parts_of_positions",
     "device const uint* own = x + (i & 15); device const uint* all = y + i / 16;\n"
     "for (uint k = 0; k < n; ++k) result += own[k * 16ul] * all[k] + (t / 16) * 7 + (i & 48);",
     [](const Thread& at) {
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k)
         result += at.x[k * 16 + at.i % 16] * at.y[k + at.i / 16] + at.t / 16 * 7 + (at.i & 48);
       return result;
     }},
    // Where 32 bits wrap, neighbours do not lie side by side.
    {"index_wraps",
     "uint at = i * 8 - 200; for (uint k = 0; k < n; ++k) result += x[(at >> 16 ? 0u : at) + k];\n"
     "for (uint k = 0; k < n; ++k) result = result * 3 + y[ulong(i - 37u) & 1023];",
     [](const Thread& at) {
       const uint32_t first = at.i * 8 - 200;
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k) result += at.x[(first >> 16 ? 0u : first) + k];
       for (uint32_t k = 0; k < kSteps; ++k) result = result * 3 + at.y[(at.i - 37u) & 1023];
       return result;
     }},
    {"address_wraps",
     "uint first = 3; if (i >= 37) first = x[i - 37u];\n"
     "for (uint k = 0; k < n; ++k) result = result * 3 + y[k] * first;",
     [](const Thread& at) {
       uint32_t result = 0;
       for (uint32_t k = 0; k < kSteps; ++k)
         result = result * 3 + at.y[k] * (at.i >= 37 ? at.x[at.i - 37] : 3);
       return result;
     }},
    {"array",
     "uint a[4] = {i, 2 * i, 3, y[i]};\n"
     "for (uint k = 0; k < n; ++k) { a[k & 3] += (x + i)[k * 512ul]; result ^= a[(k + 1) & 3]; }\n"
     "result += a[0] + a[i & 3];",
     [](const Thread& at) {
       uint32_t a[4] = {at.i, 2 * at.i, 3, at.y[at.i]}, result = 0;
       for (uint32_t k = 0; k < kSteps; ++k) {
         a[k & 3] += at.x[k * 512 + at.i];
         result ^= a[(k + 1) & 3];
       }
       return result + a[0] + a[at.i & 3];
     }},
    {"narrow_types",
     "device const uchar* bytes = reinterpret_cast<device const uchar*>(x) + i; half h = 0; ushort "
     "s = 0;\n"
     "for (uint k = 0; k < n; ++k) { h += half(bytes[k * 512ul]) * 0.25h; s += ushort(bytes[k * "
     "512ul]) * 999; }\n"
     "result = uint(h) + s * 1000u;",
     [](const Thread& at) {
       const auto* bytes = reinterpret_cast<const uint8_t*>(at.x.data()) + at.i;
       float h = 0;  // multiples of a quarter below 320 are exact in half
       uint16_t s = 0;
       for (uint32_t k = 0; k < kSteps; ++k) {
         h += static_cast<float>(bytes[k * 512]) * 0.25f;
         s = static_cast<uint16_t>(s + bytes[k * 512] * 999);
       }
       return static_cast<uint32_t>(h) + s * 1000u;
     }},
};

struct Size {
  uint32_t grid, group;
};
// Whole sets, ragged ones, threadgroups at the edge that hold whole sets and begin between them.
const Size kSizes[] = {{256, 64}, {100, 48}, {72, 40}, {33, 33}, {16, 16}, {160, 1}};

void PrintTo(const WideCase& c, std::ostream* out) {
  *out << c.name;
}

class Wide : public testing::TestWithParam<WideCase> {};

TEST_P(Wide, HasTheResultsOfSingleThreads) {
  const WideCase& c = GetParam();
  const std::string source =
      std::string(kPrologue) +
      "kernel void test(device uint* out [[buffer(0)]], device const uint* x "
      "[[buffer(1)]], device const uint* y [[buffer(2)]], constant uint& n "
      "[[buffer(3)]], uint i [[thread_position_in_grid]], uint t "
      "[[thread_position_in_threadgroup]]) {\nuint result = 0;\n" +
      c.body + "\nout[i] = result;\n}\n";
  const Library library = compile(source);
  ASSERT_EQ(library.error, "");
  std::mt19937 random(3);
  std::vector<uint32_t> x(kWords), y(kWords);
  for (auto* words : {&x, &y})
    for (uint32_t& word : *words) word = static_cast<uint32_t>(random());
  for (const Size& size : kSizes) {
    std::vector<std::vector<uint32_t>> buffers = {
        std::vector<uint32_t>(size.grid, 0xdeadbeef), x, y, {kSteps}};
    const Launch launch = {.grid = MTL::Size(size.grid, 1, 1),
                           .group = MTL::Size(size.group, 1, 1)};
    ASSERT_EQ(run(library.library.get(), "test", launch, buffers), "");
    for (uint32_t i = 0; i < size.grid; ++i)
      ASSERT_EQ(buffers[0][i], c.host({i, i % size.group, x, y}))
          << "thread " << i << " of " << size.grid << " in threadgroups of " << size.group;
  }
}

INSTANTIATE_TEST_SUITE_P(Msl, Wide, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
