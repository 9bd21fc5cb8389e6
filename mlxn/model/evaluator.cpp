#include "mlxn/model/evaluator.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/ops/fusion_rules.h"
#include "mlxn/ops/matmul/matmul.h"

namespace mlxn::model {
namespace {

// The first elements of a buffer.
Buffer head(const Buffer& buffer, const Shape& shape, uint64_t bytes) {
  return Buffer(buffer.storage(), 0, bytes, buffer.dtype(), shape);
}

Status copy(std::span<const uint32_t> values, Buffer& buffer) {
  MLXN_ASSIGN(const std::span<uint32_t> to, buffer.as_mut_slice<uint32_t>());
  std::ranges::copy(values, to.begin());
  return {};
}

// Submits a stage and opens the next one. Of those submitted at most the last is still running.
Status next_stage(EncoderSession& session) {
  MLXN_TRY(session.fence_stage());
  if (session.fence_value() > 1) MLXN_TRY(session.wait_for_fence(session.fence_value() - 1));
  return session.reset_for_next_stage();
}

}  // namespace

void Evaluator::Pass::add(uint32_t sequence, uint64_t position, int32_t token) {
  tokens.push_back(static_cast<uint32_t>(token));
  positions.push_back(static_cast<uint32_t>(position));
  sequences.push_back(sequence);
}

Evaluator::Evaluator(std::shared_ptr<const Model> model, const EvaluatorOptions& options,
                     std::unique_ptr<State> state)
    : model_(std::move(model)),
      options_(options),
      state_(std::move(state)),
      scratch_(model_->device(), {.mode = StorageMode::kPrivate}),
      sequences_(options.sequences) {}

Result<Evaluator> Evaluator::create(std::shared_ptr<const Model> model, EvaluatorOptions options) {
  const ModelShape& shape = model->shape();
  if (options.context == 0) options.context = shape.context;
  if (options.outputs == 0) options.outputs = options.sequences;
  if (options.sequences == 0 || options.chunk == 0 || options.chunk < options.outputs) {
    return Error(ErrorCode::kInvalidArgument,
                 str(options.sequences, " sequences and passes of ", options.chunk, " tokens with ",
                     options.outputs,
                     " outputs, expected at least one of each and no more outputs "
                     "than tokens"));
  }
  constexpr uint64_t kMostPositions = uint64_t{1} << 31;
  if (options.context == 0 || options.context > kMostPositions) {
    return Error(ErrorCode::kOutOfRange,
                 str("a context of ", options.context, " tokens, expected 1 to ", kMostPositions));
  }
  options.chunk = static_cast<uint32_t>(std::min<uint64_t>(options.chunk, options.context));
  options.outputs = std::min(options.outputs, std::max(options.chunk, options.sequences));
  MLXN_ASSIGN(auto state,
              model->architecture().create_state(model->device(), {.context = options.context,
                                                                   .sequences = options.sequences,
                                                                   .cache = options.cache}));
  Evaluator evaluator(std::move(model), options, std::move(state));
  MLXN_TRY(evaluator.allocate());
  return evaluator;
}

Status Evaluator::allocate() {
  const uint64_t rows = std::max(options_.chunk, options_.sequences);
  for (Inputs& inputs : inputs_) {
    for (Buffer* buffer : {&inputs.tokens, &inputs.positions, &inputs.sequences, &inputs.outputs}) {
      MLXN_ASSIGN(*buffer, model_->device().alloc(Dtype::kU32, {rows}));
    }
  }
  // Room for all: a token more is no allocation.
  for (std::vector<int32_t>& known : sequences_) known.reserve(options_.context);
  MLXN_ASSIGN(logits_,
              model_->device().alloc(Dtype::kF32, {options_.outputs, model_->shape().vocabulary}));
  return {};
}

uint64_t Evaluator::scratch_bytes() const {
  const PoolStats pool = scratch_.stats();
  const uint64_t inputs = inputs_.size() * 4 * inputs_[0].tokens.byte_len();
  return pool.in_use_bytes + pool.free_bytes + logits_.byte_len() + inputs;
}

Status Evaluator::check(uint32_t sequence, std::span<const int32_t> tokens) const {
  if (sequence >= sequences_.size()) {
    return Error(ErrorCode::kOutOfRange,
                 str("sequence ", sequence, ", expected less than ", sequences_.size()));
  }
  const uint64_t used = sequences_[sequence].size();
  if (tokens.size() > options_.context - used) {
    return Error(ErrorCode::kOutOfRange,
                 str("the context is full: ", used, " tokens and ", tokens.size(),
                     " more, expected at most ", options_.context));
  }
  for (int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= model_->shape().vocabulary) {
      return Error(ErrorCode::kOutOfRange,
                   str("token ", token, ", expected 0 to ", model_->shape().vocabulary - 1));
    }
  }
  return {};
}

