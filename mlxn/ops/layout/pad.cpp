#include <algorithm>
#include <bit>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/layout/repeat.h"
#include "mlxn/ops/layout/strided_copy_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "pad";

uint32_t bfloat_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

Result<uint32_t> bits_of(Dtype dtype, float value) {
  switch (dtype) {
    case Dtype::kF32: return std::bit_cast<uint32_t>(value);
    case Dtype::kF16: return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    case Dtype::kBf16: return bfloat_bits(value);
    default: break;
  }
  if (info(dtype).block_elements > 1 || info(dtype).block_bytes > 4) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(kOp, ": dtype ", to_string(dtype), ", expected 1, 2 or 4 bytes"));
  }
  if (!(std::abs(value) < 0x1p31f)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": value ", value, ", expected a number of 32 bits"));
  }
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

Result<PadArgs> args_of(const PadParams& params) {
  const Shape &from = params.input.shape(), &to = params.output.shape();
  const size_t count = to.size();
  const bool begins = params.begin.empty() || params.begin.size() == count;
  if (from.size() != count || count > 4 || !begins) {
    return Error(ErrorCode::kShapeMismatch,
                 str(kOp, ": ", from.to_string(), " into ", to.to_string(), " at ",
                     params.begin.size(), " numbers, expected up to four dimensions of each"));
  }
  PadArgs args = {};
  std::fill_n(args.sizes, 4, 1u);
  std::fill_n(args.source_sizes, 4, 1u);
  uint64_t stride = 1;
  for (size_t i = count; i-- > 0; stride *= from[i]) {
    const uint64_t begin = params.begin.empty() ? 0 : params.begin[i];
    if (!span_fits(begin, from[i], to[i])) {
      return Error(ErrorCode::kShapeMismatch,
                   str(kOp, ": ", from[i], " elements from ", begin, " on along axis ", i,
                       ", expected to end within ", to[i]));
    }
    const size_t at = 4 - count + i;
    MLXN_ASSIGN(args.sizes[at], fits_32_bits(kOp, "elements of an axis", to[i]));
    args.source_sizes[at] = static_cast<uint32_t>(from[i]);
    args.begin[at] = static_cast<uint32_t>(begin);
    args.source_strides[at] = stride;
  }
  MLXN_TRY(fits_32_bits(kOp, "rows", uint64_t{args.sizes[0]} * args.sizes[1]));
  MLXN_ASSIGN(args.value, bits_of(params.input.dtype(), params.value));
  return args;
}

}  // namespace

Status pad(ComputeEncoder& encoder, const PadParams& params) {
  const auto& [input, output, begin, value] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  MLXN_TRY(check_present(kOp, "output", output));
  MLXN_TRY(check_argument(output, {kOp, "output", input.dtype(), output.element_count()}));
  MLXN_ASSIGN(const PadArgs args, args_of(params));
  MLXN_TRY(check_apart(kOp, output, input, "input"));
  const uint32_t bits = 8 * info(input.dtype()).block_bytes;
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), str(kOp, "_u", bits)));
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, output}, {2, as_bytes(args)}},
                           .grid = {args.sizes[3], args.sizes[2], args.sizes[0] * args.sizes[1]},
                           .threadgroup = {std::min(256u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&input},
                           .writes = {&output}});
}

}  // namespace mlxn
