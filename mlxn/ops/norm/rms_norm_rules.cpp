// Fusion of a norm with what comes before or behind it.
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/elementwise/elementwise_args.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/norm/rms_norm_args.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

struct Norm {
  Buffer input, weight, output;
  float eps;
};

std::optional<Norm> read_norm(const CapturedNode& node) {
  const auto dtype = recorded_dtype(node, "rms_norm_");
  const auto args = recorded_args<RmsNormArgs>(node, 3);
  constexpr float kMostDim = 1 << 24;
  if (node.op != OpKind::kRmsNorm || !dtype || !args) return std::nullopt;
  if (!(args->dim >= 1 && args->dim <= kMostDim)) return std::nullopt;  // NaN as well
  const MTL::Size grid = node.grid;
  if (!has_grid(node, DispatchKind::kThreadgroups, grid.width)) return std::nullopt;
  const uint64_t dim = static_cast<uint64_t>(args->dim);
  const Shape shape = {grid.width, dim};
  const Dtype weight_dtype = *dtype == Dtype::kF16 ? Dtype::kF32 : *dtype;
  const auto input = recorded_buffer(node, 0, *dtype, shape);
  const auto weight = recorded_buffer(node, 1, weight_dtype, {dim});
  const auto output = recorded_buffer(node, 2, *dtype, shape);
  if (!input || !weight || !output) return std::nullopt;
  return Norm{*input, *weight, *output, args->eps};
}

struct Elementwise {
  Buffer a, b, output;
};

// An op over as many elements as `like` has, of its dtype.
std::optional<Elementwise> read_elementwise(const CapturedNode& node, const OpKind& op,
                                            std::string_view stem, const Buffer& like) {
  const auto args = recorded_args<ElementwiseArgs>(node, 3);
  if (node.op != op || recorded_dtype(node, stem) != like.dtype()) return std::nullopt;
  if (!args || args->count != like.element_count()) return std::nullopt;
  if (!has_grid(node, DispatchKind::kThreads, args->count)) return std::nullopt;
  const auto a = recorded_buffer(node, 0, like.dtype(), like.shape());
  const auto b = recorded_buffer(node, 1, like.dtype(), like.shape());
  const auto output = recorded_buffer(node, 2, like.dtype(), like.shape());
  if (!a || !b || !output) return std::nullopt;
  return Elementwise{*a, *b, *output};
}

std::optional<FusionMatch> match_norm_mul(const FusionSite& site) {
  for (const uint32_t slot : {0u, 1u}) {
    const CapturedNode* producer = site.producer(slot);
    const auto norm = producer ? read_norm(*producer) : std::nullopt;
    if (!norm) continue;
    const auto mul =
        read_elementwise(site.last(), OpKind::kElemMul, "elementwise_mul_", norm->output);
    if (!mul || !same_bytes(slot == 0 ? mul->a : mul->b, norm->output)) continue;
    const Buffer scale = slot == 0 ? mul->b : mul->a;
    if (same_bytes(scale, norm->output)) return std::nullopt;  // a square
    return FusionMatch{{producer},
                       [norm = *norm, scale, output = mul->output](ComputeEncoder& encoder) {
                         return rms_norm_mul(encoder,
                                             {{norm.input, norm.weight, output, norm.eps}, scale});
                       },
                       producer->threadgroup};
  }
  return std::nullopt;
}

std::optional<FusionMatch> match_add_norm(const FusionSite& site) {
  const auto norm = read_norm(site.last());
  const CapturedNode* producer = site.producer(0);
  if (!norm || !producer) return std::nullopt;
  const auto add = read_elementwise(*producer, OpKind::kElemAdd, "elementwise_add_", norm->input);
  if (!add || !same_bytes(add->output, norm->input)) return std::nullopt;
  return FusionMatch{{producer},
                     [norm = *norm, add = *add](ComputeEncoder& encoder) {
                       return add_rms_norm(encoder, {.a = add.a,
                                                     .b = add.b,
                                                     .sum = add.output,
                                                     .weight = norm.weight,
                                                     .output = norm.output,
                                                     .eps = norm.eps});
                     },
                     site.last().threadgroup};
}

}  // namespace

const FusionRule kRmsNormMulRule = {"rms_norm + mul", OpKind::kElemMul.name, match_norm_mul};
const FusionRule kAddRmsNormRule = {"add + rms_norm", OpKind::kRmsNorm.name, match_add_norm};

}  // namespace mlxn
