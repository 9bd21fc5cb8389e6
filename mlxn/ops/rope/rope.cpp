#include "mlxn/ops/rope/rope.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope";

}  // namespace

Result<RopeSizes> check_rope(std::string_view op, const Buffer& input, const Buffer& table) {
  MLXN_TRY(check_present(op, "input", input));
  const Shape& shape = input.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": input has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim]"));
  }
  MLXN_TRY(check_argument(input, ExpectedShape{op, "input", Dtype::kF32, shape}));
  MLXN_TRY(check_present(op, "table", table));
  const Shape& turns = table.shape();
  if (turns.size() != 3 || turns[0] != shape[0] || turns[2] != 2 || turns[1] > shape[2] / 2 ||
      shape[2] % 2 != 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": table has shape ", turns.to_string(), ", expected [", shape[0],
                     ", pairs, 2] with at most half as many pairs as the ", shape[2],
                     " elements of a head, which must be even"));
  }
  MLXN_TRY(check_argument(table, ExpectedShape{op, "table", Dtype::kF32, turns}));
  MLXN_ASSIGN(const uint32_t tokens, fits_32_bits(op, "tokens", shape[0]));
  MLXN_ASSIGN(const uint32_t heads, fits_32_bits(op, "heads", shape[1]));
  MLXN_ASSIGN(const uint32_t dim, fits_32_bits(op, "elements of a head", shape[2]));
  return RopeSizes{tokens, heads, dim, static_cast<uint32_t>(turns[1])};
}

Status rope(ComputeEncoder& encoder, const RopeParams& params) {
  const auto& [input, table, output, pairs] = params;
  MLXN_ASSIGN(const RopeSizes sizes, check_rope(kOp, input, table));
  MLXN_TRY(check_argument(output, {kOp, "output", Dtype::kF32, input.element_count()}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  MLXN_TRY(check_apart(kOp, output, table, "table"));
  const char* kernel = pairs == RopePairs::kAdjacent ? "rope_adjacent_f32" : "rope_halves_f32";
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const RopeArgs args = {sizes.heads, sizes.dim, sizes.pairs};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, table}, {2, output}, {3, as_bytes(args)}},
                           .grid = {sizes.dim / 2, sizes.heads, sizes.tokens},
                           .threadgroup = {32, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&input, &table},
                           .writes = {&output}});
}

}  // namespace mlxn
