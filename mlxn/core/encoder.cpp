#include "mlxn/core/encoder.h"

#include "mlxn/base/clock.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/context.h"
#include "mlxn/core/metal_util.h"
#include "mlxn/core/submission.h"

namespace mlxn {
namespace {

DispatchEntry profile_entry(const Dispatch& dispatch, OpKind kind, const char* barrier,
                            uint64_t queue) {
  DispatchEntry entry;
  entry.op_kind = to_string(kind);
  entry.kernel = dispatch.pipeline.name();
  entry.label = dispatch.label.empty() ? dispatch.pipeline.key() : std::string(dispatch.label);
  entry.queue = queue;
  const MTL::Size grid = dispatch.grid, group = dispatch.threadgroup;
  entry.grid[0] = grid.width, entry.grid[1] = grid.height, entry.grid[2] = grid.depth;
  entry.threadgroup[0] = group.width, entry.threadgroup[1] = group.height,
  entry.threadgroup[2] = group.depth;
  for (const Binding& binding : dispatch.bindings) {
    const Buffer* buffer = binding.arg.buffer;
    entry.bytes_bound +=
        buffer ? buffer->byte_len() - binding.arg.offset : binding.arg.bytes.size();
  }
  entry.barrier_reason = barrier;
  return entry;
}

}  // namespace

ComputeEncoder::ComputeEncoder(Device device)
    : device_(std::move(device)),
      context_(device_.context().get()),
      ranges_(context_->options.hazards) {
  rotate();
}

void ComputeEncoder::rotate() {
  submission_ = std::make_shared<Submission>(device_.queue());
  ranges_ = MemRanges(context_->options.hazards);
  barrier_reason_ = "";
  bump(context_->counters.command_buffers);
}

void ComputeEncoder::end_pass() {
  unordered_ = false;
  ranges_.reset();  // passes of a command buffer run one after the other
  pass_.end();
}

Status ComputeEncoder::check_open() const {
  if (!submission_) return Error(ErrorCode::kInvalidState, "the encoder was moved from");
  if (!submission_->committed()) return {};
  return Error(ErrorCode::kInvalidState, "the command buffer is already committed");
}

Result<MTL::ComputeCommandEncoder*> ComputeEncoder::pass() {
  if (pass_) return pass_.get();
  AutoreleaseScope scope;
  MLXN_ASSIGN(MTL::CommandBuffer * commands, submission_->command_buffer());
  pass_ = OpenPass(NS::RetainPtr(commands->computeCommandEncoder(
      context_->options.serial_dispatch ? MTL::DispatchTypeSerial : MTL::DispatchTypeConcurrent)));
  if (!pass_) return Error(ErrorCode::kOutOfMemory, "the command buffer gave no compute encoder");
  return pass_.get();
}

MTL::CommandBuffer* ComputeEncoder::metal_command_buffer() {
  if (!submission_) return nullptr;
  return submission_->command_buffer().value_or(nullptr);
}

Status ComputeEncoder::dispatch(const Dispatch& dispatch) {
  MLXN_TRY(check(dispatch));
  bump(context_->counters.dispatches);
  const OpKind kind = std::exchange(pending_op_kind_, OpKind::kOther);
  if (capture_) {
    capture(dispatch, kind);
  } else {
    if (context_->options.auto_barrier) track(dispatch);
    MLXN_TRY(run(dispatch, kind));
  }
  pending_declared_ = false;
  return {};
}

Status ComputeEncoder::run(const Dispatch& dispatch, OpKind kind) {
  MLXN_ASSIGN(MTL::ComputeCommandEncoder * pass, this->pass());
  pass->setComputePipelineState(dispatch.pipeline.metal());
  submission_->use(dispatch.pipeline.state());
  for (const Binding& binding : dispatch.bindings) {
    if (const Buffer* buffer = binding.arg.buffer) {
      pass->setBuffer(buffer->storage()->buffer.get(), buffer->byte_offset() + binding.arg.offset,
                      binding.slot);
      submission_->use(buffer->storage());
    } else {
      pass->setBytes(binding.arg.bytes.data(), binding.arg.bytes.size(), binding.slot);
    }
  }
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    pass->setThreadgroupMemoryLength(threadgroup_bytes(memory.bytes), memory.index);
  }
  DispatchSampler* sampler =
      context_->options.profile_dispatches ? submission_->sampler() : nullptr;
  if (sampler) {
    sampler->before(pass, profile_entry(dispatch, kind, barrier_reason_,
                                        reinterpret_cast<uintptr_t>(device_.metal_queue())));
  }
  if (dispatch.kind == DispatchKind::kThreads) {
    pass->dispatchThreads(dispatch.grid, dispatch.threadgroup);
  } else {
    pass->dispatchThreadgroups(dispatch.grid, dispatch.threadgroup);
  }
  if (sampler) sampler->after(pass);
  barrier_reason_ = "";
  ++submission_->dispatches;
  unordered_ = true;
  return {};
}

