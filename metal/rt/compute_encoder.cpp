// Compute encoding: bindings, the checks of a dispatch against the kernel's reflection, dispatches.
#include "metal/rt/compute_encoder.h"

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

Status ComputeEncoderObject::check_index(uint64_t index) const {
  if (index < MSL_MAX_BUFFERS) return {};
  return invalid(str("index ", index, ", expected 0 to ", MSL_MAX_BUFFERS - 1));
}

void ComputeEncoderObject::set_pipeline(PipelineObject* pipeline) {
  constexpr const char* kCall = "setComputePipelineState";
  if (!can_encode(kCall) || !check_object(kCall, pipeline, "pipeline state")) return;
  pipeline_ = Ref(pipeline);
}

void ComputeEncoderObject::set_buffer(std::string_view call, BufferObject* target, uint64_t offset,
                                      uint64_t index) {
  if (!can_encode(call)) return;
  if (auto status = check_index(index); !status) return violation(call, status.error().message());
  if (!target) {
    slots_[index] = Slot();  // null unbinds
    return;
  }
  if (!check_object(call, target, "buffer")) return;
  if (offset > target->length) {
    return violation(call, str("offset ", offset, " at index ", index,
                               ", expected at most the buffer's length ", target->length));
  }
  slots_[index] = {Ref(target), offset, 0};
}

void ComputeEncoderObject::set_offset(uint64_t offset, uint64_t index) {
  constexpr const char* kCall = "setBufferOffset";
  if (!can_encode(kCall)) return;
  if (auto status = check_index(index); !status) return violation(kCall, status.error().message());
  Slot& slot = slots_[index];
  if (!slot.buffer) return violation(kCall, str("no buffer is bound at index ", index));
  if (offset > slot.buffer->length) {
    return violation(kCall, str("offset ", offset, " at index ", index,
                                ", expected at most the buffer's length ", slot.buffer->length));
  }
  slot.offset = offset;
}

void ComputeEncoderObject::set_bytes(const void* bytes, uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setBytes";
  if (!can_encode(kCall)) return;
  if (auto status = check_index(index); !status) return violation(kCall, status.error().message());
  if (!bytes) return violation(kCall, "null pointer, expected the bytes to copy");
  if (length == 0 || length > kMaxInlineBytes) {
    return violation(kCall, str("length ", length, ", expected 1 to ", kMaxInlineBytes));
  }
  auto& store = list().inline_bytes;
  const size_t at = (store.size() + kInlineAlignment - 1) / kInlineAlignment * kInlineAlignment;
  store.resize(at + length);
  std::memcpy(store.data() + at, bytes, length);
  slots_[index] = {nullptr, at, length};
}

void ComputeEncoderObject::set_threadgroup_memory(uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setThreadgroupMemoryLength";
  if (!can_encode(kCall)) return;
  if (auto status = check_index(index); !status) return violation(kCall, status.error().message());
  const uint64_t most = buffer->device().info().max_threadgroup_memory;
  if (length > most) {
    return violation(kCall, str("length ", length, ", expected at most ", most));
  }
  if (length % kThreadgroupGranule != 0) {
    return violation(kCall,
                     str("length ", length, ", expected a multiple of ", kThreadgroupGranule));
  }
  threadgroup_bytes_[index] = length;
}

void ComputeEncoderObject::use_allocation(std::string_view call, AllocationObject* object,
                                          const char* kind) {
  if (!can_encode(call) || !check_object(call, object, kind)) return;
  buffer->use(object, [&] { return str(object->named(kind), " declared by ", call); });
}

void ComputeEncoderObject::memory_barrier(std::string_view call) {
  if (can_encode(call)) buffer->barrier();
}

