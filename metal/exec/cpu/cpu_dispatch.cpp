#include "metal/exec/cpu/cpu_dispatch.h"

#include <algorithm>
#include <cstring>

#include "metal/exec/cpu/coroutine_scheduler.h"
#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr uint64_t kMaxScratch = uint64_t{1} << 30;
constexpr uint64_t kMaxFrame = uint64_t{1} << 20;

Error invalid(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

std::string to_text(const rt::Size3& size) {
  return str(size.x, " x ", size.y, " x ", size.z);
}

Status check_kernel(const msl::Kernel& kernel) {
  const bool coroutine = kernel.tier == msl::Tier::kCoroutine;
  if (!coroutine && kernel.tier != msl::Tier::kWorkItemLoop) {
    return Error(ErrorCode::kPipelineFailed,
                 str("tier ", static_cast<int>(kernel.tier), " is not known to the CPU executor"));
  }
  if (coroutine &&
      (kernel.frame_bytes == 0 || kernel.frame_bytes % 64 != 0 || kernel.frame_bytes > kMaxFrame)) {
    return Error(ErrorCode::kPipelineFailed,
                 str("frame of ", kernel.frame_bytes, " bytes, expected a multiple of 64 up to ",
                     kMaxFrame));
  }
  if (kernel.static_threadgroup_bytes > kMaxScratch) {
    return Error(ErrorCode::kPipelineFailed,
                 str(kernel.static_threadgroup_bytes, " bytes of threadgroup memory"));
  }
  return {};
}

Result<uint32_t> needed(const msl::Kernel& kernel, msl::ArgumentKind kind) {
  static_assert(MSL_MAX_BUFFERS < 32 && MSL_MAX_THREADGROUP_BUFFERS < 32);
  uint32_t bits = 0;
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    if (argument.kind != kind || !argument.active) continue;
    if (argument.index >= MSL_MAX_BUFFERS) {
      return Error(ErrorCode::kPipelineFailed,
                   str("argument \"", argument.name, "\" has index ", argument.index,
                       ", expected below ", MSL_MAX_BUFFERS));
    }
    bits |= 1u << argument.index;
  }
  return bits;
}

}  // namespace

Result<std::shared_ptr<rt::Pipeline>> load_pipeline(const msl::Image& image,
                                                    const std::string& kernel,
                                                    const std::string& target) {
  if (image.target != target) {
    return Error(ErrorCode::kPipelineFailed,
                 str("kernel \"", kernel, "\" was compiled for \"", image.target,
                     "\", this device runs \"", target, "\""));
  }
  auto found = std::ranges::find(image.kernels, kernel, &msl::Kernel::name);
  if (found == image.kernels.end()) {
    return Error(ErrorCode::kFunctionNotFound, str("the image has no kernel \"", kernel, "\""));
  }
  auto load = [&]() -> Result<std::shared_ptr<CpuPipeline>> {
    auto pipeline = std::make_shared<CpuPipeline>();
    MLXN_TRY(check_kernel(*found));
    MLXN_ASSIGN(pipeline->object, LoadedObject::load(image.code));
    MLXN_ASSIGN(pipeline->entry, pipeline->object->find_function(found->symbol));
    pipeline->kernel = *found;
    MLXN_ASSIGN(pipeline->needed_buffers, needed(*found, msl::ArgumentKind::kBuffer));
    MLXN_ASSIGN(pipeline->needed_threadgroup_memory,
                needed(*found, msl::ArgumentKind::kThreadgroupMemory));
    return pipeline;
  };
  auto pipeline = load();
  if (!pipeline) return std::move(pipeline).error().add_context(str("kernel \"", kernel, "\""));
  return std::shared_ptr<rt::Pipeline>(std::move(*pipeline));
}

Status PreparedDispatch::prepare(const rt::Dispatch& dispatch, const rt::CommandList& list) {
  if (!dispatch.pipeline) return invalid("dispatch without a pipeline");
  pipeline_ = static_cast<const CpuPipeline*>(dispatch.pipeline);
  MLXN_TRY(set_grid(dispatch));
  if (threadgroups_ == 0) return {};
  MLXN_TRY(bind(dispatch, list));
  return lay_out_scratch(dispatch, list);
}

