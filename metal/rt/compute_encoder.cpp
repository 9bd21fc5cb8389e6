// Compute encoding: bindings, the checks of a dispatch against the kernel's reflection, dispatches.
#include "metal/rt/compute_encoder.h"

#include <bit>
#include <cstring>
#include <limits>

#include "mlxn/base/checked.h"

namespace mlxn::rt {
namespace {

constexpr uint64_t kMaxInlineBytes = 4096;
constexpr uint64_t kThreadgroupGranule = 16;
constexpr uint64_t kInlineAlignment = 16;

std::string to_text(Size3 size) {
  return str("(", size.x, ", ", size.y, ", ", size.z, ")");
}

Error invalid(std::string text) {
  return Error(ErrorCode::kInvalidArgument, std::move(text));
}

}  // namespace

void ComputeEncoderObject::wrong_index(std::string_view call, uint64_t index) {
  violation(call, str("index ", index, ", expected 0 to ", MSL_MAX_BUFFERS - 1));
}

void ComputeEncoderObject::wrong_offset(std::string_view call, uint64_t offset, uint64_t index,
                                        uint64_t length) {
  violation(call, str("offset ", offset, " at index ", index,
                      ", expected at most the buffer's length ", length));
}

void ComputeEncoderObject::wrong_dispatch(std::string_view call, const Error& error) {
  violation(call, str("kernel '", pipeline_->kernel().name, "': ", error.message()));
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
  Slot& slot = slots_[index];
  if (!slot.memory) return violation(kCall, str("no buffer is bound at index ", index));
  if (offset > slot.length) return wrong_offset(kCall, offset, index, slot.length);
  slot.offset = offset;
}

void ComputeEncoderObject::set_bytes(const void* bytes, uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setBytes";
  if (!can_encode(kCall)) return;
  if (index >= MSL_MAX_BUFFERS) return wrong_index(kCall, index);
  if (!bytes) return violation(kCall, "null pointer, expected the bytes to copy");
  if (length == 0 || length > kMaxInlineBytes) {
    return violation(kCall, str("length ", length, ", expected 1 to ", kMaxInlineBytes));
  }
  auto& store = work().list.inline_bytes;
  const size_t at = (store.size() + kInlineAlignment - 1) / kInlineAlignment * kInlineAlignment;
  store.resize(at + length);
  std::memcpy(store.data() + at, bytes, length);
  slots_[index] = {nullptr, at, 0, length, 0};
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
    return violation(kCall,
                     str("length ", length, ", expected a multiple of ", kThreadgroupGranule));
  }
  threadgroup_bytes_[index] = length;
  const uint32_t bit = 1u << index;
  threadgroup_indices_ = length ? threadgroup_indices_ | bit : threadgroup_indices_ & ~bit;
  threadgroup_memory_accepted_ = false;
}

void ComputeEncoderObject::use_allocation(std::string_view call, AllocationObject* object,
                                          const char* kind) {
  if (!can_encode(call) || !check_object(call, object, kind)) return;
  work().hold(object, {.role = UsePlace::kDeclared, .call = call, .kind = kind});
}

void ComputeEncoderObject::memory_barrier(std::string_view call) {
  if (can_encode(call)) work().barrier();
}

Status ComputeEncoderObject::check_group(const Size3& group) const {
  const uint64_t most = pipeline_->maxTotalThreadsPerThreadgroup;
  for (uint64_t extent : {group.x, group.y, group.z}) {
    if (extent == 0 || extent > most) {
      return invalid(str("threads per threadgroup ", to_text(group), ", expected 1 to ", most,
                         " in each dimension"));
    }
  }
  const uint64_t total = group.x * group.y * group.z;  // each is at most 1024
  if (total > most) {
    return invalid(str("threads per threadgroup ", to_text(group), " are ", total,
                       " threads, expected at most the pipeline's ", most));
  }
  const Size3& required = pipeline_->required;
  if (required.x != 0 &&
      (group.x != required.x || group.y != required.y || group.z != required.z)) {
    return invalid(str("threads per threadgroup ", to_text(group),
                       ", expected exactly the required ", to_text(required)));
  }
  if (pipeline_->whole_simdgroups && total % MSL_SIMD_WIDTH != 0) {
    return invalid(str("threads per threadgroup ", to_text(group), " are ", total,
                       " threads, expected a multiple of ", MSL_SIMD_WIDTH,
                       " as the pipeline promises"));
  }
  return {};
}

ComputeEncoderObject::Problem ComputeEncoderObject::check_slot(
    const Slot& slot, const BufferRequirement& requirement) {
  if (!slot.bound()) return requirement.required ? Problem::kUnbound : Problem::kNone;
  if (slot.memory && (slot.start() & requirement.alignment_mask) != 0) return Problem::kMisaligned;
  return slot.available() < requirement.least_bytes ? Problem::kTooShort : Problem::kNone;
}

Error ComputeEncoderObject::explain(Problem problem, const Slot& slot,
                                    const msl::ArgumentInfo& argument) {
  const std::string where = str("argument '", argument.name, "' at buffer index ", argument.index);
  switch (problem) {
    case Problem::kMisaligned:
      return invalid(
          str(where, " has offset ", slot.offset, ", expected a multiple of ", argument.alignment));
    case Problem::kTooShort:
      return invalid(str(where, " needs ", argument.data_size, " bytes, but ", slot.available(),
                         " are bound"));
    default: return invalid(str(where, " has no buffer bound"));
  }
}

