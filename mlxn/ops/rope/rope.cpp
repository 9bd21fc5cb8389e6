#include "mlxn/ops/rope/rope.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/rope/rope_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope";

struct Sizes {
  uint32_t tokens, heads, dim, pairs;
};

Status check_numbers(const RopeParams& params, uint64_t dim) {
  const uint32_t rotary = params.rotary_dims;
  if (dim % 2 != 0 || rotary % 2 != 0 || rotary > dim) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": ", rotary, " rotary dimensions of a head of ", dim,
                     ", expected even numbers, the first not above the second"));
  }
  if (!(params.base > 0) || !std::isfinite(params.base) || !std::isfinite(params.scale)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": base ", params.base, " and scale ", params.scale,
                     ", expected a positive and a finite number"));
  }
  return {};
}

Result<Sizes> check(const RopeParams& params) {
  MLXN_TRY(check_present(kOp, "input", params.input));
  const Shape& shape = params.input.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": input has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim]"));
  }
  MLXN_TRY(check_argument(params.input, ExpectedShape{kOp, "input", Dtype::kF32, shape}));
  MLXN_TRY(
      check_argument(params.output, {kOp, "output", Dtype::kF32, params.input.element_count()}));
  MLXN_TRY(check_argument(params.positions, {kOp, "positions", Dtype::kU32, shape[0]}));
  MLXN_TRY(check_overlap(kOp, params.output, params.input, "input"));
  MLXN_TRY(check_apart(kOp, params.output, params.positions, "positions"));
  MLXN_TRY(check_numbers(params, shape[2]));
  const uint64_t pairs = (params.rotary_dims == 0 ? shape[2] : params.rotary_dims) / 2;
  if (pairs > kRopeMostPairs) {
    return Error(ErrorCode::kOutOfRange,
                 str(kOp, ": ", pairs, " pairs, expected at most ", kRopeMostPairs));
  }
  if (params.frequency_factors != nullptr) {
    MLXN_TRY(
        check_argument(*params.frequency_factors, {kOp, "frequency factors", Dtype::kF32, pairs}));
    MLXN_TRY(check_apart(kOp, params.output, *params.frequency_factors, "frequency factors"));
  }
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[0]));
  MLXN_ASSIGN(const uint32_t heads, fits_32_bits(kOp, "heads", shape[1]));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(kOp, "elements of a head", shape[2]));
  return Sizes{tokens, heads, dim, static_cast<uint32_t>(pairs)};
}

RopeFrequencies frequencies_of(const RopeParams& params, uint32_t pairs) {
  RopeFrequencies out = {};
  for (uint32_t i = 0; i < pairs; ++i) {
    const double exact = params.scale * std::pow(double{params.base}, -double(i) / pairs);
    const float high = static_cast<float>(exact);
    out.of[i] = {high, static_cast<float>(exact - high)};
  }
  return out;
}

}  // namespace

Status rope(ComputeEncoder& encoder, const RopeParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  const char* kernel =
      params.pairs == RopePairs::kAdjacent ? "rope_adjacent_f32" : "rope_halves_f32";
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const Buffer* factors = params.frequency_factors;
  const RopeArgs args = {sizes.heads, sizes.dim, sizes.pairs, factors != nullptr};
  const RopeFrequencies frequencies = frequencies_of(params, sizes.pairs);
  const Buffer& factors_or_any = factors != nullptr ? *factors : params.input;
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.input},
                                        {1, params.positions},
                                        {2, params.output},
                                        {3, factors_or_any},
                                        {4, as_bytes(args)},
                                        {5, as_bytes(frequencies)}},
                           .grid = {sizes.dim / 2, sizes.heads, sizes.tokens},
                           .threadgroup = {32, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&params.input, &params.positions, &factors_or_any},
                           .writes = {&params.output}});
}

}  // namespace mlxn