Status PreparedDispatch::set_grid(const rt::Dispatch& dispatch) {
  const msl::Kernel& kernel = pipeline_->kernel;
  const rt::Size3& group = dispatch.threads_per_threadgroup;
  const uint64_t sizes[3] = {group.x, group.y, group.z};
  const uint64_t limit = std::min<uint64_t>(kernel.max_total_threads, MSL_MAX_THREADS);
  if (std::ranges::any_of(sizes, [](uint64_t n) { return n == 0 || n > MSL_MAX_THREADS; }) ||
      group.x * group.y * group.z > limit) {
    return invalid(str("threadgroup of ", to_text(group), " threads, expected 1 to ", limit));
  }
  uint64_t grid[3] = {dispatch.threads_per_grid.x, dispatch.threads_per_grid.y,
                      dispatch.threads_per_grid.z};
  if (dispatch.indirect) {
    uint32_t counts[3];
    if (!dispatch.indirect->host ||
        !span_fits(dispatch.indirect_offset, sizeof(counts), dispatch.indirect->size)) {
      return invalid(str("indirect counts at byte ", dispatch.indirect_offset, " of a buffer of ",
                         dispatch.indirect->size, " bytes"));
    }
    std::memcpy(counts, dispatch.indirect->host + dispatch.indirect_offset, sizeof(counts));
    for (int i = 0; i < 3; ++i) grid[i] = counts[i] * sizes[i];
  }
  threadgroups_ = 1;
  for (int i = 0; i < 3; ++i) {
    if (kernel.required_threads[i] != 0 && kernel.required_threads[i] != sizes[i]) {
      return invalid(str("threadgroup of ", to_text(group), " threads, the kernel requires ",
                         kernel.required_threads[i], " in dimension ", i));
    }
    MLXN_ASSIGN(abi_.threads_per_grid[i], checked_cast<uint32_t>(grid[i]));
    abi_.threads_per_threadgroup[i] = static_cast<uint32_t>(sizes[i]);
    abi_.threadgroups_per_grid[i] = static_cast<uint32_t>((grid[i] + sizes[i] - 1) / sizes[i]);
    MLXN_ASSIGN(threadgroups_, checked_mul<uint64_t>(threadgroups_, abi_.threadgroups_per_grid[i]));
  }
  return {};
}

Status PreparedDispatch::bind(const rt::Dispatch& dispatch, const rt::CommandList& list) {
  uint32_t missing = pipeline_->needed_buffers;
  for (const rt::Binding& binding : list.bindings_of(dispatch)) {
    if (binding.index >= MSL_MAX_BUFFERS) {
      return invalid(str("buffer index ", binding.index, ", expected below ", MSL_MAX_BUFFERS));
    }
    const uint64_t total = binding.memory ? binding.memory->size : list.inline_bytes.size();
    const std::byte* base = binding.memory ? binding.memory->host : list.inline_bytes.data();
    if (!span_fits(binding.offset, binding.size, total)) {
      return invalid(str("buffer ", binding.index, ": ", binding.size, " bytes at offset ",
                         binding.offset, " of ", total, " bytes"));
    }
    // Kernels see Metal's view of memory, where const-ness is theirs to declare.
    abi_.buffer[binding.index] = const_cast<std::byte*>(base) + binding.offset;
    if (base) missing &= ~(1u << binding.index);
  }
  if (missing != 0) return missing_argument(msl::ArgumentKind::kBuffer, missing);
  return {};
}

