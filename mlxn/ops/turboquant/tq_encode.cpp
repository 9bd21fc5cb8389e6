#include "mlxn/ops/turboquant/tq_encode.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_range.h"
#include "mlxn/ops/turboquant/tq_args.h"
#include "mlxn/ops/turboquant/tq_cache.h"

namespace mlxn {

Status tq_encode(ComputeEncoder& encoder, const TqEncodeParams& params) {
  constexpr const char* kOp = "tq_encode";
  const auto& [input, codes, norms, bits, position, first, limit, ring, given_factor] = params;
  MLXN_TRY(check_present(kOp, "input", input));
  const Shape& shape = input.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": input has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim]"));
  }
  TqArgs args = {};
  MLXN_ASSIGN(args.input_type, float_type(kOp, "input", input.dtype()));
  MLXN_ASSIGN(args.heads, fits_32_bits(kOp, "heads", shape[1]));
  MLXN_ASSIGN(const uint64_t capacity,
              check_tq_cache(kOp, "", {codes, norms, bits, shape[2]}, shape[1]));
  MLXN_ASSIGN(const KvRows rows,
              check_kv_range(kOp, {position, first, limit, ring}, shape[0], capacity));
  MLXN_ASSIGN(args.scale_factor, tq_scale_factor(kOp, given_factor));
  MLXN_TRY(check_apart(kOp, codes, input, "input"));
  MLXN_TRY(check_apart(kOp, norms, input, "input"));
  MLXN_TRY(check_apart(kOp, codes, norms, "norms"));
  args.capacity = rows.capacity;
  args.dim = static_cast<uint32_t>(shape[2]);
  args.bits = bits;
  args.first_token = rows.first_token;
  args.first_row = rows.first_row;
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kOp));
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, input}, {1, codes}, {2, norms}, {3, as_bytes(args)}},
                           .grid = {args.heads, rows.count, 1},
                           .threadgroup = {32, 1, 1},
                           .kind = DispatchKind::kThreadgroups,
                           .declared = true,
                           .reads = {&input},
                           .writes = {&codes, &norms}});
}

}  // namespace mlxn
