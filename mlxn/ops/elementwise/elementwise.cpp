#include "mlxn/ops/elementwise/elementwise.h"

#include <algorithm>

#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/elementwise_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

struct Op {
  const char* name;
  OpKind kind;
};

Result<uint32_t> check(const char* op, const ElementwiseParams& params) {
  const auto& [a, b, output] = params;
  const uint64_t count = a ? a.element_count() : 0;
  MLXN_TRY(check_argument(a, {op, "a", a.dtype(), count}));
  MLXN_TRY(check_argument(b, {op, "b", a.dtype(), count}));
  MLXN_TRY(check_argument(output, {op, "output", a.dtype(), count}));
  MLXN_TRY(check_overlap(op, output, a, "a"));
  MLXN_TRY(check_overlap(op, output, b, "b"));
  return fits_32_bits(op, "elements", count);
}

Status run(const Op& op, ComputeEncoder& encoder, const ElementwiseParams& params) {
  const auto& [a, b, output] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(op.name, a.dtype()));
  MLXN_ASSIGN(const uint32_t count, check(op.name, params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const ElementwiseArgs args = {count};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, a}, {1, b}, {2, output}, {3, as_bytes(args)}},
                           .grid = {count, 1, 1},
                           .threadgroup = {std::min({256u, count, pipeline.max_threads()}), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&a, &b},
                           .writes = {&output},
                           .op = op.kind});
}

}  // namespace

Status elementwise_add(ComputeEncoder& encoder, const ElementwiseParams& params) {
  return run({"elementwise_add", OpKind::kElemAdd}, encoder, params);
}

Status elementwise_mul(ComputeEncoder& encoder, const ElementwiseParams& params) {
  return run({"elementwise_mul", OpKind::kElemMul}, encoder, params);
}

}  // namespace mlxn