// Tracking

std::vector<BufferRange> ComputeEncoder::accesses_of(const Dispatch& dispatch,
                                                     bool& annotated) const {
  annotated = true;
  if (dispatch.declared) return ranges_of(dispatch.reads, dispatch.writes);
  if (pending_declared_) return pending_ranges_;
  const KernelAccess& access = dispatch.pipeline.access();
  if (!access.known) {
    annotated = false;
    return {BufferRange::everything()};
  }
  std::vector<BufferRange> out;
  for (const Binding& binding : dispatch.bindings) {
    if (!binding.arg.buffer) continue;
    // From where it is bound to the end of the view; a kernel may step back from neither.
    BufferRange range = BufferRange::from_buffer(*binding.arg.buffer, MemRangeRole::kSrc);
    range.begin += binding.arg.offset;
    out.push_back(range);
    if (access.writes >> binding.slot & 1) {
      range.role = MemRangeRole::kDst;
      out.push_back(range);
    }
  }
  return out;
}

template <class Add>
void ComputeEncoder::resolve_hazard(bool free, const Add& add) {
  if (free) {
    bump(context_->counters.auto_barrier_concurrent);
  } else {
    emit_barrier(to_string(ranges_.last_hazard()->hazard));
    bump(context_->counters.auto_barriers);
  }
  add();
}

void ComputeEncoder::track(const Dispatch& dispatch) {
  if (dispatch.declared) {  // the common form, without a list of ranges
    return resolve_hazard(ranges_.check_dispatch(dispatch.reads, dispatch.writes),
                          [&] { ranges_.add_dispatch(dispatch.reads, dispatch.writes); });
  }
  bool annotated = false;
  const std::vector<BufferRange> accesses = accesses_of(dispatch, annotated);
  resolve_hazard(ranges_.check(accesses), [&] { ranges_.add(accesses); });
}

void ComputeEncoder::emit_barrier(const char* reason) {
  ranges_.reset();
  if (!pass_) return;
  const bool timed = context_->options.profile_barriers;
  const uint64_t start = timed ? now_ns() : 0;
  pass_->memoryBarrier(MTL::BarrierScopeBuffers);
  if (timed) bump(context_->counters.barrier_ns, now_ns() - start);
  bump(context_->counters.barriers);
  ++submission_->barriers;
  barrier_reason_ = reason;
  unordered_ = false;
}

Status ComputeEncoder::memory_barrier() {
  MLXN_TRY(check_open());
  if (capture_) {
    CapturedNode node;
    node.is_barrier = true;
    capture_->push_back(std::move(node));
    ranges_.reset();
  } else {
    emit_barrier("explicit");
  }
  // What was announced for the next dispatch comes behind this barrier.
  if (pending_declared_) record_pending();
  return {};
}

Result<bool> ComputeEncoder::barrier_between(Buffers reads, Buffers writes) {
  MLXN_TRY(check_open());
  MLXN_TRY(check_declared(reads));
  MLXN_TRY(check_declared(writes));
  const bool free = ranges_.check_dispatch(reads, writes);
  if (!free) {
    if (capture_) {
      ranges_.reset();  // a graph derives its barriers itself
    } else {
      emit_barrier(to_string(ranges_.last_hazard()->hazard));
    }
  }
  pending_ranges_ = ranges_of(reads, writes);
  pending_declared_ = true;
  record_pending();
  return !free;
}

// Live tracking records them with the dispatch itself.
void ComputeEncoder::record_pending() {
  if (capture_ || !context_->options.auto_barrier) ranges_.add(pending_ranges_);
}

Status ComputeEncoder::add_to_tracker(Buffers reads, Buffers writes) {
  MLXN_TRY(check_open());
  MLXN_TRY(check_declared(reads));
  MLXN_TRY(check_declared(writes));
  ranges_.add_dispatch(reads, writes);
  return {};
}

