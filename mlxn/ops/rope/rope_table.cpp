#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/ops/rope/rope_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope_table";

struct Sizes {
  uint32_t tokens, pairs;
};

Result<Sizes> check(const RopeTableParams& params) {
  MLXN_TRY(check_present(kOp, "output", params.output));
  const Shape& shape = params.output.shape();
  if (shape.size() != 3 || shape[2] != 2) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": output has shape ", shape.to_string(),
                                                ", expected [tokens, pairs, 2]"));
  }
  MLXN_TRY(check_argument(params.output, ExpectedShape{kOp, "output", Dtype::kF32, shape}));
  MLXN_TRY(check_argument(params.positions, {kOp, "positions", Dtype::kU32, shape[0]}));
  MLXN_TRY(check_apart(kOp, params.output, params.positions, "positions"));
  if (!(params.base > 0) || !std::isfinite(params.base) || !std::isfinite(params.scale)) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": base ", params.base, " and scale ", params.scale,
                     ", expected a positive and a finite number"));
  }
  if (shape[1] > kRopeMostPairs) {
    return Error(ErrorCode::kOutOfRange,
                 str(kOp, ": ", shape[1], " pairs, expected at most ", kRopeMostPairs));
  }
  if (params.frequency_factors != nullptr) {
    const Buffer& factors = *params.frequency_factors;
    MLXN_TRY(check_argument(factors, {kOp, "frequency factors", Dtype::kF32, shape[1]}));
    MLXN_TRY(check_apart(kOp, params.output, factors, "frequency factors"));
  }
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[0]));
  return Sizes{tokens, static_cast<uint32_t>(shape[1])};
}

RopeFrequencies frequencies_of(const RopeTableParams& params, uint32_t pairs) {
  RopeFrequencies out = {};
  for (uint32_t i = 0; i < pairs; ++i) {
    const double exact = params.scale * std::pow(double{params.base}, -double(i) / pairs);
    const float high = static_cast<float>(exact);
    out.of[i] = {high, static_cast<float>(exact - high)};
  }
  return out;
}

}  // namespace

Status rope_table(ComputeEncoder& encoder, const RopeTableParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "rope_table_f32"));
  const Buffer* factors = params.frequency_factors;
  const RopeTableArgs args = {sizes.pairs, factors != nullptr};
  const RopeFrequencies frequencies = frequencies_of(params, sizes.pairs);
  const Buffer& factors_or_any = factors != nullptr ? *factors : params.positions;
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.positions},
                                        {1, factors_or_any},
                                        {2, params.output},
                                        {3, as_bytes(args)},
                                        {4, as_bytes(frequencies)}},
                           .grid = {sizes.pairs, sizes.tokens, 1},
                           .threadgroup = {32, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&params.positions, &factors_or_any},
                           .writes = {&params.output}});
}

}  // namespace mlxn
