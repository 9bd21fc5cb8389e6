#include "mlxn/model/evaluator.h"

#include <algorithm>
#include <cstring>

#include "mlxn/base/strings.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/ops/matmul/matmul.h"

namespace mlxn::model {
namespace {

// The first elements of a buffer.
Buffer head(const Buffer& buffer, const Shape& shape, uint64_t bytes) {
  return Buffer(buffer.storage(), 0, bytes, buffer.dtype(), shape);
}

Status copy(std::span<const uint32_t> values, Buffer& buffer) {
  MLXN_ASSIGN(const std::span<uint32_t> to, buffer.as_mut_slice<uint32_t>());
  std::memcpy(to.data(), values.data(), values.size_bytes());
  return {};
}

}  // namespace

void Evaluator::Pass::add(uint32_t sequence, uint64_t position, int32_t token) {
  tokens.push_back(static_cast<uint32_t>(token));
  positions.push_back(static_cast<uint32_t>(position));
  sequences.push_back(sequence);
}

Evaluator::Evaluator(std::shared_ptr<const Model> model, const EvaluatorOptions& options,
                     KvCache cache)
    : model_(std::move(model)),
      options_(options),
      cache_(std::move(cache)),
      temporaries_(model_->device()),
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
  MLXN_ASSIGN(KvCache cache, KvCache::create(model->device(), {.layers = shape.layers,
                                                               .sequences = options.sequences,
                                                               .kv_heads = shape.kv_heads,
                                                               .head_dim = shape.head_dim,
                                                               .capacity = options.context,
                                                               .dtype = options.cache}));
  Evaluator evaluator(std::move(model), options, std::move(cache));
  MLXN_TRY(evaluator.allocate());
  return evaluator;
}

Status Evaluator::allocate() {
  const uint64_t rows = std::max(options_.chunk, options_.sequences);
  for (Buffer* buffer : {&tokens_, &positions_, &slots_, &outputs_}) {
    MLXN_ASSIGN(*buffer, model_->device().alloc(Dtype::kU32, {rows}));
  }
  MLXN_ASSIGN(logits_,
              model_->device().alloc(Dtype::kF32, {options_.outputs, model_->shape().vocabulary}));
  return {};
}

uint64_t Evaluator::scratch_bytes() const {
  return temporaries_.byte_len() + logits_.byte_len() + 4 * tokens_.byte_len();
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
                                                 const Cancelled& cancelled) {
  if (tokens.empty()) return Error(ErrorCode::kInvalidArgument, "no tokens, expected at least one");
  MLXN_TRY(check(sequence, tokens));
  const uint64_t start = sequences_[sequence].size();
  std::span<const float> logits;
  for (uint64_t done = 0; done < tokens.size();) {
    const uint64_t count = std::min<uint64_t>(options_.chunk, tokens.size() - done);
    Pass pass;
    for (uint64_t i = done; i < done + count; ++i) pass.add(sequence, start + i, tokens[i]);
    done += count;
    if (done == tokens.size()) pass.outputs = {static_cast<uint32_t>(count - 1)};
    MLXN_ASSIGN(logits, run(pass, cancelled));
  }
  sequences_[sequence].insert(sequences_[sequence].end(), tokens.begin(), tokens.end());
  return logits;
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
    MLXN_ASSIGN(const std::span<const float> logits, run(pass));
    for (uint64_t i = 0; i < count; ++i) visit(done + i, logits.subspan(i * width, width));
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
  MLXN_ASSIGN(const std::span<const float> logits, run(pass));
  for (const auto& [sequence, token] : next) sequences_[sequence].push_back(token);
  return logits;
}

Status Evaluator::truncate(uint32_t sequence, uint64_t length) {
  if (sequence >= sequences_.size() || length > sequences_[sequence].size()) {
    return Error(ErrorCode::kOutOfRange, str("sequence ", sequence, " cut to ", length,
                                             " tokens, expected a sequence below ",
                                             sequences_.size(), " and no more tokens than it has"));
  }
  sequences_[sequence].resize(length);
  return {};
}

uint64_t Evaluator::keep_prefix(uint32_t sequence, std::span<const int32_t> tokens) {
  std::vector<int32_t>& known = sequences_[sequence];
  if (tokens.empty()) return 0;
  const auto [end, other] = std::ranges::mismatch(known, tokens.first(tokens.size() - 1));
  known.erase(end, known.end());
  return known.size();
}

