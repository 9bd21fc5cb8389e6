#include "mlxn/core/encode/internal/dispatch_checks.h"

#include <bit>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

constexpr uint64_t kMaxThreads = UINT32_MAX;  // in one dimension of a grid

std::string to_text(MTL::Size size) {
  const uint64_t x = size.width, y = size.height, z = size.depth;
  return str("(", x, ", ", y, ", ", z, ")");
}

Error wrong(const Dispatch& dispatch, ErrorCode code, const std::string& why) {
  const std::string name = dispatch.pipeline ? dispatch.pipeline.key() : "none";
  return Error(code, str("dispatch of kernel '", name, "': ", why));
}

bool fits(uint64_t count, uint64_t size) {
  return count != 0 && size != 0 && count <= kMaxThreads / size;
}

Status check_bindings(const Context& context, const Dispatch& dispatch) {
  uint32_t bound = 0;
  const auto too_short = [&](uint64_t size, const char* what, uint32_t slot) {
    return str(size, " ", what, ", expected at least ", dispatch.pipeline.argument_bytes(slot),
               " for ", dispatch.pipeline.argument_name(slot));
  };
  for (const Binding& binding : dispatch.bindings) {
    const uint32_t slot = binding.slot;
    const auto problem = [&](ErrorCode code, const std::string& why) {
      return wrong(dispatch, code, str("slot ", slot, ": ", why));
    };
    if (slot >= kMaxBufferSlots) {
      return problem(ErrorCode::kOutOfRange, str("expected less than ", kMaxBufferSlots));
    }
    if (bound >> slot & 1) return problem(ErrorCode::kInvalidArgument, "bound twice");
    bound |= 1u << slot;
    const Buffer* buffer = binding.arg.buffer;
    if (!buffer) {
      const uint64_t size = binding.arg.bytes.size();
      if (size == 0 || size > kMaxInlineBytes) {
        return problem(ErrorCode::kInvalidArgument,
                       str(size, " inline bytes, expected 1 to ", kMaxInlineBytes));
      }
      if (size < dispatch.pipeline.argument_bytes(slot)) {
        return problem(ErrorCode::kInvalidArgument, too_short(size, "inline bytes", slot));
      }
      continue;
    }
    if (!*buffer) return problem(ErrorCode::kInvalidArgument, "the buffer is empty");
    if (buffer->storage()->context.get() != &context) {
      return problem(ErrorCode::kInvalidArgument,
                     buffer->to_string() + " belongs to another device");
    }
    if (binding.arg.offset >= buffer->byte_len()) {
      return problem(ErrorCode::kOutOfRange, str("offset ", binding.arg.offset,
                                                 ", expected less than ", buffer->byte_len()));
    }
    const uint64_t reachable =
        buffer->allocation_length() - buffer->byte_offset() - binding.arg.offset;
    if (reachable < dispatch.pipeline.argument_bytes(slot)) {
      return problem(ErrorCode::kInvalidArgument,
                     too_short(reachable, "bytes of the allocation", slot));
    }
  }
  if (const uint32_t missing = dispatch.pipeline.access().required & ~bound) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(missing));
    return wrong(dispatch, ErrorCode::kInvalidArgument,
                 str(dispatch.pipeline.argument_name(slot), " at slot ", slot, " is not bound"));
  }
  if (!dispatch.declared) return {};
  MLXN_TRY(check_declared(dispatch.reads));
  return check_declared(dispatch.writes);
}

Status check_threadgroup_memory(const Context& context, const Dispatch& dispatch) {
  if (dispatch.threadgroup_memory.empty() && dispatch.pipeline.threadgroup_slots() == 0) return {};
  uint32_t set = 0;
  uint64_t total = dispatch.pipeline.static_threadgroup_bytes();
  const uint64_t most = context.limits.max_threadgroup_memory;
  for (const ThreadgroupMemory& memory : dispatch.threadgroup_memory) {
    if (memory.index >= kMaxBufferSlots || memory.bytes == 0) {
      return wrong(dispatch, ErrorCode::kInvalidArgument,
                   str("threadgroup memory of ", memory.bytes, " bytes at index ", memory.index,
                       ", expected at least 1 byte and an index below ", kMaxBufferSlots));
    }
    set |= 1u << memory.index;
    if (memory.bytes <= most) total += threadgroup_bytes(memory.bytes);
    if (memory.bytes > most || total > most) {
      return wrong(dispatch, ErrorCode::kInvalidArgument,
                   str("threadgroup memory of more than ", most, " bytes"));
    }
  }
  if (const uint32_t missing = dispatch.pipeline.threadgroup_slots() & ~set) {
    return wrong(dispatch, ErrorCode::kInvalidArgument,
                 str("threadgroup memory at index ", std::countr_zero(missing), " is not given"));
  }
  return {};
}

}  // namespace

Status check_dispatch(const Context& context, const Dispatch& dispatch) {
  if (!dispatch.pipeline) {
    return wrong(dispatch, ErrorCode::kInvalidArgument, "no pipeline");
  }
  if (dispatch.pipeline.state()->device != context.device.get()) {
    return wrong(dispatch, ErrorCode::kInvalidArgument, "the pipeline belongs to another device");
  }
  const MTL::Size grid = dispatch.grid, group = dispatch.threadgroup;
  const bool threads = dispatch.kind == DispatchKind::kThreads;
  const uint64_t most = dispatch.pipeline.max_threads();
  const uint64_t x = group.width, y = group.height, z = group.depth;
  if (x == 0 || y == 0 || z == 0 || x > most || y > most || z > most || x * y * z > most) {
    return wrong(dispatch, ErrorCode::kInvalidArgument,
                 str("threadgroup ", to_text(group), ", expected 1 to ", most, " threads"));
  }
  if (!fits(grid.width, threads ? 1 : x) || !fits(grid.height, threads ? 1 : y) ||
      !fits(grid.depth, threads ? 1 : z)) {
    return wrong(dispatch, ErrorCode::kInvalidArgument,
                 str("grid ", to_text(grid), threads ? " threads" : " threadgroups",
                     ", expected 1 to ", kMaxThreads, " threads in each dimension"));
  }
  MLXN_TRY(check_bindings(context, dispatch));
  return check_threadgroup_memory(context, dispatch);
}

Status check_declared(ArrayRef<const Buffer*> buffers) {
  for (const Buffer* buffer : buffers) {
    if (buffer && *buffer) continue;
    return Error(ErrorCode::kInvalidArgument, "a declared buffer is empty");
  }
  return {};
}

}  // namespace mlxn
