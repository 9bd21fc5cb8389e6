#include "mlxn/io/ggml_types.h"

#include <algorithm>

namespace mlxn::io {
namespace {

// A type with a Dtype of the same layout.
constexpr GgmlType same(uint32_t number, std::string_view name, uint32_t elements, uint32_t bytes,
                        Dtype dtype) {
  return {number, name, elements, bytes, dtype};
}
// A type that has a size and nothing else here.
constexpr GgmlType sized(uint32_t number, std::string_view name, uint32_t elements,
                         uint32_t bytes) {
  return {number, name, elements, bytes, std::nullopt};
}
// A number that was in use once.
constexpr GgmlType gone(uint32_t number, std::string_view name) {
  return {number, name, 0, 0, std::nullopt};
}

// In the order of the numbers.
constexpr GgmlType kTable[] = {
    same(0, "f32", 1, 4, Dtype::kF32),
    same(1, "f16", 1, 2, Dtype::kF16),
    same(2, "q4_0", 32, 18, Dtype::kQ4_0),
    same(3, "q4_1", 32, 20, Dtype::kQ4_1),
    gone(4, "q4_2"),
    gone(5, "q4_3"),
    same(6, "q5_0", 32, 22, Dtype::kQ5_0),
    same(7, "q5_1", 32, 24, Dtype::kQ5_1),
    same(8, "q8_0", 32, 34, Dtype::kQ8_0),
    same(9, "q8_1", 32, 36, Dtype::kQ8_1),
    same(10, "q2_k", 256, 84, Dtype::kQ2_K),
    same(11, "q3_k", 256, 110, Dtype::kQ3_K),
    same(12, "q4_k", 256, 144, Dtype::kQ4_K),
    same(13, "q5_k", 256, 176, Dtype::kQ5_K),
    same(14, "q6_k", 256, 210, Dtype::kQ6_K),
    same(15, "q8_k", 256, 292, Dtype::kQ8_K),
    sized(16, "iq2_xxs", 256, 66),
    sized(17, "iq2_xs", 256, 74),
    sized(18, "iq3_xxs", 256, 98),
    sized(19, "iq1_s", 256, 50),
    same(20, "iq4_nl", 32, 18, Dtype::kIq4_Nl),
    sized(21, "iq3_s", 256, 110),
    sized(22, "iq2_s", 256, 82),
    same(23, "iq4_xs", 256, 136, Dtype::kIq4_Xs),
    same(24, "i8", 1, 1, Dtype::kI8),
    same(25, "i16", 1, 2, Dtype::kI16),
    same(26, "i32", 1, 4, Dtype::kI32),
    same(27, "i64", 1, 8, Dtype::kI64),
    sized(28, "f64", 1, 8),
    sized(29, "iq1_m", 256, 56),
    same(30, "bf16", 1, 2, Dtype::kBf16),
    gone(31, "q4_0_4_4"),
    gone(32, "q4_0_4_8"),
    gone(33, "q4_0_8_8"),
    sized(34, "tq1_0", 256, 54),
    sized(35, "tq2_0", 256, 66),
    gone(36, "iq4_nl_4_4"),
    gone(37, "iq4_nl_4_8"),
    gone(38, "iq4_nl_8_8"),
    same(39, "mxfp4", 32, 17, Dtype::kMxfp4),
    sized(40, "nvfp4", 64, 36),
    sized(41, "q1_0", 128, 18),
    sized(42, "q2_0", 64, 18),
};

}  // namespace

std::span<const GgmlType> ggml_types() {
  return kTable;
}

const GgmlType* find_ggml_type(uint32_t number) {
  return number < std::size(kTable) ? &kTable[number] : nullptr;
}

const GgmlType* find_ggml_type(Dtype dtype) {
  const auto* found = std::ranges::find(kTable, std::optional(dtype), &GgmlType::dtype);
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace mlxn::io
