#include "mlxn/base/dtype.h"

#include <algorithm>
#include <iterator>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

// clang-format off
constexpr DtypeInfo kTable[] = {
#define MLXN_FLOAT(name, type, dtype, elements, bytes) \
  {Dtype::k##dtype, #name, elements, bytes, true},
#define MLXN_BLOCK(name, type, dtype, elements, bytes) \
  {Dtype::k##dtype, #name, elements, bytes, false},
    MLXN_EACH_FLOAT_FORMAT(MLXN_FLOAT)
    {Dtype::kI8, "i8", 1, 1, false},
    {Dtype::kI16, "i16", 1, 2, false},
    {Dtype::kI32, "i32", 1, 4, false},
    {Dtype::kI64, "i64", 1, 8, false},
    {Dtype::kU8, "u8", 1, 1, false},
    {Dtype::kU16, "u16", 1, 2, false},
    {Dtype::kU32, "u32", 1, 4, false},
    {Dtype::kU64, "u64", 1, 8, false},
    {Dtype::kBool, "bool", 1, 1, false},
    MLXN_EACH_BLOCK_FORMAT(MLXN_BLOCK)
    {Dtype::kQ8_1, "q8_1", 32, 36, false},
    {Dtype::kQ8_K, "q8_k", 256, 292, false},
#undef MLXN_FLOAT
#undef MLXN_BLOCK
};
// clang-format on
static_assert(std::size(kTable) == static_cast<size_t>(Dtype::kCount));

}  // namespace

std::span<const DtypeInfo> dtypes() {
  return kTable;
}
const DtypeInfo& info(Dtype dtype) {
  return kTable[static_cast<size_t>(dtype)];
}
bool is_weight_format(Dtype dtype) {
  return std::ranges::find(kWeightFormats, dtype) != std::end(kWeightFormats);
}
std::string_view to_string(Dtype dtype) {
  return info(dtype).name;
}

Result<Dtype> parse_dtype(std::string_view name) {
  for (const DtypeInfo& entry : kTable) {
    if (entry.name == name) return entry.dtype;
  }
  return Error(ErrorCode::kInvalidArgument, str("unknown dtype \"", name, "\""));
}

Result<uint64_t> size_bytes(Dtype dtype, uint64_t elements) {
  const DtypeInfo& entry = info(dtype);
  if (elements % entry.block_elements != 0) {
    return Error(ErrorCode::kShapeMismatch, str(elements, " elements of ", entry.name,
                                                ", expected a multiple of ", entry.block_elements));
  }
  return checked_mul<uint64_t>(elements / entry.block_elements, entry.block_bytes);
}

}  // namespace mlxn