Status ComputeEncoderObject::check_threadgroup_memory() const {
  uint64_t total = pipeline_->kernel().static_threadgroup_bytes;
  for (const msl::ArgumentInfo& argument : pipeline_->kernel().arguments) {
    if (argument.kind != msl::ArgumentKind::kThreadgroupMemory) continue;
    const uint64_t bytes =
        argument.index < threadgroup_bytes_.size() ? threadgroup_bytes_[argument.index] : 0;
    if (bytes == 0 && argument.active) {
      return invalid(str("argument '", argument.name, "' at threadgroup index ", argument.index,
                         " has no memory; call setThreadgroupMemoryLength"));
    }
    total += bytes;
  }
  const uint64_t most = buffer->device().info().max_threadgroup_memory;
  if (total > most) {
    return invalid(str("threadgroup memory ", total, " bytes (",
                       pipeline_->kernel().static_threadgroup_bytes, " static), expected at most ",
                       most));
  }
  return {};
}

bool ComputeEncoderObject::accepts(std::string_view call, const Size3& group) {
  if (accepted_group_ == group) return true;
  if (auto status = check_group(group); !status) {
    wrong_dispatch(call, status.error());
    return false;
  }
  accepted_group_ = group;
  return true;
}

void ComputeEncoderObject::bind(uint32_t index) {
  const Slot& slot = slots_[index];
  if (!slot.bound()) return;
  work().list.bindings.push_back({index, slot.memory, slot.start(), slot.available()});
  if (slot.memory && !work().retained()) work().mark_used(slot.watch, &pipeline_->first());
}

// Checks what is bound and appends it; on failure the list is as before.
bool ComputeEncoderObject::bind_buffers(std::string_view call) {
  auto& bindings = work().list.bindings;
  const size_t first = bindings.size();
  for (const BufferRequirement& requirement : pipeline_->buffers) {
    const Slot& slot = slots_[requirement.index];
    const Problem problem = check_slot(slot, requirement);
    if (problem != Problem::kNone) {
      bindings.resize(first);
      wrong_dispatch(call, explain(problem, slot, *requirement.argument));
      return false;
    }
    bind(requirement.index);
  }
  if (!compiles_) {  // no reflection: all that is bound
    for (uint32_t index = 0; index < MSL_MAX_BUFFERS; ++index) bind(index);
  }
  if (threadgroup_memory_accepted_) return true;
  if (auto status = check_threadgroup_memory(); !status) {
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
}

bool ComputeEncoderObject::choose_code(std::string_view call, const Size3& grid, const Size3& group,
                                       DispatchCode& code) {
  if (pipeline_->code->covers_all()) {
    code.pipeline = &pipeline_->first();
    return true;
  }
  auto chosen = pipeline_->code_for(grid, group);
  if (!chosen) {
    wrong_dispatch(call, chosen.error());
    return false;
  }
  code = *chosen;
  return true;
}

void ComputeEncoderObject::encode(std::string_view call, const Size3& grid, const Size3& group,
                                  BufferObject* indirect, uint64_t indirect_offset) {
  Work& work = this->work();
  CommandList& list = work.list;
  const size_t first_binding = list.bindings.size();
  const size_t first_threadgroup_memory = list.threadgroup_memory.size();
  DispatchCode code;
  if (!accepts(call, group) || !choose_code(call, grid, group, code) || !bind_buffers(call)) return;
  add_threadgroup_memory();
  const Pipeline* pipeline = &pipeline_->first();
  if (indirect) work.hold(indirect, {.role = UsePlace::kIndirect, .pipeline = pipeline});
  if (!pipeline_held_) {
    work.hold(pipeline_.get(), {.role = UsePlace::kPipeline, .pipeline = pipeline});
    pipeline_held_ = true;
  }
  if (dispatchType == MTL::DispatchTypeSerial) work.barrier();
  auto& dispatch =
      *std::get_if<Dispatch>(&list.commands.emplace_back(std::in_place_type<Dispatch>));
  dispatch.pipeline = code.pipeline;
  dispatch.edge_pipeline = code.edge;
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
  if (!ready_to_dispatch(kCall)) return;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  for (uint64_t extent : {grid.x, grid.y, grid.z}) {
    if (extent == 0 || extent > kMost) {
      return violation(kCall, str("threads per grid ", to_text(grid), ", expected 1 to ", kMost,
                                  " in each dimension"));
    }
  }
  encode(kCall, grid, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_threadgroups(const Size3& count, const Size3& group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!ready_to_dispatch(kCall)) return;
  if (!accepts(kCall, group)) return;
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  const uint64_t counts[] = {count.x, count.y, count.z}, sizes[] = {group.x, group.y, group.z};
  for (int i = 0; i < 3; ++i) {
    // A group has at most 1024 threads, so the product fits.
    if (counts[i] == 0 || counts[i] > kMost || counts[i] * sizes[i] > kMost) {
      return violation(kCall, str("threadgroups per grid ", to_text(count), " of ", to_text(group),
                                  " threads, expected 1 to ", kMost, " threads in each dimension"));
    }
  }
  encode(kCall, {count.x * group.x, count.y * group.y, count.z * group.z}, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_indirect(BufferObject* target, uint64_t offset,
                                             const Size3& group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!ready_to_dispatch(kCall)) return;
  if (!check_object(kCall, target, "indirect buffer")) return;
  constexpr uint64_t kBytes = sizeof(MTL::DispatchThreadgroupsIndirectArguments);
  if (offset % sizeof(uint32_t) != 0 || !span_fits(offset, kBytes, target->length)) {
    return violation(
        kCall, str("indirect buffer offset ", offset, ", expected a multiple of 4 with ", kBytes,
                   " bytes within the length ", target->length));
  }
  encode(kCall, group, group, target, offset);
}

}  // namespace mlxn::rt
