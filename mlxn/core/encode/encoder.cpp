#include "mlxn/core/encode/encoder.h"

#include "mlxn/base/clock.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/encode/internal/dispatch_checks.h"
#include "mlxn/core/encode/internal/recorded_dispatch.h"
#include "mlxn/core/encode/internal/submission.h"

namespace mlxn {
namespace {

DispatchEntry profile_entry(const Dispatch& dispatch, const OpTag& op, const char* barrier,
                            uint64_t queue) {
  DispatchEntry entry;
  entry.op_kind = op.name;
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

std::vector<BufferRange> with_roles(std::vector<BufferRange> reads,
                                    const std::vector<BufferRange>& writes) {
  for (BufferRange& range : reads) range.role = MemRangeRole::kSrc;
  for (BufferRange range : writes) {
    range.role = MemRangeRole::kDst;
    reads.push_back(range);
  }
  return reads;
}

}  // namespace

ComputeEncoder::ComputeEncoder(const Device& device, Counting counting)
    : device_(device), context_(device_.context().get()), counting_(counting), ranges_(hazards()) {
  rotate();
}

HazardMask ComputeEncoder::hazards() const {
  return context_->options.hazards;
}

void ComputeEncoder::rotate() {
  submission_ = make_recycled<Submission>(device_.queue());
  ranges_ = MemRanges(hazards());
  barrier_reason_ = "";
  if (counting_ == Counting::kOn) bump(context_->counters.command_buffers);
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

Status ComputeEncoder::check(const Dispatch& dispatch) const {
  MLXN_TRY(check_open());
  return check_dispatch(*context_, dispatch);
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
  Status status = dispatch_announced(dispatch);
  drop_announced();
  if (status && counting_ == Counting::kOn) bump(context_->counters.dispatches);
  return status;
}

Status ComputeEncoder::dispatch_announced(const Dispatch& dispatch) {
  MLXN_TRY(check(dispatch));
  if (capture_) {
    capture(dispatch);
    return {};
  }
  MLXN_TRY(pass());
  if (context_->options.auto_barrier) track(dispatch);
  return run(dispatch, op_of(dispatch));
}

const OpTag& ComputeEncoder::op_of(const Dispatch& dispatch) const {
  return dispatch.op == OpTag() ? announced_.op : dispatch.op;
}

Status ComputeEncoder::run(const Dispatch& dispatch, const OpTag& op) {
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
  DispatchTimer* timer = context_->options.profile_dispatches ? submission_->timer() : nullptr;
  if (timer) {
    timer->before(pass, profile_entry(dispatch, op, barrier_reason_,
                                      reinterpret_cast<uintptr_t>(device_.metal_queue())));
  }
  if (dispatch.kind == DispatchKind::kThreads) {
    pass->dispatchThreads(dispatch.grid, dispatch.threadgroup);
  } else {
    pass->dispatchThreadgroups(dispatch.grid, dispatch.threadgroup);
  }
  if (timer) timer->after(pass);
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
  if (announced_.declared) return announced_.accesses;
  const KernelAccess& access = dispatch.pipeline.access();
  if (!access.known) {
    annotated = false;
    return {BufferRange::everything()};
  }
  std::vector<BufferRange> out;
  for (const Binding& binding : dispatch.bindings) {
    if (!binding.arg.buffer) continue;
    // From where it is bound to the end of the allocation: a kernel knows nothing of views.
    const Buffer& buffer = *binding.arg.buffer;
    BufferRange range = BufferRange::from_buffer(buffer, MemRangeRole::kSrc);
    range.begin += binding.arg.offset;
    range.end += buffer.allocation_length() - buffer.byte_offset() - buffer.byte_len();
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
  } else if (unordered_) {
    emit_barrier(to_string(ranges_.last_hazard()->hazard));
    bump(context_->counters.auto_barriers);
  } else {
    ranges_.reset();  // nothing in the pass that a barrier could order
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

bool ComputeEncoder::emit_barrier(const char* reason) {
  ranges_.reset();
  if (!pass_) return false;
  const bool timed = context_->options.profile_barriers;
  const uint64_t start = timed ? now_ns() : 0;
  pass_->memoryBarrier(MTL::BarrierScopeBuffers);
  if (timed) bump(context_->counters.barrier_ns, now_ns() - start);
  bump(context_->counters.barriers);
  ++submission_->barriers;
  barrier_reason_ = reason;
  unordered_ = false;
  return true;
}

Status ComputeEncoder::memory_barrier() {
  MLXN_TRY(check_open());
  if (capture_) {
    CapturedNode node;
    node.is_barrier = true;
    capture_->nodes.push_back(std::move(node));
    capture_->ranges.reset();
  } else {
    emit_barrier("explicit");
  }
  // What was announced for the next dispatch comes behind this barrier.
  if (announced_.declared) record_announced();
  return {};
}

Result<bool> ComputeEncoder::barrier_between(Buffers reads, Buffers writes) {
  MLXN_TRY(check_open());
  MLXN_TRY(check_declared(reads));
  MLXN_TRY(check_declared(writes));
  bool ordered = false;
  if (!tracker().check_dispatch(reads, writes)) {
    if (capture_) {
      capture_->ranges.reset();  // a graph derives its barriers itself
      ordered = true;
    } else {
      ordered = emit_barrier(to_string(ranges_.last_hazard()->hazard));
    }
  }
  announced_.accesses = ranges_of(reads, writes);
  announced_.declared = true;
  record_announced();
  return ordered;
}

// Live tracking records them with the dispatch itself.
void ComputeEncoder::record_announced() {
  if (capture_ || !context_->options.auto_barrier) tracker().add(announced_.accesses);
}

void ComputeEncoder::drop_announced() {
  announced_.op = {};
  announced_.declared = false;
}

Status ComputeEncoder::add_to_tracker(Buffers reads, Buffers writes) {
  MLXN_TRY(check_open());
  MLXN_TRY(check_declared(reads));
  MLXN_TRY(check_declared(writes));
  tracker().add_dispatch(reads, writes);
  return {};
}

void ComputeEncoder::set_pending_buffer_ranges(std::vector<BufferRange> reads,
                                               const std::vector<BufferRange>& writes) {
  announced_.accesses = with_roles(std::move(reads), writes);
  announced_.declared = true;
}

// Capture

void ComputeEncoder::start_capture() {
  if (submission_) capture_ = std::make_unique<Capture>(Capture{{}, MemRanges(hazards())});
}

std::optional<std::vector<CapturedNode>> ComputeEncoder::take_capture() {
  if (!capture_) return std::nullopt;
  std::vector<CapturedNode> nodes = std::move(capture_->nodes);
  capture_.reset();
  return nodes;
}

void ComputeEncoder::capture(const Dispatch& dispatch) {
  CapturedNode& node = capture_->nodes.emplace_back();
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
  node.op = op_of(dispatch);
  node.accesses = accesses_of(dispatch, node.annotated);
  node.label = dispatch.label;
}

void ComputeEncoder::annotate_last_dispatch_if_missing(std::vector<BufferRange> reads,
                                                       const std::vector<BufferRange>& writes) {
  if (!capture_ || capture_->nodes.empty() || capture_->nodes.back().is_barrier) return;
  CapturedNode& node = capture_->nodes.back();
  if (node.annotated || (reads.empty() && writes.empty())) return;
  node.accesses = with_roles(std::move(reads), writes);
  node.annotated = true;
}

Status ComputeEncoder::replay_dispatch(const CapturedNode& node) {
  if (node.is_barrier) return memory_barrier();
  drop_announced();
  return replay_node(node, context_->options.auto_barrier);
}

Status ComputeEncoder::replay_node(const CapturedNode& node, bool tracked) {
  MLXN_ASSIGN(const RecordedDispatch recorded, RecordedDispatch::of(node));
  const Dispatch dispatch = recorded.dispatch();
  MLXN_TRY(check(dispatch));
  if (capture_) {
    capture_->nodes.push_back(node);
    return {};
  }
  MLXN_TRY(pass());
  if (tracked) resolve_hazard(ranges_.check(node.accesses), [&] { ranges_.add(node.accesses); });
  return run(dispatch, node.op);
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
