#include "tests/conformance/msl/kernel_case.h"

namespace msl_test {

namespace {
constexpr size_t kInputWords = 4096, kScratchWords = 256;
}

// Small whole numbers in floats keep sums exact whatever the order.
float float_input(size_t index) {
  return static_cast<float>((index * 37 + 11) % 101) - 50.0f;
}
uint32_t uint_input(size_t index) {
  return static_cast<uint32_t>((index * 73 + 5) % 251);
}

void KernelTable::check(const KernelCase& c) {
  if (!compiled_) {
    compiled_ = true;
    std::string source = kPrologue + declarations_;
    for (const KernelCase& each : cases_) source += std::string(each.msl) + "\n";
    library_ = compile(source, options_);
  }
  ASSERT_EQ(library_.error, "");
  std::vector<std::vector<uint32_t>> buffers(4);
  buffers[0].assign(c.words, 0xdeadbeefu);
  for (size_t i = 0; i < kInputWords; ++i) {
    buffers[1].push_back(as_bits(float_input(i)));
    buffers[2].push_back(uint_input(i));
  }
  buffers[3].assign(kScratchWords, 0);
  ASSERT_EQ(run(library_.library.get(), c.entry ? c.entry : c.name, c.launch, buffers), "");
  for (size_t i = 0; i < c.words; ++i) {
    const double expected = c.expected(i);
    const uint32_t bits = buffers[c.result_buffer][i];
    if (std::isnan(expected)) continue;
    const double got = c.type == Type::kInt    ? double(int32_t(bits))
                       : c.type == Type::kUint ? double(bits)
                                               : double(as_float(bits));
    const bool whole = c.type == Type::kInt || c.type == Type::kUint;
    const double distance =
        whole ? (got == expected ? 0 : 1e9) : distance_ulp(got, expected, c.type);
    ASSERT_LE(distance, c.ulp) << "result " << i << " is " << got << " (" << std::hex << bits
                               << std::dec << "), expected " << expected << "\n"
                               << c.msl;
  }
}

}  // namespace msl_test
