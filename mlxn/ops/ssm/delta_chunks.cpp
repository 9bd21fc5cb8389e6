#include "mlxn/ops/ssm/delta_chunks.h"

#include <algorithm>
#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/common/validate.h"
#include "mlxn/ops/ssm/delta_net_check.h"

namespace mlxn {
namespace {

constexpr DeltaStage kStages[] = {
    DeltaStage::kLengths, DeltaStage::kDecays, DeltaStage::kProducts, DeltaStage::kInverses,
    DeltaStage::kUpdates, DeltaStage::kStates, DeltaStage::kOutput};

Result<DeltaNetArgs> args_of(const char* op, const DeltaNetParams& params, uint32_t size) {
  MLXN_ASSIGN(DeltaNetArgs args, check_delta_net(op, params));
  if (size != 16 && size != 32 && size != 64) {
    return Error(ErrorCode::kInvalidArgument,
                 str(op, ": chunks of ", size, " tokens, expected 16, 32 or 64"));
  }
  if (args.key_dim % 16 != 0) {
    return Error(ErrorCode::kOutOfRange,
                 str(op, ": keys of ", args.key_dim, " elements, expected a multiple of 16"));
  }
  args.chunk = size;
  args.chunks = (args.tokens - 1) / size + 1;
  MLXN_TRY(fits_32_bits(op, "chunks", uint64_t{args.chunks} * args.heads));
  return args;
}

// What a scratch consists of.
struct Part {
  const char* name;
  Buffer DeltaChunkScratch::* buffer;
  Shape shape;
};

std::vector<Part> parts_of(const DeltaNetArgs& a) {
  using S = DeltaChunkScratch;
  const uint64_t padded = uint64_t{a.chunks} * a.chunk;
  const uint64_t columns = (uint64_t{a.value_dim} + 31) / 32 * 32;
  return {{"lengths", &S::lengths, {2, a.sequences, a.tokens, a.key_heads}},
          {"decays", &S::decays, {a.sequences, padded, a.heads}},
          {"inverses", &S::inverses, {a.sequences, a.chunks, a.heads, a.chunk, a.chunk}},
          {"products", &S::products, {a.sequences, a.chunks, a.heads, a.chunk, a.chunk}},
          {"w", &S::w, {a.sequences, a.chunks, a.heads, a.chunk, a.key_dim}},
          {"u", &S::u, {a.sequences, a.chunks, a.heads, a.chunk, columns}},
          {"states", &S::states, {a.sequences, a.chunks, a.heads, a.key_dim, columns}}};
}

Status check_scratch(const char* op, const DeltaNetArgs& args, const DeltaNetParams& params,
                     const DeltaChunkScratch& scratch) {
  const std::pair<const char*, const Buffer&> arguments[] = {
      {"queries", params.queries}, {"keys", params.keys},          {"values", params.values},
      {"gate", params.gate},       {"beta", params.beta},          {"state", params.state},
      {"output", params.output},   {"new state", params.new_state}};
  const std::vector<Part> parts = parts_of(args);
  for (const Part& part : parts) {
    const Buffer& own = scratch.*part.buffer;
    MLXN_TRY(check_argument(own, ExpectedShape{op, part.name, Dtype::kF32, part.shape}));
    for (const auto& [name, argument] : arguments) {
      MLXN_TRY(check_apart(op, own, argument, name));
    }
    for (const Part& other : parts) {
      if (&other == &part) break;
      MLXN_TRY(check_apart(op, own, scratch.*other.buffer, other.name));
    }
  }
  return {};
}

// A stage's kernel, its grid and which of the buffers it reads and writes.
struct Plan {
  const char* stem;
  bool typed;  // has a kernel for each dtype of queries
  MTL::Size grid;
  std::vector<uint32_t> reads, writes;
  DispatchKind kind = DispatchKind::kThreadgroups;  // what the grid counts
};

Plan plan_of(DeltaStage stage, const DeltaNetArgs& a) {
  const uint32_t blocks = a.chunks * a.heads, sequences = a.sequences;
  const uint32_t key_groups = (a.key_dim + 31) / 32, groups = (a.value_dim + 31) / 32;
  switch (stage) {
    case DeltaStage::kLengths:
      return {"delta_lengths_", true, {a.tokens, a.key_heads, sequences}, {0, 1}, {8}};
    case DeltaStage::kDecays:
      return {"delta_decays_",       false, {a.heads, a.chunks, sequences}, {3}, {9},
              DispatchKind::kThreads};
    case DeltaStage::kProducts:
      return {"delta_products_", true, {2, blocks, sequences}, {0, 1, 4, 8, 9}, {10, 11}};
    case DeltaStage::kInverses:
      return {"delta_inverses_", false, {1, blocks, sequences}, {10}, {10}};
    case DeltaStage::kUpdates:
      return {"delta_updates_",
              true,
              {key_groups + groups, blocks, sequences},
              {1, 2, 4, 8, 9, 10},
              {12, 13}};
    case DeltaStage::kStates:
      return {
          "delta_states_", true, {groups, a.heads, sequences}, {1, 5, 8, 9, 12, 13}, {7, 13, 14}};
    case DeltaStage::kOutput: break;
  }
  return {"delta_output_", true, {groups, blocks, sequences}, {0, 8, 9, 11, 13, 14}, {6}};
}

Status run(ComputeEncoder& encoder, const Plan& plan, const Pipeline& pipeline,
           const DeltaNetArgs& args, const DeltaNetParams& p, const DeltaChunkScratch& s) {
  const Buffer* buffers[] = {&p.queries,  &p.keys,     &p.values,    &p.gate,    &p.beta,
                             &p.state,    &p.output,   &p.new_state, &s.lengths, &s.decays,
                             &s.inverses, &s.products, &s.w,         &s.u,       &s.states};
  std::vector<Binding> bindings = {{15, as_bytes(args)}};
  std::vector<const Buffer*> reads, writes;
  for (uint32_t slot : plan.reads) {
    bindings.push_back({slot, *buffers[slot]});
    reads.push_back(buffers[slot]);
  }
  for (uint32_t slot : plan.writes) {
    if (std::ranges::find(plan.reads, slot) == plan.reads.end()) {
      bindings.push_back({slot, *buffers[slot]});
    }
    writes.push_back(buffers[slot]);
  }
  return encoder.dispatch({.pipeline = pipeline,
                           .bindings = bindings,
                           .grid = plan.grid,
                           .threadgroup = {32, 1, 1},
                           .kind = plan.kind,
                           .declared = true,
                           .reads = reads,
                           .writes = writes});
}

Result<Pipeline> pipeline_of(const Device& device, const Plan& plan, Dtype dtype) {
  return builtin_pipeline(device, str(plan.stem, plan.typed ? to_string(dtype) : "f32"));
}

}  // namespace

Result<DeltaChunkScratch> DeltaChunkScratch::create(const Device& device,
                                                    const DeltaNetParams& params, uint32_t size) {
  MLXN_ASSIGN(const DeltaNetArgs args, args_of("delta_chunks", params, size));
  DeltaChunkScratch out;
  out.size = size;
  for (const Part& part : parts_of(args)) {
    MLXN_ASSIGN(out.*part.buffer, device.alloc_uninit(Dtype::kF32, part.shape));
  }
  return out;
}

Status delta_stage(ComputeEncoder& encoder, DeltaStage stage, const DeltaNetParams& params,
                   const DeltaChunkScratch& scratch) {
  constexpr const char* kOp = "delta_stage";
  MLXN_ASSIGN(const DeltaNetArgs args, args_of(kOp, params, scratch.size));
  MLXN_TRY(check_scratch(kOp, args, params, scratch));
  const Plan plan = plan_of(stage, args);
  MLXN_ASSIGN(const Pipeline pipeline, pipeline_of(encoder.device(), plan, params.queries.dtype()));
  return run(encoder, plan, pipeline, args, params, scratch);
}

Status delta_chunks(ComputeEncoder& encoder, const DeltaChunksParams& params) {
  constexpr const char* kOp = "delta_chunks";
  const auto& [net, chunk, scratch] = params;
  MLXN_ASSIGN(const DeltaNetArgs args, args_of(kOp, net, chunk));
  if (scratch && scratch->size != chunk) {
    return Error(ErrorCode::kInvalidArgument,
                 str(kOp, ": scratch for chunks of ", scratch->size, ", expected ", chunk));
  }
  DeltaChunkScratch made;
  if (scratch) {
    MLXN_TRY(check_scratch(kOp, args, net, *scratch));
  } else {
    MLXN_ASSIGN(made, DeltaChunkScratch::create(encoder.device(), net, chunk));
  }
  std::vector<std::pair<Plan, Pipeline>> stages;
  for (DeltaStage stage : kStages) {
    Plan plan = plan_of(stage, args);
    MLXN_ASSIGN(Pipeline pipeline, pipeline_of(encoder.device(), plan, net.queries.dtype()));
    stages.emplace_back(std::move(plan), std::move(pipeline));
  }
  // Before the first one as well: another call may have the scratch in use.
  for (const auto& [plan, pipeline] : stages) {
    MLXN_TRY(encoder.memory_barrier());
    MLXN_TRY(run(encoder, plan, pipeline, args, net, scratch ? *scratch : made));
  }
  return {};
}

}  // namespace mlxn