void ComputeEncoder::set_pending_buffer_ranges(std::vector<BufferRange> reads,
                                               std::vector<BufferRange> writes) {
  pending_ranges_ = std::move(reads);
  for (BufferRange& range : pending_ranges_) range.role = MemRangeRole::kSrc;
  for (BufferRange range : writes) {
    range.role = MemRangeRole::kDst;
    pending_ranges_.push_back(range);
  }
  pending_declared_ = true;
}

// Capture

void ComputeEncoder::start_capture() {
  capture_ = std::make_unique<std::vector<CapturedNode>>();
}

std::optional<std::vector<CapturedNode>> ComputeEncoder::take_capture() {
  if (!capture_) return std::nullopt;
  std::vector<CapturedNode> nodes = std::move(*capture_);
  capture_.reset();
  return nodes;
}

void ComputeEncoder::capture(const Dispatch& dispatch, OpKind kind) {
  CapturedNode& node = capture_->emplace_back();
  node.pipeline = dispatch.pipeline;
  node.bindings.reserve(dispatch.bindings.size());
  for (const Binding& binding : dispatch.bindings) {
    RecordedBinding& recorded = node.bindings.emplace_back();
    recorded.slot = binding.slot;
    if (const Buffer* buffer = binding.arg.buffer) {
      recorded.storage = buffer->storage();
      recorded.offset = buffer->byte_offset() + binding.arg.offset;
      recorded.length = buffer->byte_len() - binding.arg.offset;
    } else {
      recorded.bytes.assign(binding.arg.bytes.begin(), binding.arg.bytes.end());
    }
  }
  node.grid = dispatch.grid;
  node.threadgroup = dispatch.threadgroup;
  node.threadgroup_memory.assign(dispatch.threadgroup_memory.begin(),
                                 dispatch.threadgroup_memory.end());
  node.kind = dispatch.kind;
  node.op_kind = kind;
  node.accesses = accesses_of(dispatch, node.annotated);
  node.label = dispatch.label;
}

void ComputeEncoder::annotate_last_dispatch_if_missing(std::vector<BufferRange> reads,
                                                       std::vector<BufferRange> writes) {
  if (!capture_ || capture_->empty() || capture_->back().is_barrier) return;
  CapturedNode& node = capture_->back();
  if (node.annotated) return;
  set_pending_buffer_ranges(std::move(reads), std::move(writes));
  node.accesses = std::move(pending_ranges_);
  node.annotated = true;
  pending_ranges_.clear();
  pending_declared_ = false;
}

Status ComputeEncoder::replay_dispatch(const CapturedNode& node) {
  MLXN_TRY(check_open());
  if (node.is_barrier) return memory_barrier();
  if (!capture_ && context_->options.auto_barrier) {
    resolve_hazard(ranges_.check(node.accesses), [&] { ranges_.add(node.accesses); });
  }
  return replay_node(node);
}

Status ComputeEncoder::replay_node(const CapturedNode& node) {
  if (capture_) {
    capture_->push_back(node);
    return {};
  }
  std::vector<Buffer> buffers;
  buffers.reserve(node.bindings.size());  // bindings point into it
  std::vector<Binding> bindings;
  for (const RecordedBinding& one : node.bindings) {
    if (one.storage) {
      buffers.emplace_back(one.storage, one.offset, one.length, Dtype::kU8, Shape{one.length});
      bindings.push_back({one.slot, KernelArg(buffers.back())});
    } else {
      bindings.push_back({one.slot, KernelArg(std::span(one.bytes))});
    }
  }
  const Dispatch dispatch{.pipeline = node.pipeline,
                          .bindings = bindings,
                          .grid = node.grid,
                          .threadgroup = node.threadgroup,
                          .kind = node.kind,
                          .threadgroup_memory = node.threadgroup_memory,
                          .label = node.label};
  MLXN_TRY(check(dispatch));
  return run(dispatch, node.op_kind);
}

// Commit

void ComputeEncoder::label(const std::string& label) {
  AutoreleaseScope scope;
  submission_->set_label(label);
  if (pass_) pass_->setLabel(ns_string(label));
}

Status ComputeEncoder::commit(const std::string& label) {
  MLXN_TRY(check_open());
  if (!label.empty()) this->label(label);
  end_pass();
  return submission_->commit();
}

}  // namespace mlxn
