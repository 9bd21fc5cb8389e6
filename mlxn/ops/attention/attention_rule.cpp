// Fusion of rounded attention with the rounding behind it.
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/attention/attention_args.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

struct RecordedAttention {
  Buffer queries, key_cache, value_cache, positions, sequences, output;
  AttentionArgs args;
};

// Rounded attention that writes floats.
std::optional<RecordedAttention> read_attention(const CapturedNode& node) {
  const auto args = recorded_args<AttentionArgs>(node, 6);
  if (node.op != OpKind::kSdpa || !args || !node.pipeline) return std::nullopt;
  if (!node.pipeline.name().starts_with("attention_rounded_") || args->tile != 0)
    return std::nullopt;
  if (args->dim % kRoundedBlock != 0) return std::nullopt;
  if (args->rows == 0 || args->kv_heads == 0 || args->heads % args->kv_heads != 0)
    return std::nullopt;
  const uint64_t rows = uint64_t{args->tokens} * (args->heads / args->kv_heads);
  if (!has_grid(node, DispatchKind::kThreadgroups, args->kv_heads,
                (rows + args->rows - 1) / args->rows))
    return std::nullopt;
  const Shape heads = {args->tokens, args->heads, args->dim},
              cache = {args->sequences, args->kv_heads, args->capacity, args->dim};
  const std::string_view name = node.pipeline.name();
  const Dtype dtype = name.ends_with("_q8_0") ? Dtype::kQ8_0 : Dtype::kF16;
  const auto queries = recorded_buffer(node, 0, Dtype::kF32, heads);
  const auto key_cache = recorded_buffer(node, 1, dtype, cache);
  const auto value_cache = recorded_buffer(node, 2, dtype, cache);
  const auto positions = recorded_buffer(node, 3, Dtype::kU32, {args->tokens});
  const auto sequences = recorded_buffer(node, 4, Dtype::kU32, {args->tokens});
  const auto output =
      recorded_buffer(node, 5, Dtype::kF32, {args->tokens, uint64_t{args->heads} * args->dim});
  if (!queries || !key_cache || !value_cache || !positions || !sequences || !output)
    return std::nullopt;
  return RecordedAttention{*queries,   *key_cache, *value_cache, *positions,
                           *sequences, *output,    *args};
}

std::optional<FusionMatch> match(const FusionSite& site) {
  const CapturedNode* producer = site.producer(0);
  const auto found = producer ? read_attention(*producer) : std::nullopt;
  const auto output = found ? recorded_rounding(site.last(), found->output) : std::nullopt;
  if (!output) return std::nullopt;
  return FusionMatch{{producer},
                     [found = *found, output = *output](ComputeEncoder& encoder) {
                       return attention(encoder, {.queries = found.queries,
                                                  .key_cache = found.key_cache,
                                                  .value_cache = found.value_cache,
                                                  .positions = found.positions,
                                                  .sequences = found.sequences,
                                                  .output = output,
                                                  .scale = found.args.scale,
                                                  .window = found.args.window,
                                                  .soft_cap = found.args.soft_cap,
                                                  .rounded = true});
                     },
                     producer->threadgroup};
}

}  // namespace

const FusionRule kAttentionQuantiseRule = {"attention + quantise_rows", OpKind::kQuantiseRows.name,
                                           match};

}  // namespace mlxn