Result<std::span<const float>> Evaluator::append(uint32_t sequence, std::span<const int32_t> tokens,
                                                 const AppendEvents& events) {
  if (tokens.empty()) return Error(ErrorCode::kInvalidArgument, "no tokens, expected at least one");
  MLXN_TRY(check(sequence, tokens));
  std::vector<int32_t>& known = sequences_[sequence];
  RecycledVector<Pass> passes;
  for (uint64_t i = 0; i < tokens.size(); ++i) {
    if (i % options_.chunk == 0) passes.emplace_back();
    passes.back().add(sequence, known.size() + i, tokens[i]);
  }
  passes.back().outputs = {static_cast<uint32_t>(passes.back().tokens.size() - 1)};
  const uint64_t before = known.size();
  uint64_t evaluated = 0;
  const Status status = run(passes, events, evaluated);
  const bool keeps = status || status.error().code() == ErrorCode::kCancelled;
  if (keeps) known.insert(known.end(), tokens.begin(), tokens.begin() + ptrdiff_t(evaluated));
  if (!status) {
    forget(sequence, before + tokens.size(), known.size());
    return status.error();
  }
  return logits(1);
}

Status Evaluator::append_each(uint32_t sequence, std::span<const int32_t> tokens,
                              const Visit& visit) {
  MLXN_TRY(check(sequence, tokens));
  const uint64_t start = sequences_[sequence].size(), width = model_->shape().vocabulary;
  const uint64_t most = std::min(options_.chunk, options_.outputs);
  for (uint64_t done = 0; done < tokens.size();) {
    const uint64_t count = std::min<uint64_t>(most, tokens.size() - done);
    Pass pass;
    for (uint64_t i = 0; i < count; ++i) {
      pass.add(sequence, start + done + i, tokens[done + i]);
      pass.outputs.push_back(static_cast<uint32_t>(i));
    }
    const auto logits = run_one(pass);
    if (!logits) {
      forget(sequence, start + done + count, start);
      return logits.error();
    }
    for (uint64_t i = 0; i < count; ++i) visit(done + i, logits->subspan(i * width, width));
    done += count;
  }
  sequences_[sequence].insert(sequences_[sequence].end(), tokens.begin(), tokens.end());
  return {};
}

Result<std::span<const float>> Evaluator::step(std::span<const SequenceToken> next) {
  if (next.empty() || next.size() > options_.outputs) {
    return Error(ErrorCode::kInvalidArgument,
                 str(next.size(), " sequences in one step, expected 1 to ", options_.outputs));
  }
  Pass pass;
  for (const auto& [sequence, token] : next) {
    MLXN_TRY(check(sequence, std::span(&token, 1)));
    if (std::ranges::find(pass.sequences, sequence) != pass.sequences.end())
      return Error(ErrorCode::kInvalidArgument, str("sequence ", sequence, " twice in one step"));
    pass.outputs.push_back(static_cast<uint32_t>(pass.tokens.size()));
    pass.add(sequence, sequences_[sequence].size(), token);
  }
  const auto logits = run_one(pass);
  for (const auto& [sequence, token] : next) {
    if (logits) sequences_[sequence].push_back(token);
    if (!logits) forget(sequence, sequences_[sequence].size() + 1, sequences_[sequence].size());
  }
  return logits;
}

