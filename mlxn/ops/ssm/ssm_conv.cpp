#include "mlxn/ops/ssm/ssm_conv.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/ssm/ssm_conv_args.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "ssm_conv";

struct Sizes {
  uint32_t sequences, tokens, channels, taps;
};

Status check_memory(const SsmConvParams& params) {
  for (const Buffer* output : {&params.output, &params.new_state}) {
    MLXN_TRY(check_apart(kOp, *output, params.input, "input"));
    MLXN_TRY(check_apart(kOp, *output, params.weight, "weight"));
  }
  MLXN_TRY(check_apart(kOp, params.output, params.state, "state"));
  MLXN_TRY(check_apart(kOp, params.output, params.new_state, "new state"));
  return check_overlap(kOp, params.new_state, params.state, "state");
}

Result<Sizes> check(const SsmConvParams& params) {
  MLXN_TRY(check_present(kOp, "input", params.input));
  const Shape& shape = params.input.shape();
  const Dtype dtype = params.input.dtype();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": input has shape ", shape.to_string(),
                                                ", expected [sequences, tokens, channels]"));
  }
  MLXN_ASSIGN(const uint32_t sequences, fits_32_bits(kOp, "sequences", shape[0]));
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(kOp, "tokens", shape[1]));
  MLXN_ASSIGN(const uint32_t channels, fits_32_bits(kOp, "channels", shape[2]));
  MLXN_ASSIGN(const Matrix weight, matrix_of(kOp, "weight", params.weight));
  const uint64_t taps = weight.columns;
  if (taps < 2 || taps > kConvMostTaps) {
    return Error(ErrorCode::kOutOfRange,
                 str(kOp, ": ", taps, " taps, expected 2 to ", kConvMostTaps));
  }
  const Shape states = {sequences, channels, taps - 1};
  MLXN_TRY(check_argument(params.weight, ExpectedShape{kOp, "weight", dtype, {channels, taps}}));
  MLXN_TRY(check_argument(params.state, ExpectedShape{kOp, "state", dtype, states}));
  MLXN_TRY(check_argument(params.new_state, ExpectedShape{kOp, "new state", dtype, states}));
  MLXN_TRY(check_argument(params.output, ExpectedShape{kOp, "output", dtype, shape}));
  MLXN_TRY(check_memory(params));
  return Sizes{sequences, tokens, channels, static_cast<uint32_t>(taps)};
}

}  // namespace

Status ssm_conv(ComputeEncoder& encoder, const SsmConvParams& params) {
  MLXN_ASSIGN(const Sizes sizes, check(params));
  MLXN_ASSIGN(const std::string kernel,
              float_kernel_name(sizes.taps == 4 ? "ssm_conv_4" : kOp, params.input.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const uint32_t run = sizes.taps <= kConvTokens ? kConvTokens : kConvMostTaps;
  const SsmConvArgs args = {sizes.channels, sizes.tokens, sizes.taps, run};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, params.input},
                                        {1, params.weight},
                                        {2, params.state},
                                        {3, params.output},
                                        {4, params.new_state},
                                        {5, as_bytes(args)}},
                           .grid = {sizes.channels, (sizes.tokens - 1) / run + 1, sizes.sequences},
                           .threadgroup = {std::min(128u, pipeline.max_threads()), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&params.input, &params.weight, &params.state},
                           .writes = {&params.output, &params.new_state}});
}

}  // namespace mlxn
