// What ops call themselves in graphs and profiles.
#pragma once

#include <string_view>

#include "mlxn/core/encode/dispatch.h"

namespace mlxn {

// One for each op that a fusion rule looks for or that is of interest to reordering; the first six
// are the original's.
struct OpKind : OpTag {
  static const OpKind kRmsNorm, kElemMul, kElemAdd, kSdpa, kSoftmax, kOther;
  static const OpKind kMatmul, kPackedMatmul, kPackedFloatMatmul, kQuantiseRows, kSiluMul, kKvWrite;
};
inline constexpr OpKind OpKind::kRmsNorm{{"RmsNorm"}};
inline constexpr OpKind OpKind::kElemMul{{"ElemMul"}};
inline constexpr OpKind OpKind::kElemAdd{{"ElemAdd"}};
inline constexpr OpKind OpKind::kSdpa{{"Sdpa", true}};
inline constexpr OpKind OpKind::kSoftmax{{"Softmax", true}};
inline constexpr OpKind OpKind::kOther{};
inline constexpr OpKind OpKind::kMatmul{{"Matmul"}};
inline constexpr OpKind OpKind::kPackedMatmul{{"PackedMatmul"}};
inline constexpr OpKind OpKind::kPackedFloatMatmul{{"PackedFloatMatmul"}};
inline constexpr OpKind OpKind::kQuantiseRows{{"QuantiseRows"}};
inline constexpr OpKind OpKind::kSiluMul{{"SiluMul"}};
inline constexpr OpKind OpKind::kKvWrite{{"KvWrite"}};

inline std::string_view to_string(const OpKind& kind) {
  return kind.name;
}
inline bool is_reorderable(const OpKind& kind) {
  return !kind.ends_look_ahead;
}

}  // namespace mlxn
