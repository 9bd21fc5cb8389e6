// How each op is called with the arguments of a case.
#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/sdpa.h"
#include "mlxn/ops/elementwise/unary.h"
#include "mlxn/ops/index/affine_embedding.h"
#include "mlxn/ops/index/gather.h"
#include "mlxn/ops/matmul/affine_matmul.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/matmul/matmul_id.h"
#include "mlxn/ops/norm/norm.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/ops/sample/argmax.h"
#include "mlxn/ops/sample/argsort.h"
#include "mlxn/ops/softmax/softmax.h"
#include "tests/oracle/oracle_case.h"

namespace mlxn::test {
namespace {

Status call_rms_norm(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weight, one.buffer("weight"));
  MLXN_ASSIGN(const double eps, one.number("eps"));
  return rms_norm(encoder, {input, weight, output, static_cast<float>(eps)});
}

Status call_softmax(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return softmax(encoder, {input, output});
}

Status call_argmax(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return argmax(encoder, {input, output});
}

Status call_matmul(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weights, one.buffer("weights"));
  return matmul(encoder, {.weights = weights, .input = input, .output = output});
}

Status call_layer_norm(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weight, one.buffer("weight"));
  MLXN_ASSIGN(const Buffer bias, one.buffer("bias"));
  MLXN_ASSIGN(const double eps, one.number("eps"));
  return norm(encoder, {.input = input,
                        .output = output,
                        .kind = NormKind::kLayer,
                        .eps = static_cast<float>(eps),
                        .weight = &weight,
                        .bias = &bias});
}

Status call_rope(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer positions, one.buffer("positions"));
  MLXN_ASSIGN(const double rotary, one.number("rotary"));
  MLXN_ASSIGN(const std::string pairs, one.text("pairs"));
  const Shape shape = {positions.element_count(), static_cast<uint64_t>(rotary) / 2, 2};
  MLXN_ASSIGN(const Buffer table, encoder.device().alloc(Dtype::kF32, shape));
  MLXN_TRY(rope_table(encoder, {.positions = positions, .output = table}));
  MLXN_TRY(encoder.memory_barrier());
  return rope(encoder, {.input = input,
                        .table = table,
                        .output = output,
                        .pairs = pairs == "adjacent" ? RopePairs::kAdjacent : RopePairs::kHalves});
}

Status call_sdpa(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer queries, one.buffer("queries"));
  MLXN_ASSIGN(const Buffer keys, one.buffer("keys"));
  MLXN_ASSIGN(const Buffer values, one.buffer("values"));
  MLXN_ASSIGN(const double causal, one.number("causal"));
  Buffer mask;
  if (one.has("mask")) {
    MLXN_ASSIGN(mask, one.buffer("mask"));
  }
  return sdpa(encoder, {.queries = queries,
                        .keys = keys,
                        .values = values,
                        .output = output,
                        .causal = causal != 0,
                        .mask = mask ? &mask : nullptr});
}

struct AffineWeights {
  Buffer codes, scales, biases;
  uint32_t bits, group;
};

Result<AffineWeights> affine_weights(const OracleCase& one) {
  MLXN_ASSIGN(Buffer codes, one.buffer("weights"));
  MLXN_ASSIGN(Buffer scales, one.buffer("scales"));
  MLXN_ASSIGN(Buffer biases, one.buffer("biases"));
  MLXN_ASSIGN(const double bits, one.number("bits"));
  MLXN_ASSIGN(const double group, one.number("group"));
  return AffineWeights{codes, scales, biases, static_cast<uint32_t>(bits),
                       static_cast<uint32_t>(group)};
}

Status call_affine_matmul(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const AffineWeights weights, affine_weights(one));
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return affine_matmul(encoder, {.weights = weights.codes,
                                 .scales = weights.scales,
                                 .biases = weights.biases,
                                 .input = input,
                                 .output = output,
                                 .bits = weights.bits,
                                 .group_size = weights.group});
}

Status call_affine_embedding(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const AffineWeights weights, affine_weights(one));
  MLXN_ASSIGN(const Buffer ids, one.buffer("ids"));
  return affine_embedding(encoder, {.table = weights.codes,
                                    .scales = weights.scales,
                                    .biases = weights.biases,
                                    .ids = ids,
                                    .output = output,
                                    .bits = weights.bits,
                                    .group = weights.group});
}

Status call_matmul_id(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const Buffer weights, one.buffer("weights"));
  MLXN_ASSIGN(const Buffer ids, one.buffer("ids"));
  return matmul_id(encoder, {.weights = weights, .input = input, .ids = ids, .output = output});
}

Status call_gather(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer source, one.buffer("source"));
  MLXN_ASSIGN(const Buffer indices, one.buffer("indices"));
  return gather(encoder, {source, indices, output});
}

Status call_unary(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  MLXN_ASSIGN(const std::string kind, one.text("kind"));
  static const std::map<std::string, UnaryKind> kKinds = {
      {"silu", UnaryKind::kSilu}, {"gelu_erf", UnaryKind::kGeluErf}, {"exp", UnaryKind::kExp},
      {"log", UnaryKind::kLog},   {"tanh", UnaryKind::kTanh},        {"sin", UnaryKind::kSin},
      {"cos", UnaryKind::kCos},   {"sqrt", UnaryKind::kSqrt},        {"rsqrt", UnaryKind::kRsqrt}};
  const auto found = kKinds.find(kind);
  if (found == kKinds.end()) return Error(ErrorCode::kUnsupported, str("no kind '", kind, "'"));
  return unary(encoder, {.input = input, .output = output, .kind = found->second});
}

Status call_argsort(ComputeEncoder& encoder, const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer input, one.buffer("input"));
  return argsort(encoder, {.input = input, .indices = output});
}

}  // namespace

const std::map<std::string, OracleOp>& oracle_ops() {
  static const std::map<std::string, OracleOp> ops = {{"rms_norm", call_rms_norm},
                                                      {"layer_norm", call_layer_norm},
                                                      {"rope", call_rope},
                                                      {"sdpa", call_sdpa},
                                                      {"affine_matmul", call_affine_matmul},
                                                      {"affine_embedding", call_affine_embedding},
                                                      {"matmul_id", call_matmul_id},
                                                      {"gather", call_gather},
                                                      {"unary", call_unary},
                                                      {"argsort", call_argsort},
                                                      {"softmax", call_softmax},
                                                      {"argmax", call_argmax},
                                                      {"matmul", call_matmul}};
  return ops;
}

}  // namespace mlxn::test
