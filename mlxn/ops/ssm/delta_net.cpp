#include "mlxn/ops/ssm/delta_net.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/ssm/delta_net_check.h"

namespace mlxn {
namespace {

Status check_dims(std::string_view op, const Buffer& buffer, std::string_view name) {
  MLXN_TRY(check_present(op, name, buffer));
  if (buffer.shape().size() != 4) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": ", name, " has shape ", buffer.shape().to_string(),
                     ", expected [sequences, tokens, heads, dim]"));
  }
  for (uint64_t size : buffer.shape()) MLXN_TRY(fits_32_bits(op, "elements of a dimension", size));
  return {};
}

Status check_memory(std::string_view op, const DeltaNetParams& p) {
  for (const auto& [input, name] : {std::pair(&p.queries, "queries"),
                                    {&p.keys, "keys"},
                                    {&p.values, "values"},
                                    {&p.gate, "gate"},
                                    {&p.beta, "beta"}}) {
    MLXN_TRY(check_apart(op, p.output, *input, name));
    MLXN_TRY(check_apart(op, p.new_state, *input, name));
  }
  MLXN_TRY(check_apart(op, p.output, p.state, "state"));
  MLXN_TRY(check_apart(op, p.output, p.new_state, "new state"));
  return check_overlap(op, p.new_state, p.state, "state");
}

Status check_numbers(std::string_view op, const DeltaNetArgs& args) {
  if (args.heads % args.key_heads != 0) {
    return Error(ErrorCode::kShapeMismatch, str(op, ": ", args.heads, " heads of values and ",
                                                args.key_heads, " of keys, expected a multiple"));
  }
  if (args.key_dim > kDeltaMostKeyDim) {
    return Error(ErrorCode::kOutOfRange, str(op, ": keys of ", args.key_dim,
                                             " elements, expected at most ", kDeltaMostKeyDim));
  }
  if (std::isfinite(args.scale)) return {};
  return Error(ErrorCode::kInvalidArgument,
               str(op, ": scale ", args.scale, ", expected a finite number"));
}

}  // namespace

Result<DeltaNetArgs> check_delta_net(std::string_view op, const DeltaNetParams& p) {
  MLXN_TRY(check_dims(op, p.queries, "queries"));
  MLXN_TRY(check_dims(op, p.values, "values"));
  const Shape &keys = p.queries.shape(), &values = p.values.shape();
  const Dtype dtype = p.queries.dtype();
  if (dtype != Dtype::kF32 && dtype != Dtype::kBf16) {
    return Error(ErrorCode::kDtypeMismatch,
                 str(op, ": queries is ", to_string(dtype), ", expected f32 or bf16"));
  }
  const Shape gates = {keys[0], keys[1], values[2]};
  const Shape state = {keys[0], values[2], values[3], keys[3]};
  const Shape rows = {keys[0], keys[1], values[2], values[3]};
  MLXN_TRY(check_argument(p.keys, ExpectedShape{op, "keys", dtype, keys}));
  MLXN_TRY(check_argument(p.values, ExpectedShape{op, "values", dtype, rows}));
  MLXN_TRY(check_argument(p.gate, ExpectedShape{op, "gate", Dtype::kF32, gates}));
  MLXN_TRY(check_argument(p.beta, ExpectedShape{op, "beta", Dtype::kF32, gates}));
  MLXN_TRY(check_argument(p.state, ExpectedShape{op, "state", Dtype::kF32, state}));
  MLXN_TRY(check_argument(p.new_state, ExpectedShape{op, "new state", Dtype::kF32, state}));
  MLXN_TRY(check_argument(p.output, ExpectedShape{op, "output", dtype, rows}));
  MLXN_TRY(check_memory(op, p));
  const DeltaNetArgs args = {.sequences = static_cast<uint32_t>(keys[0]),
                             .tokens = static_cast<uint32_t>(keys[1]),
                             .key_heads = static_cast<uint32_t>(keys[2]),
                             .key_dim = static_cast<uint32_t>(keys[3]),
                             .heads = static_cast<uint32_t>(values[2]),
                             .value_dim = static_cast<uint32_t>(values[3]),
                             .tiled = p.head_map == DeltaHeads::kTiled ? 1u : 0u,
                             .normalise = p.normalise ? 1u : 0u,
                             .gate_sign = p.gate_kind == DeltaGate::kDecay ? -1.0f : 1.0f,
                             .scale = p.scale,
                             .chunk = 0,
                             .chunks = 0};
  MLXN_TRY(check_numbers(op, args));
  return args;
}

namespace {

constexpr const char* kOp = "delta_net";

// Rows in turned order pay where reading and writing the state is little beside the tokens, and
// need a state that threadgroup memory holds.
bool takes_rows(const DeltaNetArgs& args) {
  return args.tokens >= 8 && args.key_dim <= kDeltaLongKeyDim && args.key_dim % 8 == 0;
}

}  // namespace

Status delta_net(ComputeEncoder& encoder, const DeltaNetParams& p) {
  MLXN_ASSIGN(const DeltaNetArgs args, check_delta_net(kOp, p));
  const bool rows = takes_rows(args);
  const std::string kernel = str(kOp, rows ? "_rows_" : "_steps_", to_string(p.queries.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const ThreadgroupMemory memory = {0, args.key_dim * 32 * sizeof(float)};
  const uint32_t step = rows ? 32 : kDeltaRows;
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = {{0, p.queries},
                                        {1, p.keys},
                                        {2, p.values},
                                        {3, p.gate},
                                        {4, p.beta},
                                        {5, p.state},
                                        {6, p.output},
                                        {7, p.new_state},
                                        {8, as_bytes(args)}},
                           .grid = {(args.value_dim - 1) / step + 1, args.heads, args.sequences},
                           .threadgroup = {32, 1, 1},
                           .threadgroup_memory = {&memory, rows ? 1u : 0u},
                           .declared = true,
                           .reads = {&p.queries, &p.keys, &p.values, &p.gate, &p.beta, &p.state},
                           .writes = {&p.output, &p.new_state}});
}

}  // namespace mlxn