// What the host knows goes in, the logits come out.
Result<std::span<const float>> Evaluator::run(const Pass& pass, const Cancelled& cancelled) {
  if (cancelled && cancelled()) return Error(ErrorCode::kCancelled, "before a pass");
  MLXN_TRY(model_->check_file());
  MLXN_TRY(copy(pass.tokens, tokens_));
  MLXN_TRY(copy(pass.positions, positions_));
  MLXN_TRY(copy(pass.sequences, slots_));
  MLXN_TRY(copy(pass.outputs, outputs_));
  const uint64_t tokens = pass.tokens.size(), outputs = pass.outputs.size();
  const bool recorded = options_.replay && tokens <= kMatvecRows;
  MLXN_TRY(recorded ? submit_recorded(tokens, outputs)
                    : submit_encoded(tokens, outputs, cancelled));
  ++stats_.passes;
  MLXN_TRY(model_->check_file());
  MLXN_ASSIGN(const std::span<const float> logits, logits_.as_slice<float>());
  return logits.first(outputs * model_->shape().vocabulary);
}

Status Evaluator::submit_recorded(uint64_t tokens, uint64_t outputs) {
  MLXN_ASSIGN(const std::shared_ptr<ReplayPlan> recorded, plan(tokens, outputs));
  MLXN_ASSIGN(CommandEncoder encoder, model_->device().command_encoder());
  MLXN_TRY(encoder.replay(recorded));
  stats_.dispatches += recorded->dispatch_count();
  stats_.barriers += recorded->barrier_count();
  return encoder.commit_and_wait_labeled(str("forward ", tokens));
}

// One command buffer; one for each layer when somebody may want to cancel, because what is
// committed runs to its end.
Status Evaluator::submit_encoded(uint64_t tokens, uint64_t outputs, const Cancelled& cancelled) {
  const Counters before = model_->device().counters();
  MLXN_ASSIGN(EncoderSession session, model_->device().encoder_session());
  const std::string label = str("forward ", tokens);
  session.begin_stage(label);
  auto between_layers = [&]() -> Status {
    if (!cancelled) return {};
    MLXN_TRY(session.commit_and_wait());
    if (cancelled()) return Error(ErrorCode::kCancelled, str("in a pass over ", tokens, " tokens"));
    MLXN_TRY(session.reset_for_next_stage());
    session.begin_stage(label);
    return {};
  };
  MLXN_TRY(encode(session.encoder(), tokens, outputs, between_layers));
  MLXN_TRY(session.commit_and_wait());
  const Counters encoded = model_->device().counters() - before;
  stats_.dispatches += encoded.dispatches;
  stats_.barriers += encoded.barriers;
  return {};
}

Status Evaluator::encode(ComputeEncoder& encoder, uint64_t tokens, uint64_t outputs,
                         const std::function<Status()>& between_layers) {
  const uint64_t width = model_->shape().vocabulary;
  const Buffer token_ids = head(tokens_, {tokens}, tokens * 4);
  const Buffer positions = head(positions_, {tokens}, tokens * 4);
  const Buffer slots = head(slots_, {tokens}, tokens * 4);
  const Buffer chosen = head(outputs_, {outputs}, outputs * 4);
  const Buffer logits = head(logits_, {outputs, width}, outputs * width * 4);
  return model_->architecture().encode({.encoder = encoder,
                                        .cache = cache_,
                                        .temporaries = temporaries_,
                                        .tokens = token_ids,
                                        .positions = positions,
                                        .sequences = slots,
                                        .outputs = chosen,
                                        .logits = logits,
                                        .between_layers = between_layers});
}

Result<std::shared_ptr<ReplayPlan>> Evaluator::plan(uint64_t tokens, uint64_t outputs) {
  std::shared_ptr<ReplayPlan>& known = plans_[{tokens, outputs}];
  if (known) return known;
  MLXN_ASSIGN(CommandEncoder recorder, model_->device().command_encoder());
  recorder.start_capture();
  MLXN_TRY(encode(recorder, tokens, outputs, [] { return Status(); }));
  Graph graph(*recorder.take_capture());
  MLXN_ASSIGN(known, graph.prepare(model_->device()));
  return known;
}

}  // namespace mlxn::model