Status PreparedDispatch::lay_out_scratch(const rt::Dispatch& dispatch,
                                         const rt::CommandList& list) {
  const msl::Kernel& kernel = pipeline_->kernel;
  uint64_t cursor = 0;
  auto take = [&](uint64_t bytes) -> Result<uint64_t> {
    const uint64_t begin = cursor;
    if (bytes > kMaxScratch) return invalid(str(bytes, " bytes of threadgroup memory"));
    cursor += (bytes + Scratch::kAlignment - 1) / Scratch::kAlignment * Scratch::kAlignment;
    if (cursor > kMaxScratch) return invalid(str(cursor, " bytes of memory for each worker"));
    return begin;
  };
  MLXN_TRY(take(kernel.static_threadgroup_bytes));
  uint32_t missing = pipeline_->needed_threadgroup_memory;
  for (const rt::ThreadgroupMemory& memory : list.threadgroup_memory_of(dispatch)) {
    if (memory.index >= MSL_MAX_THREADGROUP_BUFFERS) {
      return invalid(str("threadgroup memory index ", memory.index, ", expected below ",
                         MSL_MAX_THREADGROUP_BUFFERS));
    }
    MLXN_ASSIGN(uint64_t offset, take(memory.bytes));
    threadgroup_buffers_.push_back({memory.index, offset});
    missing &= ~(1u << memory.index);
  }
  if (missing != 0) return missing_argument(msl::ArgumentKind::kThreadgroupMemory, missing);
  if (kernel.tier == msl::Tier::kCoroutine) {
    const uint64_t threads = uint64_t{abi_.threads_per_threadgroup[0]} *
                             abi_.threads_per_threadgroup[1] * abi_.threads_per_threadgroup[2];
    const uint64_t simdgroups = (threads + MSL_SIMD_WIDTH - 1) / MSL_SIMD_WIDTH;
    MLXN_ASSIGN(frames_offset_, take(threads * kernel.frame_bytes));
    MLXN_ASSIGN(simdgroups_offset_, take(simdgroups * sizeof(MslSimdgroup)));
  }
  scratch_bytes_ = std::max<uint64_t>(cursor, 1);
  return {};
}

Error PreparedDispatch::missing_argument(msl::ArgumentKind kind, uint32_t missing) const {
  for (const msl::ArgumentInfo& argument : pipeline_->kernel.arguments) {
    if (argument.kind != kind || !argument.active || !(missing >> argument.index & 1)) continue;
    if (kind == msl::ArgumentKind::kBuffer) {
      return invalid(
          str("argument \"", argument.name, "\": no buffer is bound at index ", argument.index));
    }
    return invalid(str("argument \"", argument.name, "\": threadgroup memory ", argument.index,
                       " has no length"));
  }
  return Error(ErrorCode::kInternal, "an argument is not bound");
}

MLXN_CALLS_LOADED_CODE
Status PreparedDispatch::run(uint64_t begin, uint64_t end, Scratch& scratch) const {
  MLXN_ASSIGN(unsigned char* block, scratch.reserve(scratch_bytes_));
  MslThreadgroup group{};
  group.memory = block;
  for (const ThreadgroupBuffer& buffer : threadgroup_buffers_) {
    group.threadgroup_buffer[buffer.index] = block + buffer.offset;
  }
  group.frames = block + frames_offset_;
  group.simdgroups = reinterpret_cast<MslSimdgroup*>(block + simdgroups_offset_);

  const unsigned* counts = abi_.threadgroups_per_grid;
  group.position[0] = static_cast<unsigned>(begin % counts[0]);
  group.position[1] = static_cast<unsigned>(begin / counts[0] % counts[1]);
  group.position[2] = static_cast<unsigned>(begin / counts[0] / counts[1]);
  const bool coroutine = pipeline_->kernel.tier == msl::Tier::kCoroutine;
  for (uint64_t i = begin; i < end; ++i) {
    for (int d = 0; d < 3; ++d) {
      const unsigned size = abi_.threads_per_threadgroup[d];
      group.size[d] = std::min(size, abi_.threads_per_grid[d] - group.position[d] * size);
    }
    if (coroutine) {
      MLXN_TRY(run_coroutines(reinterpret_cast<MslThreadEntry>(pipeline_->entry),
                              pipeline_->kernel.frame_bytes, abi_, group));
    } else {
      reinterpret_cast<MslThreadgroupEntry>(pipeline_->entry)(&abi_, &group);
    }
    if (++group.position[0] < counts[0]) continue;
    group.position[0] = 0;
    if (++group.position[1] < counts[1]) continue;
    group.position[1] = 0;
    ++group.position[2];
  }
  return {};
}

}  // namespace mlxn::cpu