Result<uint64_t> Evaluator::truncate(uint32_t sequence, uint64_t length) {
  if (sequence >= sequences_.size() || length > sequences_[sequence].size()) {
    return Error(ErrorCode::kOutOfRange, str("sequence ", sequence, " cut to ", length,
                                             " tokens, expected a sequence below ",
                                             sequences_.size(), " and no more tokens than it has"));
  }
  forget(sequence, sequences_[sequence].size(), length);
  return sequences_[sequence].size();
}

uint64_t Evaluator::keep_prefix(uint32_t sequence, std::span<const int32_t> tokens) {
  std::vector<int32_t>& known = sequences_[sequence];
  if (tokens.empty()) return 0;
  const auto [end, other] = std::ranges::mismatch(known, tokens.first(tokens.size() - 1));
  forget(sequence, known.size(), static_cast<uint64_t>(end - known.begin()));
  return known.size();
}

// The state has `known` tokens, of which the first `length` are to stay.
void Evaluator::forget(uint32_t sequence, uint64_t known, uint64_t length) {
  if (known == length) return;
  sequences_[sequence].resize(std::min(length, state_->truncate(sequence, known, length)));
}

Result<std::span<const float>> Evaluator::run_one(const Pass& pass) {
  uint64_t evaluated = 0;
  MLXN_TRY(run(std::span(&pass, 1), {}, evaluated));
  return logits(pass.outputs.size());
}

// Passes one after the other, as stages of a session: while one runs, the next one is encoded.
// `evaluated` counts the tokens of passes that are complete.
Status Evaluator::run(std::span<const Pass> passes, const AppendEvents& events,
                      uint64_t& evaluated) {
  MLXN_TRY(model_->check_file());
  MLXN_ASSIGN(EncoderSession session, model_->device().encoder_session());
  uint64_t submitted = 0, total = 0;
  for (const Pass& pass : passes) total += pass.tokens.size();
  Status status;
  for (size_t i = 0; i < passes.size() && status; ++i) {
    if (i > 0) {
      status = next_stage(session);
      // All but the last pass are complete now.
      if (status && i > 1) evaluated = submitted - passes[i - 1].tokens.size();
      if (status && i > 1 && events.progress) events.progress(evaluated, total);
    }
    if (status) status = submit(session, passes[i], i % inputs_.size(), events);
    if (status) submitted += passes[i].tokens.size();
  }
  const Status finished = status ? session.commit_and_wait() : session.wait_for_all();
  if (status) status = finished;
  if (finished) evaluated = submitted;
  if (status) status = model_->check_file();
  if (status && events.progress) events.progress(evaluated, total);
  return status;
}

