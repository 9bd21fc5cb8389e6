// The checks of compute encoding: of a dispatch against the pipeline and the kernel's reflection.
// What would be unsafe to run is always a violation; the rest only if the device validates.
#include <limits>

#include "metal/rt/encode/compute_encoder.h"
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

// Metal does nothing then, and says so only where it validates.
bool ComputeEncoderObject::is_no_work(const Size3& grid, const Size3& group) const {
  auto empty = [](const Size3& size) { return size.x == 0 || size.y == 0 || size.z == 0; };
  return !validates() && (empty(grid) || empty(group));
}

bool ComputeEncoderObject::check_grid(std::string_view call, const Size3& grid) {
  for (uint64_t extent : {grid.x, grid.y, grid.z}) {
    if (extent != 0 && extent <= kMostThreads) continue;
    violation(call, str("threads per grid ", to_text(grid), ", expected 1 to ", kMostThreads,
                        " in each dimension"));
    return false;
  }
  return true;
}

bool ComputeEncoderObject::check_counts(std::string_view call, const Size3& count,
                                        const Size3& group) {
  const uint64_t counts[] = {count.x, count.y, count.z}, sizes[] = {group.x, group.y, group.z};
  for (int i = 0; i < 3; ++i) {
    // A group has at most 1024 threads, so the product fits.
    const bool fits = counts[i] <= kMostThreads && counts[i] * sizes[i] <= kMostThreads;
    if (counts[i] != 0 && fits) continue;
    violation(call, str("threadgroups per grid ", to_text(count), " of ", to_text(group),
                        " threads, expected 1 to ", kMostThreads, " threads in each dimension"));
    return false;
  }
  return true;
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
  if (validates() && pipeline_->whole_simdgroups && total % MSL_SIMD_WIDTH != 0) {
    return invalid(str("threads per threadgroup ", to_text(group), " are ", total,
                       " threads, expected a multiple of ", MSL_SIMD_WIDTH,
                       " as the pipeline promises"));
  }
  return {};
}

ComputeEncoderObject::Problem ComputeEncoderObject::check_slot(
    const Slot& slot, const BufferRequirement& requirement) const {
  const bool strict = validates();
  if (!slot.bound()) return requirement.required && strict ? Problem::kUnbound : Problem::kNone;
  if (!slot.memory && !strict) return Problem::kNone;  // bind_argument adds what is missing
  if (strict && slot.memory && (slot.start() & requirement.alignment_mask) != 0) {
    return Problem::kMisaligned;
  }
  const uint64_t there = strict ? slot.available() : slot.reachable();
  return there < requirement.least_bytes ? Problem::kTooShort : Problem::kNone;
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
    if (bytes == 0 && argument.active && validates()) {
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

}  // namespace mlxn::rt
