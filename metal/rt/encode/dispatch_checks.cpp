#include "metal/rt/encode/dispatch_checks.h"

#include <limits>

#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

constexpr uint64_t kMostThreads = std::numeric_limits<uint32_t>::max();

std::string to_text(Size3 size) {
  return str("(", size.x, ", ", size.y, ", ", size.z, ")");
}

Error invalid(std::string text) {
  return Error(ErrorCode::kInvalidArgument, std::move(text));
}

}  // namespace

uint64_t aligned(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

bool is_no_work(const Size3& grid, const Size3& group, bool strict) {
  auto empty = [](const Size3& size) { return size.x == 0 || size.y == 0 || size.z == 0; };
  return !strict && (empty(grid) || empty(group));
}

Status check_grid(const Size3& grid) {
  for (uint64_t extent : {grid.x, grid.y, grid.z}) {
    if (extent != 0 && extent <= kMostThreads) continue;
    return invalid(str("threads per grid ", to_text(grid), ", expected 1 to ", kMostThreads,
                       " in each dimension"));
  }
  return {};
}

Status check_counts(const Size3& count, const Size3& group) {
  const uint64_t counts[] = {count.x, count.y, count.z}, sizes[] = {group.x, group.y, group.z};
  for (int i = 0; i < 3; ++i) {
    // A group has at most 1024 threads, so the product fits.
    const bool fits = counts[i] <= kMostThreads && counts[i] * sizes[i] <= kMostThreads;
    if (counts[i] != 0 && fits) continue;
    return invalid(str("threadgroups per grid ", to_text(count), " of ", to_text(group),
                       " threads, expected 1 to ", kMostThreads, " threads in each dimension"));
  }
  return {};
}

Status check_group(const PipelineObject& pipeline, const Size3& group, bool strict) {
  const uint64_t most = pipeline.maxTotalThreadsPerThreadgroup;
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
  const Size3& required = pipeline.required;
  if (required.x != 0 &&
      (group.x != required.x || group.y != required.y || group.z != required.z)) {
    return invalid(str("threads per threadgroup ", to_text(group),
                       ", expected exactly the required ", to_text(required)));
  }
  if (strict && pipeline.whole_simdgroups && total % MSL_SIMD_WIDTH != 0) {
    return invalid(str("threads per threadgroup ", to_text(group), " are ", total,
                       " threads, expected a multiple of ", MSL_SIMD_WIDTH,
                       " as the pipeline promises"));
  }
  return {};
}

SlotProblem check_slot(const BufferSlot& slot, const BufferRequirement& requirement, bool strict) {
  using enum SlotProblem;
  if (!slot.bound()) return requirement.required && strict ? kUnbound : kNone;
  if (!slot.memory && !strict) return kNone;  // the encoder adds what is missing
  if (strict && slot.memory && (slot.start() & requirement.alignment_mask) != 0) {
    return kMisaligned;
  }
  const uint64_t there = strict ? slot.available() : slot.reachable();
  return there < requirement.least_bytes ? kTooShort : kNone;
}

Error explain(SlotProblem problem, const BufferSlot& slot, const msl::ArgumentInfo& argument) {
  const std::string where = str("argument '", argument.name, "' at buffer index ", argument.index);
  switch (problem) {
    case SlotProblem::kMisaligned:
      return invalid(
          str(where, " has offset ", slot.offset, ", expected a multiple of ", argument.alignment));
    case SlotProblem::kTooShort:
      return invalid(str(where, " needs ", argument.data_size, " bytes, but ", slot.available(),
                         " are bound"));
    default: return invalid(str(where, " has no buffer bound"));
  }
}

Status check_threadgroup_memory(const PipelineObject& pipeline, std::span<const uint64_t> bytes,
                                uint64_t most, bool strict) {
  const msl::Kernel& kernel = pipeline.kernel();
  uint64_t total = kernel.static_threadgroup_bytes;
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind != msl::ArgumentKind::kThreadgroupMemory) continue;
    const uint64_t length = argument.index < bytes.size() ? bytes[argument.index] : 0;
    if (length == 0 && argument.active && strict) {
      return invalid(str("argument '", argument.name, "' at threadgroup index ", argument.index,
                         " has no memory; call setThreadgroupMemoryLength"));
    }
    total += length;
  }
  if (total > most) {
    return invalid(str("threadgroup memory ", total, " bytes (", kernel.static_threadgroup_bytes,
                       " static), expected at most ", most));
  }
  return {};
}

}  // namespace mlxn::rt