// What the host knows goes in, and the pass is encoded into the session's open stage, or, where
// somebody may want to cancel, into several: what is submitted runs to its end.
Status Evaluator::submit(EncoderSession& session, const Pass& pass, size_t slot,
                         const AppendEvents& events) {
  const auto& cancelled = events.cancelled;
  if (cancelled && cancelled()) return Error(ErrorCode::kCancelled, "before a pass");
  Inputs& inputs = inputs_[slot];
  MLXN_TRY(copy(pass.tokens, inputs.tokens));
  MLXN_TRY(copy(pass.positions, inputs.positions));
  MLXN_TRY(copy(pass.sequences, inputs.sequences));
  MLXN_TRY(copy(pass.outputs, inputs.outputs));
  const std::string label = str("forward ", pass.tokens.size());
  session.begin_stage(label);
  ++stats_.passes;
  if (!options_.replay) {
    const Counters before = model_->device().counters();
    MLXN_TRY(encode(session.encoder(), pass, slot));
    const Counters encoded = model_->device().counters() - before;
    stats_.dispatches += encoded.dispatches;
    stats_.barriers += encoded.barriers;
    return {};
  }
  const bool many = pass.tokens.size() > kMatvecRows;
  MLXN_ASSIGN(const std::shared_ptr<const Plans> ready,
              plans(pass, slot, many && cancelled ? model_->shape().layers : 1));
  for (const auto& [rule, count] : ready->fusions.rules) stats_.fusions[rule] += count;
  for (size_t i = 0; i < ready->parts.size(); ++i) {
    if (i > 0) {
      MLXN_TRY(next_stage(session));
      session.begin_stage(label);
    }
    MLXN_TRY(session.encoder().replay(ready->parts[i]));
    stats_.dispatches += ready->parts[i]->dispatch_count();
    stats_.barriers += ready->parts[i]->barrier_count();
    if (i == 0) continue;
    // The part before ran while this one was encoded. With nothing in flight the end comes at once.
    MLXN_TRY(session.wait_for_all());
    if (cancelled())
      return Error(ErrorCode::kCancelled, str("in a pass over ", pass.tokens.size(), " tokens"));
  }
  return {};
}

Status Evaluator::encode(ComputeEncoder& encoder, const Pass& pass, size_t slot) {
  const Inputs& inputs = inputs_[slot];
  const uint64_t tokens = pass.tokens.size(), outputs = pass.outputs.size();
  const uint64_t width = model_->shape().vocabulary;
  const Buffer token_ids = head(inputs.tokens, {tokens}, tokens * 4);
  const Buffer positions = head(inputs.positions, {tokens}, tokens * 4);
  const Buffer slots = head(inputs.sequences, {tokens}, tokens * 4);
  const Buffer chosen = head(inputs.outputs, {outputs}, outputs * 4);
  const Buffer logits = head(logits_, {outputs, width}, outputs * width * 4);
  return model_->architecture().encode({.encoder = encoder,
                                        .state = *state_,
                                        .scratch = scratch_,
                                        .tokens = token_ids,
                                        .positions = positions,
                                        .sequences = slots,
                                        .outputs = chosen,
                                        .logits = logits});
}

// The pass as a graph, ready to be replayed in so many parts. Those over few tokens are made once.
Result<std::shared_ptr<const Evaluator::Plans>> Evaluator::plans(const Pass& pass, size_t slot,
                                                                 size_t parts) {
  const Device& device = model_->device();
  const auto key = std::tuple(pass.tokens.size(), pass.outputs.size(), slot);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  MLXN_ASSIGN(CommandEncoder recorder, device.command_encoder());
  recorder.start_capture();
  MLXN_TRY(encode(recorder, pass, slot));
  Graph graph(*recorder.take_capture());
  const auto made = std::make_shared<Plans>();
  MLXN_ASSIGN(made->fusions, graph.fuse(fusion_rules(), device));
  graph.reorder();
  std::vector<CapturedNode> nodes = std::move(graph).into_nodes();
  parts = std::min(parts, nodes.size());
  for (size_t i = 0; i < parts; ++i) {
    const auto at = [&](size_t part) {
      return std::make_move_iterator(nodes.begin() + ptrdiff_t(part * nodes.size() / parts));
    };
    MLXN_ASSIGN(auto plan, ReplayPlan::create(device, {at(i), at(i + 1)}));
    made->parts.push_back(std::move(plan));
  }
  if (pass.tokens.size() <= kMatvecRows) plans_.emplace(key, made);
  return std::shared_ptr<const Plans>(made);
}

Result<std::span<const float>> Evaluator::logits(uint64_t outputs) const {
  MLXN_ASSIGN(const std::span<const float> all, logits_.as_slice<float>());
  return all.first(outputs * model_->shape().vocabulary);
}

}  // namespace mlxn::model
