#include "mlxn/ops/elementwise/cast.h"

#include <bit>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/elementwise_args.h"
#include "mlxn/quant/reference.h"

namespace mlxn {
namespace {

bool is_word(Dtype dtype) {
  return dtype == Dtype::kI32 || dtype == Dtype::kU32;
}

bool is_known_pair(Dtype from, Dtype to) {
  if (from == to) return false;
  if (info(from).is_float && info(to).is_float) return true;
  return (from == Dtype::kF32 && is_word(to)) || (is_word(from) && to == Dtype::kF32);
}

Result<uint32_t> check(const CastParams& params) {
  constexpr const char* kOp = "cast";
  const auto& [input, output] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_TRY(check_present(kOp, "output", output));
  if (!is_known_pair(input.dtype(), output.dtype())) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(kOp, ": from ", to_string(input.dtype()), " to ", to_string(output.dtype()),
                     ", expected two of f32, f16 and bf16, or f32 and i32 or u32"));
  }
  MLXN_TRY(check_argument(output, {kOp, "output", output.dtype(), input.element_count()}));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  return fits_32_bits(kOp, "elements", input.element_count());
}

Error wrong_value(double value, Dtype dtype) {
  return Error(ErrorCode::kInvalidArgument,
               str("fill: value ", value, ", expected one that ", to_string(dtype), " can hold"));
}

// The element's bits; those of 16-bit types in the lower half.
Result<uint32_t> bits_of(double value, Dtype dtype) {
  const float rounded = static_cast<float>(value);
  switch (dtype) {
    case Dtype::kF32: return std::bit_cast<uint32_t>(rounded);
    case Dtype::kF16: return uint32_t{quant::half_bits(rounded)};
    case Dtype::kBf16: return uint32_t{quant::bfloat_bits(rounded)};
    case Dtype::kI32:
      if (!(value >= INT32_MIN && value <= INT32_MAX) || value != std::trunc(value))
        return wrong_value(value, dtype);
      return static_cast<uint32_t>(static_cast<int32_t>(value));
    case Dtype::kU32:
      if (!(value >= 0 && value <= UINT32_MAX) || value != std::trunc(value))
        return wrong_value(value, dtype);
      return static_cast<uint32_t>(value);
    default:
      return Error(ErrorCode::kDtypeMismatch, str("fill: output is ", to_string(dtype),
                                                  ", expected f32, f16, bf16, i32 or u32"));
  }
}

}  // namespace

Status cast(ComputeEncoder& encoder, const CastParams& params) {
  const auto& [input, output] = params;
  MLXN_ASSIGN(const uint32_t count, check(params));
  const std::string kernel = str("cast_", to_string(input.dtype()), "_", to_string(output.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const ElementwiseArgs args = {count};
  return dispatch_elements(encoder, count,
                           {.pipeline = pipeline,
                            .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                            .reads = {&input},
                            .writes = {&output}});
}

Status fill(ComputeEncoder& encoder, const FillParams& params) {
  const auto& [output, value] = params;
  MLXN_TRY(check_present("fill", "output", output));
  MLXN_ASSIGN(const uint32_t bits, bits_of(value, output.dtype()));
  MLXN_ASSIGN(const uint32_t count, fits_32_bits("fill", "elements", output.element_count()));
  const bool wide = info(output.dtype()).block_bytes == 4;
  MLXN_ASSIGN(const Pipeline pipeline,
              builtin_pipeline(encoder.device(), wide ? "fill_u32" : "fill_u16"));
  const FillArgs args = {count, bits};
  return dispatch_elements(
      encoder, count,
      {.pipeline = pipeline, .bindings = {{0, output}, {1, as_bytes(args)}}, .writes = {&output}});
}

}  // namespace mlxn
