#include "mlxn/ops/kv/rope_kv_write.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/kv/kv_cache_check.h"
#include "mlxn/ops/kv/rope_kv_write_args.h"
#include "mlxn/ops/op_kind.h"
#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_check.h"

namespace mlxn {
namespace {

constexpr const char* kOp = "rope_kv_write";

struct RecordedRope {
  Buffer input, table, output;
  RopePairs pairs;
};

std::optional<RecordedRope> read_rope(const CapturedNode& node) {
  const bool adjacent = recorded_dtype(node, "rope_adjacent_") == Dtype::kF32;
  if (!adjacent && recorded_dtype(node, "rope_halves_") != Dtype::kF32) return std::nullopt;
  const auto args = recorded_args<RopeArgs>(node, 3);
  if (!args || node.grid.height != args->heads || node.grid.width != args->dim / 2 ||
      args->dim % 2 != 0 || args->pairs > args->dim / 2 || node.kind != DispatchKind::kThreads) {
    return std::nullopt;
  }
  const Shape shape = {node.grid.depth, args->heads, args->dim};
  const auto input = recorded_buffer(node, 0, Dtype::kF32, shape);
  const auto table =
      recorded_buffer(node, 1, Dtype::kF32, {node.grid.depth, args->pairs, uint64_t{2}});
  const auto output = recorded_buffer(node, 2, Dtype::kF32, shape);
  if (!input || !table || !output) return std::nullopt;
  return RecordedRope{*input, *table, *output,
                      adjacent ? RopePairs::kAdjacent : RopePairs::kHalves};
}

struct RecordedWrite {
  Buffer keys, values, positions, sequences, key_cache, value_cache;
};

std::optional<RecordedWrite> read_write(const CapturedNode& node) {
  const auto dtype = recorded_dtype(node, "kv_write_");
  const auto args = recorded_args<KvWriteArgs>(node, 6);
  if (node.op != OpKind::kKvWrite || !dtype || !args) return std::nullopt;
  if (!info(*dtype).is_float) return std::nullopt;
  const uint64_t tokens = node.grid.height;
  if (!has_grid(node, DispatchKind::kThreadgroups, args->heads, tokens)) return std::nullopt;
  const Shape rows = {tokens, args->heads, args->dim},
              cache = {args->sequences, args->heads, args->capacity, args->dim};
  const auto keys = recorded_buffer(node, 0, Dtype::kF32, rows);
  const auto values = recorded_buffer(node, 1, Dtype::kF32, rows);
  const auto positions = recorded_buffer(node, 2, Dtype::kU32, {tokens});
  const auto sequences = recorded_buffer(node, 3, Dtype::kU32, {tokens});
  const auto key_cache = recorded_buffer(node, 4, *dtype, cache);
  const auto value_cache = recorded_buffer(node, 5, *dtype, cache);
  if (!keys || !values || !positions || !sequences || !key_cache || !value_cache)
    return std::nullopt;
  return RecordedWrite{*keys, *values, *positions, *sequences, *key_cache, *value_cache};
}

std::optional<FusionMatch> match(const FusionSite& site) {
  const CapturedNode* producer = site.producer(0);
  const auto turn = producer ? read_rope(*producer) : std::nullopt;
  const auto write = turn ? read_write(site.last()) : std::nullopt;
  if (!write || !same_bytes(turn->output, write->keys)) return std::nullopt;
  if (turn->output.shape() != write->keys.shape()) return std::nullopt;
  return FusionMatch{{producer},
                     [turn = *turn, write = *write](ComputeEncoder& encoder) {
                       return rope_kv_write(
                           encoder, {.write = {turn.input, write.values, write.positions,
                                               write.sequences, write.key_cache, write.value_cache},
                                     .table = turn.table,
                                     .pairs = turn.pairs});
                     },
                     site.last().threadgroup};
}

}  // namespace

Status rope_kv_write(ComputeEncoder& encoder, const RopeKvWriteParams& params) {
  const auto& [keys, values, positions, sequences, key_cache, value_cache] = params.write;
  MLXN_ASSIGN(const KvWriteSizes sizes, check_kv_write(kOp, params.write));
  MLXN_ASSIGN(const RopeSizes rope, check_rope(kOp, keys, params.table));
  MLXN_TRY(check_apart(kOp, key_cache, params.table, "table"));
  MLXN_TRY(check_apart(kOp, value_cache, params.table, "table"));
  const std::string stem = str(kOp, params.pairs == RopePairs::kAdjacent ? "_adjacent" : "_halves");
  MLXN_ASSIGN(const std::string kernel, float_kernel_name(stem, key_cache.dtype()));
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), kernel));
  const RopeKvWriteArgs args = {sizes.args, rope.pairs};
  return dispatch_kv_write(encoder, sizes,
                           {.pipeline = pipeline,
                            .bindings = {{0, keys},
                                         {1, values},
                                         {2, params.table},
                                         {3, positions},
                                         {4, sequences},
                                         {5, key_cache},
                                         {6, value_cache},
                                         {7, as_bytes(args)}},
                            .reads = {&keys, &values, &params.table, &positions, &sequences},
                            .writes = {&key_cache, &value_cache}});
}

const FusionRule kRopeKvWriteRule = {"rope + kv_write", OpKind::kKvWrite.name, match};

}  // namespace mlxn
