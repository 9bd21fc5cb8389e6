#include "mlxn/ops/common/elements.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/common/validate.h"

namespace mlxn {

Status dispatch_elements(ComputeEncoder& encoder, uint32_t count, Dispatch dispatch) {
  dispatch.grid = {count, 1, 1};
  dispatch.threadgroup = {std::min({256u, count, dispatch.pipeline.max_threads()}), 1, 1};
  dispatch.kind = DispatchKind::kThreads;
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

Status dispatch_runs(ComputeEncoder& encoder, const Runs& runs, Dispatch dispatch) {
  // A processor gets few threads with long runs: the round that not all threads have is short.
  const bool is_processor = encoder.device().limits().is_processor;
  const uint32_t wanted = std::min(256u, dispatch.pipeline.max_threads());
  const uint32_t threads = is_processor || runs.count < wanted ? 32 : wanted;
  const uint64_t each = uint64_t{threads} * runs.run;
  dispatch.grid = {(runs.count + each - 1) / each, runs.rows, 1};
  dispatch.threadgroup = {threads, 1, 1};
  dispatch.kind = DispatchKind::kThreadgroups;
  dispatch.declared = true;
  return encoder.dispatch(dispatch);
}

uint32_t run_of(const ComputeEncoder& encoder, uint64_t elements) {
  if (encoder.device().limits().is_processor) return 64;
  return elements < (1u << 20) ? 1 : 4;
}

Status check_overlaps(std::string_view op, const Buffer& output, ArrayRef<NamedBuffer> inputs) {
  for (const NamedBuffer& input : inputs) {
    if (input.buffer != nullptr) MLXN_TRY(check_overlap(op, output, *input.buffer, input.name));
  }
  return {};
}

Status check_aparts(std::string_view op, const Buffer& output, ArrayRef<NamedBuffer> inputs) {
  for (const NamedBuffer& input : inputs) {
    if (input.buffer != nullptr) MLXN_TRY(check_apart(op, output, *input.buffer, input.name));
  }
  return {};
}

Status check_arguments(std::string_view op, ArrayRef<NamedBuffer> arguments, Dtype dtype,
                       uint64_t elements) {
  for (const NamedBuffer& argument : arguments) {
    if (argument.buffer == nullptr) continue;
    MLXN_TRY(check_argument(*argument.buffer, Expected{op, argument.name, dtype, elements}));
  }
  return {};
}

Status check_number(double value, const ExpectedNumber& expected) {
  if (std::isfinite(value) && value >= expected.least) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(expected.op, ": ", expected.name, " is ", value, ", expected a number from ",
                   expected.least, " up"));
}

}  // namespace mlxn
