#include "mlxn/ops/activation/silu_mul.h"

#include <algorithm>

#include "mlxn/ops/activation/silu_mul_args.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "silu_mul";

Result<uint32_t> check(const SiluMulParams& params) {
  const auto& [gate, up, output] = params;
  MLXN_TRY(check_present(kOp, "gate", gate));
  const uint64_t count = gate.element_count();
  MLXN_TRY(check_argument(up, {kOp, "up", gate.dtype(), count}));
  MLXN_TRY(check_argument(output, {kOp, "output", gate.dtype(), count}));
  MLXN_TRY(check_overlap(kOp, output, gate, "gate"));
  MLXN_TRY(check_overlap(kOp, output, up, "up"));
  return fits_32_bits(kOp, "elements", count);
}

}  // namespace

Status silu_mul(ComputeEncoder& encoder, const SiluMulParams& params) {
  const auto& [gate, up, output] = params;
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(kOp, gate.dtype()));
  MLXN_ASSIGN(const uint32_t count, check(params));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const SiluMulArgs args = {count};
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, gate}, {1, up}, {2, output}, {3, as_bytes(args)}},
                           .grid = {count, 1, 1},
                           .threadgroup = {std::min({256u, count, pipeline.max_threads()}), 1, 1},
                           .kind = DispatchKind::kThreads,
                           .declared = true,
                           .reads = {&gate, &up},
                           .writes = {&output},
                           .op = OpKind::kSiluMul});
}

}  // namespace mlxn
