// Fusion of two products of the same rows with the activation behind them.
#include "mlxn/base/strings.h"
#include "mlxn/ops/activation/silu_mul_args.h"
#include "mlxn/ops/common/recorded.h"
#include "mlxn/ops/matmul/matmul_silu_mul.h"
#include "mlxn/ops/matmul/product.h"
#include "mlxn/ops/op_kind.h"

namespace mlxn {
namespace {

struct Product {
  Buffer weights, input, output;
};

std::optional<Product> read_product(const CapturedNode& node) {
  const auto args = recorded_args<MatmulArgs>(node, 3);
  if (node.op != OpKind::kMatmul || !args || !node.pipeline) return std::nullopt;
  const std::string_view name = node.pipeline.name();
  const auto format = recorded_dtype(node, name.substr(0, sizeof("matmul_1_") - 1));
  if (!format) return std::nullopt;
  const auto expected = product_kernel_name("matmul", args->rows, *format);
  if (!expected || *expected != name) return std::nullopt;
  const auto weights = recorded_buffer(node, 0, *format, {args->columns, args->depth});
  const auto input = recorded_buffer(node, 1, Dtype::kF32, {args->rows, args->depth});
  const auto output = recorded_buffer(node, 2, Dtype::kF32, {args->rows, args->columns});
  if (!weights || !input || !output) return std::nullopt;
  return Product{*weights, *input, *output};
}

// The output of an activation over as many elements as `like` has.
std::optional<Buffer> read_activation(const CapturedNode& node, const Buffer& like) {
  const auto args = recorded_args<SiluMulArgs>(node, 3);
  if (recorded_dtype(node, "silu_mul_") != Dtype::kF32 || !args) return std::nullopt;
  if (args->count != like.element_count()) return std::nullopt;
  if (!has_grid(node, DispatchKind::kThreads, args->count)) return std::nullopt;
  return recorded_buffer(node, 2, Dtype::kF32, like.shape());
}

std::optional<FusionMatch> match(const FusionSite& site) {
  const CapturedNode *gate_node = site.producer(0), *up_node = site.producer(1);
  if (!gate_node || !up_node) return std::nullopt;
  const auto gate = read_product(*gate_node), up = read_product(*up_node);
  if (!gate || !up || !same_bytes(gate->input, up->input)) return std::nullopt;
  const auto output = read_activation(site.last(), gate->output);
  const auto first = recorded_buffer(site.last(), 0, Dtype::kF32, gate->output.shape());
  const auto second = recorded_buffer(site.last(), 1, Dtype::kF32, gate->output.shape());
  if (!output || !first || !second) return std::nullopt;
  if (!same_bytes(*first, gate->output) || !same_bytes(*second, up->output)) return std::nullopt;
  if (gate_node->grid.width != up_node->grid.width) return std::nullopt;
  return FusionMatch{{gate_node, up_node},
                     [gate = *gate, up = *up, output = *output](ComputeEncoder& encoder) {
                       return matmul_silu_mul(encoder,
                                              {gate.weights, up.weights, gate.input, output});
                     },
                     gate_node->threadgroup};
}

}  // namespace

const FusionRule kMatmulSiluMulRule = {"matmul x 2 + silu_mul", OpKind::kSiluMul.name, match};

}  // namespace mlxn
