#include "mlxn/ops/turboquant/tq_decode.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_range.h"
#include "mlxn/ops/turboquant/tq_args.h"
#include "mlxn/ops/turboquant/tq_cache.h"

namespace mlxn {

Status tq_decode(ComputeEncoder& encoder, const TqDecodeParams& params) {
  constexpr const char* kOp = "tq_decode";
  const auto& [codes, norms, output, bits, position, ring, given_factor] = params;
  MLXN_TRY(check_present(kOp, "output", output));
  const Shape& shape = output.shape();
  if (shape.size() != 3) {
    return Error(ErrorCode::kShapeMismatch, str(kOp, ": output has shape ", shape.to_string(),
                                                ", expected [tokens, heads, dim]"));
  }
  MLXN_TRY(check_argument(output, ExpectedShape{kOp, "output", Dtype::kF32, shape}));
  TqArgs args = {};
  MLXN_ASSIGN(args.heads, fits_32_bits(kOp, "heads", shape[1]));
  MLXN_ASSIGN(const uint64_t capacity,
              check_tq_cache(kOp, "", {codes, norms, bits, shape[2]}, shape[1]));
  MLXN_ASSIGN(const KvRows rows, check_kv_range(kOp, {position, 0, 0, ring}, shape[0], capacity));
  MLXN_ASSIGN(args.scale_factor, tq_scale_factor(kOp, given_factor));
  MLXN_TRY(check_apart(kOp, output, codes, "codes"));
  MLXN_TRY(check_apart(kOp, output, norms, "norms"));
  args.capacity = rows.capacity;
  args.dim = static_cast<uint32_t>(shape[2]);
  args.bits = bits;
  args.first_row = rows.first_row;
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kOp));
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, codes}, {1, norms}, {2, output}, {3, as_bytes(args)}},
                           .grid = {args.dim, args.heads, rows.count},
                           .threadgroup = {64, 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&codes, &norms},
                           .writes = {&output}});
}

}  // namespace mlxn
