// Compute encoding: bindings and dispatches.
#include "metal/rt/encode/compute_encoder.h"

#include <bit>
#include <cstring>

#include "mlxn/base/checked.h"

namespace mlxn::rt {
namespace {

constexpr uint64_t kMaxValidBytes = 4096;                 // of setBytes
constexpr uint64_t kMaxInlineBytes = uint64_t{16} << 20;  // without validation
constexpr uint64_t kInlineAlignment = 16;
constexpr const char* kExecute = "executeCommandsInBuffer";

}  // namespace

void ComputeEncoderObject::wrong_index(std::string_view call, uint64_t index) {
  misuse(call, str("index ", index, ", expected 0 to ", MSL_MAX_BUFFERS - 1));
}

void ComputeEncoderObject::wrong_offset(std::string_view call, uint64_t offset, uint64_t index,
                                        uint64_t length) {
  violation(call, str("offset ", offset, " at index ", index,
                      ", expected at most the buffer's length ", length));
}

void ComputeEncoderObject::wrong_dispatch(std::string_view call, const Error& error) {
  violation(call, str("kernel '", pipeline_->kernel().name, "': ", error.message()));
}

bool ComputeEncoderObject::accept(std::string_view call, const Status& status) {
  if (!status) violation(call, status.error().message());
  return status.has_value();
}

void ComputeEncoderObject::change_pipeline(PipelineObject* pipeline) {
  pipeline_ = Ref(pipeline);
  pipeline_held_ = false;
  accepted_group_.reset();
  threadgroup_memory_accepted_ = false;
}

void ComputeEncoderObject::set_offset(uint64_t offset, uint64_t index) {
  constexpr const char* kCall = "setBufferOffset";
  if (!can_encode(kCall)) return;
  if (index >= MSL_MAX_BUFFERS) return wrong_index(kCall, index);
  BufferSlot& slot = slots_[index];
  if (!slot.memory) return misuse(kCall, str("no buffer is bound at index ", index));
  if (offset > slot.length) return wrong_offset(kCall, offset, index, slot.length);
  slot.offset = offset;
}

void ComputeEncoderObject::set_bytes(const void* bytes, uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setBytes";
  if (!can_encode(kCall)) return;
  if (index >= MSL_MAX_BUFFERS) return wrong_index(kCall, index);
  if (!bytes) misuse(kCall, "null pointer, expected the bytes to copy");
  const uint64_t most = validates() ? kMaxValidBytes : kMaxInlineBytes;
  if (length > most || (length == 0 && validates())) {
    return violation(kCall, str("length ", length, ", expected 1 to ", most));
  }
  slots_[index] = BufferSlot();
  if (bytes && length != 0) slots_[index] = store_bytes(bytes, length, length);
}

BufferSlot ComputeEncoderObject::store_bytes(const void* bytes, uint64_t length, uint64_t size) {
  auto& store = work().list.inline_bytes;
  const size_t at = aligned(store.size(), kInlineAlignment);
  store.resize(at + size);
  if (length != 0) std::memcpy(store.data() + at, bytes, length);
  return {nullptr, at, 0, size, 0};
}

void ComputeEncoderObject::set_threadgroup_memory(uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setThreadgroupMemoryLength";
  if (!can_encode(kCall)) return;
  if (index >= MSL_MAX_BUFFERS) return wrong_index(kCall, index);
  const uint64_t most = buffer->device().info().max_threadgroup_memory;
  if (length > most) {
    return violation(kCall, str("length ", length, ", expected at most ", most));
  }
  if (length % kThreadgroupGranule != 0) {
    misuse(kCall, str("length ", length, ", expected a multiple of ", kThreadgroupGranule));
  }
  threadgroup_bytes_[index] = aligned(length, kThreadgroupGranule);
  const uint32_t bit = 1u << index;
  threadgroup_indices_ = length ? threadgroup_indices_ | bit : threadgroup_indices_ & ~bit;
  threadgroup_memory_accepted_ = false;
}

void ComputeEncoderObject::use_allocation(std::string_view call, AllocationObject* object,
                                          const char* kind) {
  if (!can_encode(call) || !check_declared(call, object, kind)) return;
  work().hold(object, {.role = UsePlace::kDeclared, .call = call, .kind = kind});
}

void ComputeEncoderObject::memory_barrier(std::string_view call) {
  if (can_encode(call)) work().barrier();
}

bool ComputeEncoderObject::accepts(std::string_view call, const Size3& group) {
  if (accepted_group_ == group) return true;
  if (auto status = check_group(*pipeline_, group, validates()); !status) {
    wrong_dispatch(call, status.error());
    return false;
  }
  accepted_group_ = group;
  return true;
}

void ComputeEncoderObject::bind(uint32_t index) {
  const BufferSlot& slot = slots_[index];
  if (!slot.bound()) return;
  work().list.bindings.push_back(slot.binding(index));
  if (slot.memory && !work().retained()) work().mark_used(slot.watch, pipeline_->code.get());
}

// The bytes of a reference argument are there for the kernel to read, used or not: an executor's
// code may read them early. What the program left out is zeros.
void ComputeEncoderObject::bind_argument(const BufferRequirement& requirement) {
  BufferSlot& slot = slots_[requirement.index];
  if (!slot.memory && slot.length < requirement.least_bytes) {
    const std::vector<std::byte> given(work().list.inline_bytes.begin() + slot.base,
                                       work().list.inline_bytes.begin() + slot.base + slot.length);
    slot = store_bytes(given.data(), given.size(), requirement.least_bytes);
  }
  if (slot.bound()) return bind(requirement.index);
  if (requirement.required) work().list.bindings.push_back({requirement.index});
}

// Checks what is bound and appends it; on failure the list is as before.
bool ComputeEncoderObject::bind_buffers(std::string_view call) {
  auto& bindings = work().list.bindings;
  const size_t first = bindings.size();
  for (const BufferRequirement& requirement : pipeline_->buffers) {
    const BufferSlot& slot = slots_[requirement.index];
    const SlotProblem problem = check_slot(slot, requirement, validates());
    if (problem != SlotProblem::kNone) {
      bindings.resize(first);
      wrong_dispatch(call, explain(problem, slot, *requirement.argument));
      return false;
    }
    bind_argument(requirement);
  }
  if (!compiles_) {  // no reflection: all that is bound
    for (uint32_t index = 0; index < MSL_MAX_BUFFERS; ++index) bind(index);
  }
  if (threadgroup_memory_accepted_) return true;
  const uint64_t most = buffer->device().info().max_threadgroup_memory;
  if (auto status = check_threadgroup_memory(*pipeline_, threadgroup_bytes_, most, validates());
      !status) {
    bindings.resize(first);
    wrong_dispatch(call, status.error());
    return false;
  }
  threadgroup_memory_accepted_ = true;
  return true;
}

void ComputeEncoderObject::add_threadgroup_memory() {
  for (uint32_t left = threadgroup_indices_; left != 0; left &= left - 1) {
    const auto index = static_cast<uint32_t>(std::countr_zero(left));
    work().list.threadgroup_memory.push_back({index, threadgroup_bytes_[index]});
  }
  for (uint32_t left = pipeline_->threadgroup_arguments & ~threadgroup_indices_; left != 0;
       left &= left - 1) {
    work().list.threadgroup_memory.push_back({static_cast<uint32_t>(std::countr_zero(left)), 0});
  }
}

bool ComputeEncoderObject::prepare_code(std::string_view call, const Size3& grid,
                                        const Size3& group) {
  if (!pipeline_->code->prepares) return true;
  const Status status = pipeline_->code->prepare(grid, group);
  if (!status) wrong_dispatch(call, status.error());
  return status.has_value();
}

void ComputeEncoderObject::encode(std::string_view call, const Size3& grid, const Size3& group,
                                  BufferObject* indirect, uint64_t indirect_offset) {
  Work& work = this->work();
  CommandList& list = work.list;
  const size_t first_binding = list.bindings.size();
  const size_t first_threadgroup_memory = list.threadgroup_memory.size();
  if (!accepts(call, group) || !prepare_code(call, grid, group) || !bind_buffers(call)) return;
  add_threadgroup_memory();
  const Pipeline* pipeline = pipeline_->code.get();
  if (indirect) work.hold(indirect, {.role = UsePlace::kIndirect, .pipeline = pipeline});
  if (!pipeline_held_) {
    work.hold(pipeline_.get(), {.role = UsePlace::kPipeline, .pipeline = pipeline});
    pipeline_held_ = true;
  }
  if (dispatchType == MTL::DispatchTypeSerial) work.barrier();
  auto& dispatch =
      *std::get_if<Dispatch>(&list.commands.emplace_back(std::in_place_type<Dispatch>));
  dispatch.pipeline = pipeline;
  dispatch.first_binding = first_binding;
  dispatch.binding_count = static_cast<uint32_t>(list.bindings.size() - first_binding);
  dispatch.first_threadgroup_memory = first_threadgroup_memory;
  dispatch.threadgroup_memory_count =
      static_cast<uint32_t>(list.threadgroup_memory.size() - first_threadgroup_memory);
  dispatch.threads_per_grid = grid;
  dispatch.threads_per_threadgroup = group;
  if (!indirect) return;
  dispatch.indirect = indirect->memory.get();
  dispatch.indirect_offset = indirect->offset + indirect_offset;
}

bool ComputeEncoderObject::ready_to_dispatch(std::string_view call) {
  if (!can_encode(call)) return false;
  if (pipeline_) return true;
  violation(call, "no pipeline; call setComputePipelineState first");
  return false;
}

void ComputeEncoderObject::dispatch_threads(const Size3& grid, const Size3& group) {
  constexpr const char* kCall = "dispatchThreads";
  if (!ready_to_dispatch(kCall) || is_no_work(grid, group)) return;
  if (accept(kCall, check_grid(grid))) encode(kCall, grid, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_threadgroups(const Size3& count, const Size3& group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!ready_to_dispatch(kCall) || is_no_work(count, group)) return;
  if (!accepts(kCall, group) || !accept(kCall, check_counts(count, group))) return;
  encode(kCall, {count.x * group.x, count.y * group.y, count.z * group.z}, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_indirect(BufferObject* target, uint64_t offset,
                                             const Size3& group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!ready_to_dispatch(kCall) || is_no_work(group, group)) return;
  if (!check_object(kCall, target, "indirect buffer")) return;
  constexpr uint64_t kBytes = sizeof(MTL::DispatchThreadgroupsIndirectArguments);
  const bool wrong_offset = validates() && offset % sizeof(uint32_t) != 0;
  if (wrong_offset || !span_fits(offset, kBytes, target->length)) {
    return violation(
        kCall, str("indirect buffer offset ", offset, ", expected a multiple of 4 with ", kBytes,
                   " bytes within the length ", target->length));
  }
  encode(kCall, group, group, target, offset);
}

void ComputeEncoderObject::execute(IndirectBufferObject* commands, NS::Range range) {
  if (!check_indirect(commands)) return;
  const uint64_t size = commands->commands->size();
  if (range.length == 0 || !span_fits(range.location, range.length, size)) {
    misuse(kExecute, str("range ", range.location, " + ", range.length,
                         ", expected at least one within the ", size, " commands"));
  }
  encode(commands, {.first = range.location, .count = range.length});
}

void ComputeEncoderObject::execute(IndirectBufferObject* commands, BufferObject* range,
                                   uint64_t offset) {
  if (!check_indirect(commands) || !check_object(kExecute, range, "range buffer")) return;
  constexpr uint64_t kBytes = sizeof(MTL::IndirectCommandBufferExecutionRange);
  const bool wrong_offset = validates() && offset % sizeof(uint32_t) != 0;
  if (wrong_offset || !span_fits(offset, kBytes, range->length)) {
    return violation(kExecute,
                     str("range buffer offset ", offset, ", expected a multiple of 4 with ", kBytes,
                         " bytes within the length ", range->length));
  }
  work().hold(range, {.role = UsePlace::kDeclared, .call = kExecute});
  encode(commands, {.indirect = range->memory.get(), .indirect_offset = range->offset + offset});
}

bool ComputeEncoderObject::check_indirect(const IndirectBufferObject* commands) {
  if (!can_encode(kExecute)) return false;
  if (!check_object(kExecute, commands, "indirect command buffer")) return false;
  if (!commands->commands->options.inherits_pipeline) return true;
  if (!ready_to_dispatch(kExecute)) return false;
  if (!pipeline_->for_indirect) {
    misuse(kExecute, "the inherited pipeline was made without supportIndirectCommandBuffers");
  }
  return true;
}

void ComputeEncoderObject::check_alive(const PreparedList& prepared) {
  for (const auto& life : prepared.lives) {
    if (life->alive) continue;
    return violation(kExecute, str(life->named("buffer"), " bound by a command was released"));
  }
}

void ComputeEncoderObject::encode(IndirectBufferObject* commands, Execute execute) {
  Work& work = this->work();
  work.hold(commands,
            {.role = UsePlace::kDeclared, .call = kExecute, .kind = "indirect command buffer"});
  execute.source = commands->commands.get();
  if (commands->commands->inherits()) {
    const auto inheriting = make<InheritingCommands>(
        commands->commands,
        InheritedState{pipeline_, slots_, work.list.inline_bytes, threadgroup_bytes_});
    work.keep(inheriting.get());
    execute.source = inheriting.get();
  }
  // What is wrong with a command comes out when it runs: it may change until then. This makes what
  // there is ready on the thread that encodes.
  const auto prepared = execute.source->current();
  if (validates()) check_alive(*prepared);
  if (dispatchType == MTL::DispatchTypeSerial) work.barrier();
  work.list.commands.emplace_back(execute);
}

}  // namespace mlxn::rt
