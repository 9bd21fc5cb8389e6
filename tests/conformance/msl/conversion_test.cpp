// From floating point to integers: what does not fit becomes the nearest end, NaN becomes 0.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/conformance/msl/gpu.h"

namespace {

using namespace msl_test;

// The ends of all integer types with their neighbours, and what is no number.
std::vector<uint32_t> floats() {
  std::vector<uint32_t> words = {0x7fc00000, 0xffc00001, 0x7f800001, 0x7f800000, 0xff800000,
                                 0x80000000, 0x00000001, 0x80000001, 0x7f7fffff, 0xff7fffff};
  for (const int bits : {0, 1, 7, 8, 15, 16, 24, 31, 32, 63, 64})
    for (const double sign : {-1.0, 1.0})
      for (const double offset : {-2.0, -1.0, -0.75, -0.5, 0.0, 0.5, 0.75, 1.0, 2.0}) {
        const float end = static_cast<float>(sign * (std::ldexp(1.0, bits) + offset));
        for (const uint32_t step : {~0u, 0u, 1u}) words.push_back(as_bits(end) + step);
      }
  while (words.size() % 64 != 0) words.push_back(0);
  return words;
}

template <class T>
uint64_t saturated(float x) {
  if (std::isnan(x)) return 0;
  const long double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const long double whole = std::trunc(static_cast<long double>(x));
  return static_cast<uint64_t>(static_cast<T>(whole < low ? low : whole > high ? high : whole));
}

struct ConversionCase {
  const char* type;
  uint64_t (*host)(float);
};
void PrintTo(const ConversionCase& c, std::ostream* out) {
  *out << c.type;
}
const ConversionCase kCases[] = {{"char", saturated<int8_t>},   {"uchar", saturated<uint8_t>},
                                 {"short", saturated<int16_t>}, {"ushort", saturated<uint16_t>},
                                 {"int", saturated<int32_t>},   {"uint", saturated<uint32_t>},
                                 {"long", saturated<int64_t>},  {"ulong", saturated<uint64_t>}};

class Conversion : public testing::TestWithParam<ConversionCase> {};

TEST_P(Conversion, Saturates) {
  const ConversionCase& c = GetParam();
  const std::string type = c.type;
  const Library library = compile(
      std::string(kPrologue) +
      "kernel void test(device uint* out [[buffer(0)]], device const float* x [[buffer(1)]],\n"
      "uint i [[thread_position_in_grid]], uint size [[threads_per_grid]]) {\n"
      "const ulong result = ulong(" +
      type + "(x[i])), half_result = ulong(" + type +
      "(half(x[i])));\n"
      "out[i] = uint(result); out[i + size] = uint(result >> 32); out[i + 2 * size] = "
      "uint(half_result);\n"
      "out[i + 3 * size] = uint(" +
      type + "4(float4(0, x[i], 1, 2)).y); }\n");
  ASSERT_EQ(library.error, "");
  const std::vector<uint32_t> x = floats();
  const size_t size = x.size();
  std::vector<std::vector<uint32_t>> buffers = {std::vector<uint32_t>(4 * size), x};
  ASSERT_EQ(run(library.library.get(), "test",
                {.grid = MTL::Size(size, 1, 1), .group = MTL::Size(64, 1, 1)}, buffers),
            "");
  for (size_t i = 0; i < size; ++i) {
    const float value = as_float(x[i]), narrow = static_cast<float>(static_cast<_Float16>(value));
    const uint64_t wanted = c.host(value);
    const auto low = static_cast<uint32_t>(wanted), high = static_cast<uint32_t>(wanted >> 32);
    EXPECT_EQ(buffers[0][i], low) << value;
    EXPECT_EQ(buffers[0][i + size], high) << value;
    EXPECT_EQ(buffers[0][i + 2 * size], static_cast<uint32_t>(c.host(narrow))) << narrow;
    EXPECT_EQ(buffers[0][i + 3 * size], low) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Msl, Conversion, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.type); });

}  // namespace
