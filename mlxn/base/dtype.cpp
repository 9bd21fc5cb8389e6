#include "mlxn/base/dtype.h"

#include <iterator>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

constexpr DtypeInfo kTable[] = {
    {Dtype::kF32, "f32", 1, 4, true},          {Dtype::kF16, "f16", 1, 2, true},
    {Dtype::kBf16, "bf16", 1, 2, true},        {Dtype::kI8, "i8", 1, 1, false},
    {Dtype::kI16, "i16", 1, 2, false},         {Dtype::kI32, "i32", 1, 4, false},
    {Dtype::kI64, "i64", 1, 8, false},         {Dtype::kU8, "u8", 1, 1, false},
    {Dtype::kU16, "u16", 1, 2, false},         {Dtype::kU32, "u32", 1, 4, false},
    {Dtype::kU64, "u64", 1, 8, false},         {Dtype::kBool, "bool", 1, 1, false},
    {Dtype::kQ4_0, "q4_0", 32, 18, false},     {Dtype::kQ4_1, "q4_1", 32, 20, false},
    {Dtype::kQ5_0, "q5_0", 32, 22, false},     {Dtype::kQ5_1, "q5_1", 32, 24, false},
    {Dtype::kQ8_0, "q8_0", 32, 34, false},     {Dtype::kQ8_1, "q8_1", 32, 36, false},
    {Dtype::kQ2_K, "q2_k", 256, 84, false},    {Dtype::kQ3_K, "q3_k", 256, 110, false},
    {Dtype::kQ4_K, "q4_k", 256, 144, false},   {Dtype::kQ5_K, "q5_k", 256, 176, false},
    {Dtype::kQ6_K, "q6_k", 256, 210, false},   {Dtype::kQ8_K, "q8_k", 256, 292, false},
    {Dtype::kIq4_Nl, "iq4_nl", 32, 18, false}, {Dtype::kIq4_Xs, "iq4_xs", 256, 136, false},
    {Dtype::kMxfp4, "mxfp4", 32, 17, false},
};
static_assert(std::size(kTable) == static_cast<size_t>(Dtype::kCount));

}  // namespace

std::span<const DtypeInfo> dtypes() {
  return kTable;
}
const DtypeInfo& info(Dtype dtype) {
  return kTable[static_cast<size_t>(dtype)];
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
