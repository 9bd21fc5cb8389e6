#include "mlxn/ops/rope/rope.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope";

}  // namespace

Result<RopeSizes> check_rope(std::string_view op, const Buffer& input, const Buffer& table,
                             Dtype dtype) {
  MLXN_TRY(check_present(op, "input", input));
  const Shape& shape = input.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": input has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim]"));
  }
  MLXN_TRY(check_argument(input, ExpectedShape{op, "input", dtype, shape}));
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

Result<RopePlaces> places_of(std::string_view op, const RopeSizes& sizes, const RopeSlice& slice) {
  const uint32_t pairs = sizes.pairs, offset = slice.offset;
  const auto whole = [&](uint32_t split, uint32_t block, bool fits) -> Result<RopePlaces> {
    if (offset == 0 && fits) return RopePlaces{pairs, 0, 0, split, block};
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": offset is ", offset, " and there are ", pairs, " pairs of heads of ",
                     sizes.dim, ", expected 0 and what splits the head in halves or quarters"));
  };
  if (slice.pairs == RopePairs::kHeadHalves) return whole(sizes.dim / 2, pairs, true);
  if (slice.pairs == RopePairs::kQuarters)
    return whole(pairs / 2, pairs / 2, sizes.dim % 4 == 0 && pairs == sizes.dim / 2);
  if (uint64_t{offset} + 2 * uint64_t{pairs} > sizes.dim) {
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": offset is ", offset, ", expected at most ", sizes.dim - 2 * pairs,
                     " for ", pairs, " pairs of heads of ", sizes.dim));
  }
  const bool adjacent = slice.pairs == RopePairs::kAdjacent;
  return RopePlaces{pairs, adjacent, offset, pairs, pairs};
}

namespace {

struct Kernel {
  const char* name;
  bool is_slice;
};

// The kernels of one slice at the begin of f32 heads need no places and no direction: they are
// what models of one sequence turn by.
Kernel kernel_of(const RopeParams& params) {
  const bool adjacent = params.pairs == RopePairs::kAdjacent;
  const bool plain = params.input.dtype() == Dtype::kF32 && params.offset == 0 && !params.inverse &&
                     (adjacent || params.pairs == RopePairs::kHalves);
  if (plain) return {adjacent ? "rope_adjacent_f32" : "rope_halves_f32", false};
  switch (params.input.dtype()) {
    case Dtype::kF16: return {"rope_slice_f16", true};
    case Dtype::kBf16: return {"rope_slice_bf16", true};
    default: return {"rope_slice_f32", true};
  }
}

}  // namespace

Status rope(ComputeEncoder& encoder, const RopeParams& params) {
  const auto& [input, table, output, pairs, offset, inverse] = params;
  const Dtype dtype = input.dtype();
  MLXN_TRY(float_kernel_name(kOp, dtype));
  MLXN_ASSIGN(const RopeSizes sizes, check_rope(kOp, input, table, dtype));
  MLXN_TRY(check_argument(output, {kOp, "output", dtype, input.element_count()}));
  MLXN_TRY(check_overlap(kOp, output, input, "input"));
  MLXN_TRY(check_apart(kOp, output, table, "table"));
  MLXN_ASSIGN(const RopePlaces places, places_of(kOp, sizes, {pairs, offset}));
  const Kernel kernel = kernel_of(params);
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel.name));
  const RopeArgs plain = {sizes.heads, sizes.dim, sizes.pairs};
  const RopeSliceArgs slice = {sizes.heads, sizes.dim, places, inverse ? -1.0f : 1.0f};
  const auto args = kernel.is_slice ? as_bytes(slice) : as_bytes(plain);
  // What does not turn is there already in place.
  const bool copies = !kernel.is_slice || !same_bytes(input, output);
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, input}, {1, table}, {2, output}, {3, args}},
       .grid = {copies ? sizes.dim / 2 : sizes.pairs, sizes.heads, sizes.tokens},
       .threadgroup = {32, 1, 1},
       .kind = DispatchKind::kThreads,
       .declared = true,
       .reads = {&input, &table},
       .writes = {&output}});
}

}  // namespace mlxn
