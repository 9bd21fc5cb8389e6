#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/elements.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_frequencies.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope_table";

struct Sizes {
  uint32_t tokens, pairs;
};

Status check_positions(const RopeTableParams& params, uint64_t tokens) {
  const Buffer& positions = params.positions;
  const Dtype dtype = positions && positions.dtype() == Dtype::kI32 ? Dtype::kI32 : Dtype::kU32;
  MLXN_ASSIGN(const uint64_t count, checked_mul<uint64_t>(tokens, rope_axis_count(params.axes)));
  return check_argument(positions, {kOp, "positions", dtype, count});
}

// Sections have pairs; those of vision are all.
Status check_sections(const RopeTableParams& params, uint64_t pairs) {
  if (params.axes == RopeAxes::kOne) return {};
  const auto& s = params.sections;
  const uint64_t two = uint64_t{s[0]} + s[1], all = two + s[2] + s[3];
  const bool vision = params.axes == RopeAxes::kVision;
  if (vision ? two == pairs && all == two : all > 0 && all <= UINT32_MAX / 3) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": sections of ", s[0], ", ", s[1], ", ", s[2], " and ", s[3],
                   " pairs, expected ", vision ? "Vision to have two of all " : "some of ", pairs));
}

Status check_yarn(const RopeTableParams& params) {
  const RopeYarn& yarn = params.yarn;
  for (const auto& [name, value] :
       {std::pair("ext_factor", yarn.ext_factor), std::pair("attn_factor", yarn.attn_factor)}) {
    MLXN_TRY(check_number(value, {kOp, name, 0}));
  }
  if (yarn.ext_factor == 0) return {};
  const bool is_ramp =
      yarn.beta_slow > 0 && yarn.beta_fast > yarn.beta_slow && std::isfinite(yarn.beta_fast);
  if (is_ramp && yarn.original_context > 0 && params.scale > 0 && params.base > 1) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(kOp, ": betas ", yarn.beta_fast, " and ", yarn.beta_slow, ", original context ",
                   yarn.original_context, ", scale ", params.scale, " and base ", params.base,
                   ", expected a falling pair, a context, a positive scale and a base above 1"));
}

Result<Sizes> check(const RopeTableParams& params) {
  MLXN_TRY(check_present(kOp, "output", params.output));
  const Shape& shape = params.output.shape();
  if (shape.size() != 3 || shape[2] != 2) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": output has shape ", shape.to_string(),
                                                ", expected [tokens, pairs, 2]"));
  }
  MLXN_TRY(check_argument(params.output, ExpectedShape{kOp, "output", Dtype::kF32, shape}));
  MLXN_TRY(check_positions(params, shape[0]));
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
  MLXN_TRY(check_sections(params, shape[1]));
  MLXN_TRY(check_yarn(params));
  if (params.frequency_factors != nullptr) {
    const Buffer& factors = *params.frequency_factors;
    MLXN_TRY(check_argument(factors, {kOp, "frequency factors", Dtype::kF32, shape[1]}));
    MLXN_TRY(check_apart(kOp, params.output, factors, "frequency factors"));
  }
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[0]));
  return Sizes{tokens, static_cast<uint32_t>(shape[1])};
}

}  // namespace

Status rope_table(ComputeEncoder& encoder, const RopeTableParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "rope_table_f32"));
  const Buffer* factors = params.frequency_factors;
  const RopeTableArgs args = {sizes.pairs, factors != nullptr, sizes.tokens,
                              params.positions.dtype() == Dtype::kI32, rope_magnitude(params)};
  const RopeFrequencies frequencies = rope_frequencies(params, sizes.pairs);
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