Status ComputeEncoderObject::check_group(Size3 group) const {
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

Status ComputeEncoderObject::check_buffer(const msl::ArgumentInfo& argument) const {
  const std::string where = str("argument '", argument.name, "' at buffer index ", argument.index);
  if (argument.index >= MSL_MAX_BUFFERS) return invalid(str(where, " is out of range"));
  const Slot& slot = slots_[argument.index];
  if (!slot.bound()) {
    if (!argument.active) return {};
    return invalid(str(where, " has no buffer bound"));
  }
  if (slot.buffer && argument.active && argument.alignment > 1 &&
      (slot.buffer->offset + slot.offset) % argument.alignment != 0) {
    return invalid(
        str(where, " has offset ", slot.offset, ", expected a multiple of ", argument.alignment));
  }
  if (argument.is_reference && argument.active && slot.available() < argument.data_size) {
    return invalid(
        str(where, " needs ", argument.data_size, " bytes, but ", slot.available(), " are bound"));
  }
  return {};
}

Result<uint64_t> ComputeEncoderObject::check_threadgroup_memory() const {
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
  return total;
}

Status ComputeEncoderObject::check_state(Size3 group) const {
  MLXN_TRY(check_group(group));
  for (const msl::ArgumentInfo& argument : pipeline_->kernel().arguments) {
    if (argument.kind == msl::ArgumentKind::kBuffer) MLXN_TRY(check_buffer(argument));
  }
  auto memory = check_threadgroup_memory();
  if (!memory) return memory.error();
  return {};
}

void ComputeEncoderObject::bind(Dispatch& dispatch, uint32_t index) {
  const Slot& slot = slots_[index];
  if (!slot.bound()) return;
  if (!slot.buffer) {
    dispatch.bindings.push_back({index, nullptr, slot.offset, slot.size});
    return;
  }
  dispatch.bindings.push_back(
      {index, slot.buffer->memory, slot.buffer->offset + slot.offset, slot.available()});
  buffer->use(slot.buffer.get(), [&] {
    return str(slot.buffer->named("buffer"), " bound at index ", index, " of dispatch '",
               dispatch.label, "'");
  });
}

void ComputeEncoderObject::encode(std::string_view call, Size3 grid, Size3 group,
                                  BufferObject* indirect, uint64_t indirect_offset) {
  const std::string name = pipeline_->kernel().name;
  if (auto status = check_state(group); !status) {
    return violation(call, str("kernel '", name, "': ", status.error().message()));
  }
  Dispatch dispatch;
  dispatch.pipeline = pipeline_->pipeline;
  dispatch.label = name;
  dispatch.threads_per_grid = grid;
  dispatch.threads_per_threadgroup = group;
  if (indirect) {
    dispatch.indirect = indirect->memory;
    dispatch.indirect_offset = indirect->offset + indirect_offset;
    buffer->use(indirect, [&] {
      return str(indirect->named("buffer"), " with indirect arguments of '", name, "'");
    });
  }
  const auto& arguments = pipeline_->kernel().arguments;
  dispatch.bindings.reserve(arguments.size());
  if (buffer->device().info().compiles) {
    for (const msl::ArgumentInfo& argument : arguments) {
      if (argument.kind == msl::ArgumentKind::kBuffer) bind(dispatch, argument.index);
    }
  } else {
    for (uint32_t index = 0; index < MSL_MAX_BUFFERS; ++index) bind(dispatch, index);
  }
  for (uint32_t index = 0; index < threadgroup_bytes_.size(); ++index) {
    if (threadgroup_bytes_[index]) {
      dispatch.threadgroup_memory.push_back({index, threadgroup_bytes_[index]});
    }
  }
  buffer->use(pipeline_.get(), [&] { return str("pipeline of dispatch '", name, "'"); });
  if (dispatchType == MTL::DispatchTypeSerial) buffer->barrier();
  list().commands.emplace_back(std::move(dispatch));
}

void ComputeEncoderObject::dispatch_threads(Size3 grid, Size3 group) {
  constexpr const char* kCall = "dispatchThreads";
  if (!can_encode(kCall)) return;
  if (!pipeline_) return violation(kCall, "no pipeline; call setComputePipelineState first");
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  for (uint64_t extent : {grid.x, grid.y, grid.z}) {
    if (extent == 0 || extent > kMost) {
      return violation(kCall, str("threads per grid ", to_text(grid), ", expected 1 to ", kMost,
                                  " in each dimension"));
    }
  }
  encode(kCall, grid, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_threadgroups(Size3 count, Size3 group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!can_encode(kCall)) return;
  if (!pipeline_) return violation(kCall, "no pipeline; call setComputePipelineState first");
  if (auto status = check_group(group); !status) {
    return violation(kCall,
                     str("kernel '", pipeline_->kernel().name, "': ", status.error().message()));
  }
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  const uint64_t counts[] = {count.x, count.y, count.z}, sizes[] = {group.x, group.y, group.z};
  for (int i = 0; i < 3; ++i) {
    if (counts[i] == 0 || counts[i] > kMost / sizes[i]) {
      return violation(kCall, str("threadgroups per grid ", to_text(count), " of ", to_text(group),
                                  " threads, expected 1 to ", kMost, " threads in each dimension"));
    }
  }
  encode(kCall, {count.x * group.x, count.y * group.y, count.z * group.z}, group, nullptr, 0);
}

void ComputeEncoderObject::dispatch_indirect(BufferObject* target, uint64_t offset, Size3 group) {
  constexpr const char* kCall = "dispatchThreadgroups";
  if (!can_encode(kCall)) return;
  if (!pipeline_) return violation(kCall, "no pipeline; call setComputePipelineState first");
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
