#include "mlxn/ops/matmul/slab_matmul.h"

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/float_type.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/matmul/slab_order_args.h"

namespace mlxn {
namespace {

// With an order, rows of one slab lie side by side, and its weights are read once for eight of
// them. That pays where slabs have more than one row as a rule: eight rows cost as much as two or
// three.
uint32_t rows_at_once(const SlabMatmulArgs& args, bool has_scratch) {
  if (args.rows_of_slab != 0) return args.rows_of_slab == 1 ? 1 : kSlabRows;
  return has_scratch && args.rows > 2 * uint64_t{args.slabs} ? kSlabRows : 1;
}

uint64_t groups(uint64_t count, uint64_t each) {
  return (count + each - 1) / each;
}

Status order_rows(ComputeEncoder& encoder, const SlabMatmulArgs& args, const SlabTensors& tensors) {
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), "slab_order"));
  const SlabOrderArgs order = {args.rows, args.slabs};
  MLXN_TRY(encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = {{0, *tensors.ids}, {1, *tensors.scratch}, {2, as_bytes(order)}},
       .grid = {groups(uint64_t{args.slabs} + 1, kSlabOrderThreads), 1, 1},
       .threadgroup = {kSlabOrderThreads, 1, 1},
       .kind = DispatchKind::kThreadgroups,
       .declared = true,
       .reads = {tensors.ids},
       .writes = {tensors.scratch}}));
  return encoder.memory_barrier();
}

}  // namespace

Status check_routing(std::string_view op, const SlabRouting& routing, SlabMatmulArgs& args) {
  MLXN_TRY(check_present(op, "ids", routing.ids));
  MLXN_TRY(check_present(op, "input", routing.input));
  const Shape &ids = routing.ids.shape(), &input = routing.input.shape();
  if (ids.size() != 2) {
    return Error(ErrorCode::kShapeMismatch,
                 str(op, ": ids has shape ", ids.to_string(), ", expected [tokens, slots]"));
  }
  MLXN_TRY(check_argument(routing.ids, ExpectedShape{op, "ids", Dtype::kU32, ids}));
  const bool own_rows = input.size() == 3;
  const Shape expected = own_rows ? Shape{ids[0], ids[1], args.depth} : Shape{ids[0], args.depth};
  MLXN_ASSIGN(args.input_type, float_type(op, "input", routing.input.dtype()));
  MLXN_TRY(
      check_argument(routing.input, ExpectedShape{op, "input", routing.input.dtype(), expected}));
  if (routing.up) {
    MLXN_TRY(check_argument(*routing.up, ExpectedShape{op, "up", routing.input.dtype(), expected}));
  }
  MLXN_TRY(check_present(op, "output", routing.output));
  MLXN_ASSIGN(args.output_type, float_type(op, "output", routing.output.dtype()));
  MLXN_TRY(check_argument(
      routing.output,
      ExpectedShape{op, "output", routing.output.dtype(), {ids[0], ids[1], args.columns}}));
  if (routing.scratch) {
    MLXN_TRY(check_argument(*routing.scratch, ExpectedShape{op, "scratch", Dtype::kU32, ids}));
  }
  MLXN_ASSIGN(const uint64_t rows, checked_mul<uint64_t>(ids[0], ids[1]));
  MLXN_ASSIGN(args.rows, fits_32_bits(op, "tokens times slots", rows));
  args.rows_of_slab = 0;
  args.share = own_rows ? 1 : static_cast<uint32_t>(ids[1]);
  args.batch_rows = args.rows / args.share;
  args.head_dim = args.depth;
  args.gated = routing.up ? 1 : 0;
  return {};
}

Status check_slab_memory(std::string_view op, const SlabTensors& tensors,
                         const std::vector<const Buffer*>& weights) {
  std::vector<std::pair<const Buffer*, const char*>> inputs = {
      {&tensors.input, "input"}, {tensors.up, "up"}, {tensors.ids, "ids"}, {tensors.bias, "bias"}};
  const char* const names[] = {"weights", "scales", "biases"};
  for (size_t i = 0; i < weights.size(); ++i) inputs.emplace_back(weights[i], names[i]);
  for (const auto& [input, name] : inputs) {
    if (!input) continue;
    MLXN_TRY(check_apart(op, tensors.output, *input, name));
    if (tensors.scratch) MLXN_TRY(check_apart(op, *tensors.scratch, *input, name));
  }
  if (tensors.scratch) return check_apart(op, tensors.output, *tensors.scratch, "scratch");
  return {};
}

Status dispatch_slab_matmul(ComputeEncoder& encoder, SlabMatmulArgs args,
                            const SlabTensors& tensors, const SlabWeights& weights) {
  const uint32_t at_once = rows_at_once(args, tensors.scratch != nullptr);
  const std::string name = str(weights.kernel, "_", at_once, "_", weights.format);
  MLXN_ASSIGN(const Pipeline pipeline, builtin_pipeline(encoder.device(), name));
  args.ordered = args.rows_of_slab == 0 && at_once > 1 ? 1 : 0;
  if (args.ordered != 0) MLXN_TRY(order_rows(encoder, args, tensors));
  const auto given = [&](const Buffer* buffer) { return buffer ? buffer : &tensors.input; };
  const Buffer* order = args.ordered != 0 ? tensors.scratch : nullptr;
  std::vector<Binding> bindings = {
      {0, tensors.input},       {1, given(tensors.up)}, {2, given(tensors.ids)}, {3, given(order)},
      {4, given(tensors.bias)}, {5, tensors.output},    {6, as_bytes(args)}};
  std::vector<const Buffer*> reads = {&tensors.input};
  for (const Buffer* one : {tensors.up, tensors.ids, order, tensors.bias}) {
    if (one) reads.push_back(one);
  }
  for (const Buffer* one : weights.buffers) {
    bindings.push_back({static_cast<uint32_t>(bindings.size()), *one});
    reads.push_back(one);
  }
  const Buffer* writes[] = {&tensors.output};
  return encoder.dispatch(
      {.pipeline = pipeline,
       .bindings = bindings,
       .grid = {groups(args.columns, weights.columns_of_group), groups(args.rows, at_once), 1},
       .threadgroup = {kSlabLanes * kSlabColumns, 1, 1},
       .kind = DispatchKind::kThreadgroups,
       .declared = true,
       .reads = reads,
       .writes = writes});
}

}  // namespace mlxn
