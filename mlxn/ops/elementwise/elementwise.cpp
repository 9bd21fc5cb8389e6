#include "mlxn/ops/elementwise/elementwise.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/elementwise/elementwise_args.h"

namespace mlxn {
namespace {

struct Op {
  const char* name;
  OpKind kind;
};

Result<uint32_t> check(const char* op, const Buffer& a, const Buffer& b, const Buffer& output) {
  const uint64_t count = a ? a.element_count() : 0;
  MLXN_TRY(check_argument(a, {op, "a", a.dtype(), count}));
  MLXN_TRY(check_argument(b, {op, "b", a.dtype(), count}));
  MLXN_TRY(check_argument(output, {op, "output", a.dtype(), count}));
  MLXN_TRY(check_overlap(op, output, a, "a"));
  MLXN_TRY(check_overlap(op, output, b, "b"));
  if (count > UINT32_MAX) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": ", count, " elements, expected at most ", UINT32_MAX));
  }
  return static_cast<uint32_t>(count);
}

Status run(const Op& op, ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& a,
           const Buffer& b, const Buffer& output) {
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(op.name, a.dtype()));
  MLXN_ASSIGN(const uint32_t count, check(op.name, a, b, output));
  MLXN_ASSIGN(const Pipeline pipeline, registry.get_pipeline(kernel, encoder.device()));
  const ElementwiseArgs args = {count};
  encoder.set_op_kind(op.kind);
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, a}, {1, b}, {2, output}, {3, as_bytes(args)}},
                           .grid = {count, 1, 1},
                           .threadgroup = {std::min({256u, count, pipeline.max_threads()}), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&a, &b},
                           .writes = {&output}});
}

}  // namespace

Status elementwise_add(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& a,
                       const Buffer& b, const Buffer& output) {
  return run({"elementwise_add", OpKind::kElemAdd}, encoder, registry, a, b, output);
}

Status elementwise_mul(ComputeEncoder& encoder, KernelRegistry& registry, const Buffer& a,
                       const Buffer& b, const Buffer& output) {
  return run({"elementwise_mul", OpKind::kElemMul}, encoder, registry, a, b, output);
}

}  // namespace mlxn
