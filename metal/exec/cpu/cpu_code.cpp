#include "metal/exec/cpu/cpu_code.h"

#include <algorithm>

#include "metal/exec/cpu/target_levels.h"
#include "metal/msl/kernel_abi.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint64_t kMaxFrame = uint64_t{1} << 20;
constexpr uint64_t kContextAlignment = 64;

Error refused(std::string what) {
  return Error(ErrorCode::kPipelineFailed, std::move(what));
}

Status check_context(const msl::Kernel& kernel) {
  for (uint64_t bytes : {kernel.context_bytes, kernel.context_bytes_per_simdgroup}) {
    if (bytes % kContextAlignment != 0 || bytes > kMaxScratch) {
      return refused(str("context of ", bytes, " bytes, expected a multiple of ", kContextAlignment,
                         " up to ", kMaxScratch));
    }
  }
  return {};
}

Status check_kernel(const msl::Kernel& kernel) {
  switch (kernel.tier) {
    case msl::Tier::kWorkItemLoop: break;
    case msl::Tier::kRegions:
    case msl::Tier::kMaskedRegions: MLXN_TRY(check_context(kernel)); break;
    case msl::Tier::kCoroutine:
      if (kernel.frame_bytes == 0 || kernel.frame_bytes % 64 != 0 ||
          kernel.frame_bytes > kMaxFrame) {
        return refused(str("frame of ", kernel.frame_bytes,
                           " bytes, expected a multiple of 64 up to ", kMaxFrame));
      }
      break;
    default:
      return refused(str("tier ", static_cast<int>(kernel.tier), ", expected 0 to ",
                         static_cast<int>(msl::Tier::kCoroutine)));
  }
  if (kernel.static_threadgroup_bytes > kMaxScratch) {
    return refused(str(kernel.static_threadgroup_bytes,
                       " bytes of threadgroup memory, expected at most ", kMaxScratch));
  }
  return {};
}

Result<uint32_t> needed(const msl::Kernel& kernel, msl::ArgumentKind kind) {
  static_assert(MSL_MAX_BUFFERS < 32 && MSL_MAX_THREADGROUP_BUFFERS < 32);
  uint32_t bits = 0;
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind != kind || !argument.active) continue;
    if (argument.index >= MSL_MAX_BUFFERS) {
      return refused(str("argument \"", argument.name, "\" has index ", argument.index,
                         ", expected below ", MSL_MAX_BUFFERS));
    }
    bits |= 1u << argument.index;
  }
  return bits;
}

Result<std::shared_ptr<CpuCode>> load(const msl::Image& image, const msl::Kernel& kernel) {
  auto code = std::make_shared<CpuCode>();
  MLXN_TRY(check_kernel(kernel));
  MLXN_ASSIGN(code->object, LoadedObject::load(image.code));
  MLXN_ASSIGN(code->entry, code->object->find_function(kernel.symbol));
  code->kernel = kernel;
  MLXN_ASSIGN(code->needed_buffers, needed(kernel, msl::ArgumentKind::kBuffer));
  MLXN_ASSIGN(code->needed_threadgroup_memory,
              needed(kernel, msl::ArgumentKind::kThreadgroupMemory));
  return code;
}

// Whether a machine of this target runs code for the target with that key.
bool runs(const msl::Target& target, const std::string& key) {
  return key == target.to_key() ||
         std::ranges::any_of(plain_levels(target),
                             [&](const msl::Target& level) { return level.to_key() == key; });
}

}  // namespace

Result<std::shared_ptr<const CpuCode>> load_code(const msl::Image& image, const std::string& kernel,
                                                 const msl::Target& target, ThreadOrder order) {
  if (!runs(target, image.target)) {
    return refused(str("kernel \"", kernel, "\" was compiled for \"", image.target,
                       "\", this device runs \"", target.to_key(), "\""));
  }
  auto found = std::ranges::find(image.kernels, kernel, &msl::Kernel::name);
  if (found == image.kernels.end()) {
    return Error(ErrorCode::kFunctionNotFound, str("the image has no kernel \"", kernel, "\""));
  }
  auto code = load(image, *found);
  if (!code) return std::move(code).error().add_context(str("kernel \"", kernel, "\""));
  (*code)->thread_order = order;
  return std::shared_ptr<const CpuCode>(std::move(*code));
}

}  // namespace mlxn::cpu
