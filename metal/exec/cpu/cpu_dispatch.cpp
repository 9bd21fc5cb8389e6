#include "metal/exec/cpu/cpu_dispatch.h"

#include <algorithm>
#include <cstring>

#include "metal/exec/cpu/cpu_memory.h"
#include "metal/exec/cpu/guarded_block.h"
#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

Error invalid(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}

std::string to_text(const rt::Size3& size) {
  return str(size.x, " x ", size.y, " x ", size.z);
}

CodeRange range_of(const CpuCode& code) {
  const auto memory = code.object->memory();
  const auto begin = reinterpret_cast<uintptr_t>(memory.data());
  return {begin, begin + memory.size()};
}

std::string to_text(const msl::Shape& shape) {
  switch (shape.kind) {
    case msl::Shape::Kind::kFlat32: return "n x 1 x 1 threads, n a multiple of 32";
    case msl::Shape::Kind::kExact:
      return str(to_text(rt::Size3{shape.size[0], shape.size[1], shape.size[2]}), " threads");
    default: return "any number of threads";
  }
}

}  // namespace

Status PreparedDispatch::prepare(const rt::Dispatch& dispatch, const rt::CommandList& list) {
  if (!dispatch.pipeline) return invalid("dispatch without a pipeline");
  MLXN_TRY(set_grid(dispatch));
  if (threadgroups_ == 0) return {};
  MLXN_TRY(choose_code(*static_cast<const CpuPipeline*>(dispatch.pipeline)));
  MLXN_TRY(check_sizes());
  MLXN_TRY(bind(dispatch, list));
  return size_scratch(dispatch, list);
}

Status PreparedDispatch::set_grid(const rt::Dispatch& dispatch) {
  const msl::Kernel& kernel = dispatch.pipeline->kernel;
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
    if (!span_fits(dispatch.indirect_offset, sizeof(counts), dispatch.indirect->size)) {
      return invalid(str("indirect counts at byte ", dispatch.indirect_offset, " of a buffer of ",
                         dispatch.indirect->size, " bytes"));
    }
    std::memcpy(counts, bytes_of(*dispatch.indirect) + dispatch.indirect_offset, sizeof(counts));
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

Status PreparedDispatch::choose_code(const CpuPipeline& pipeline) {
  const unsigned *grid = abi_.threads_per_grid, *group = abi_.threads_per_threadgroup;
  MLXN_ASSIGN(const DispatchCode chosen,
              pipeline.choose({grid[0], grid[1], grid[2]}, {group[0], group[1], group[2]}));
  code_ = chosen.code;
  edge_ = chosen.edge;
  return {};
}

Status PreparedDispatch::check_sizes() const {
  if (code_->kernel.shape.kind == msl::Shape::Kind::kAny) return {};
  // A dimension has whole threadgroups, one that is cut off, or both.
  unsigned sizes[3][2] = {};
  for (int i = 0; i < 3; ++i) {
    const unsigned whole = abi_.threads_per_threadgroup[i], grid = abi_.threads_per_grid[i];
    sizes[i][0] = grid >= whole ? whole : grid;
    sizes[i][1] = grid % whole != 0 ? grid % whole : sizes[i][0];
  }
  for (unsigned corner = 0; corner < 8; ++corner) {
    const unsigned size[3] = {sizes[0][corner & 1], sizes[1][corner >> 1 & 1],
                              sizes[2][corner >> 2]};
    if (code_->kernel.shape.covers(size) || (edge_ && edge_->kernel.shape.covers(size))) {
      continue;
    }
    return invalid(str("threadgroup of ", to_text({size[0], size[1], size[2]}),
                       " threads, the code is for ", to_text(code_->kernel.shape),
                       edge_ ? str(" and ", to_text(edge_->kernel.shape)) : ""));
  }
  return {};
}

Status PreparedDispatch::bind(const rt::Dispatch& dispatch, const rt::CommandList& list) {
  uint32_t missing = code_->needed_buffers | (edge_ ? edge_->needed_buffers : 0);
  bindings_ = list.bindings_of(dispatch);
  for (const rt::Binding& binding : bindings_) {
    if (binding.index >= MSL_MAX_BUFFERS) {
      return invalid(str("buffer index ", binding.index, ", expected below ", MSL_MAX_BUFFERS));
    }
    const bool nothing = !binding.memory && binding.size == 0;
    const uint64_t total = binding.memory ? binding.memory->size : list.inline_bytes.size();
    const std::byte* base = binding.memory ? bytes_of(*binding.memory)
                            : nothing      ? nothing_bound()
                                           : list.inline_bytes.data();
    if (!span_fits(binding.offset, binding.size, total)) {
      return invalid(str("buffer ", binding.index, ": ", binding.size, " bytes at offset ",
                         binding.offset, " of ", total, " bytes"));
    }
    // Kernels see Metal's view of memory, where const-ness is theirs to declare.
    abi_.buffer[binding.index] = const_cast<std::byte*>(base) + (nothing ? 0 : binding.offset);
    if (base) missing &= ~(1u << binding.index);
  }
  if (missing != 0) return missing_argument(msl::ArgumentKind::kBuffer, missing);
  return {};
}

// The most that a whole threadgroup needs of each kind. Loading has bounded all factors: 1024
// threads and 32 simdgroups of at most kMaxScratch bytes do not overflow.
PreparedDispatch::ScratchNeeds PreparedDispatch::scratch_needs() const {
  const unsigned* size = abi_.threads_per_threadgroup;
  const uint64_t threads = uint64_t{size[0]} * size[1] * size[2];
  const uint64_t simdgroups = (threads + MSL_SIMD_WIDTH - 1) / MSL_SIMD_WIDTH;
  ScratchNeeds needs;
  for (const CpuCode* code : {code_, edge_}) {
    if (!code) continue;
    const msl::Kernel& kernel = code->kernel;
    auto raise = [](uint64_t& need, uint64_t bytes) { need = std::max(need, bytes); };
    needs.arguments |= code->needed_threadgroup_memory;
    raise(needs.threadgroup_memory, kernel.static_threadgroup_bytes);
    if (code->is_coroutine()) {
      raise(needs.frames, threads * kernel.frame_bytes);
      raise(needs.simdgroups, simdgroups * sizeof(MslSimdgroup));
    } else if (kernel.tier != msl::Tier::kWorkItemLoop) {
      raise(needs.context, kernel.context_bytes + simdgroups * kernel.context_bytes_per_simdgroup);
    }
  }
  return needs;
}

Status PreparedDispatch::size_scratch(const rt::Dispatch& dispatch, const rt::CommandList& list) {
  scratch_ = scratch_needs();
  uint64_t total = 0;
  auto add = [&](uint64_t bytes, const char* what) -> Status {
    if (bytes > kMaxScratch - total) {
      return invalid(str(bytes, " bytes of ", what, " after ", total,
                         " others for each worker, expected at most ", kMaxScratch, " together"));
    }
    total += bytes;
    return {};
  };
  MLXN_TRY(add(scratch_.threadgroup_memory, "threadgroup memory"));
  uint32_t missing = scratch_.arguments;
  threadgroup_buffers_ = list.threadgroup_memory_of(dispatch);
  for (const rt::ThreadgroupMemory& memory : threadgroup_buffers_) {
    if (memory.index >= MSL_MAX_THREADGROUP_BUFFERS) {
      return invalid(str("threadgroup memory index ", memory.index, ", expected below ",
                         MSL_MAX_THREADGROUP_BUFFERS));
    }
    MLXN_TRY(add(memory.bytes, "threadgroup memory"));
    if (memory.bytes != 0 || nothing_bound()) missing &= ~(1u << memory.index);
  }
  if (missing != 0) return missing_argument(msl::ArgumentKind::kThreadgroupMemory, missing);
  MLXN_TRY(add(scratch_.frames, "coroutine frames"));
  MLXN_TRY(add(scratch_.simdgroups, "simdgroup state"));
  return add(scratch_.context, "context");
}

Status PreparedDispatch::lay_out(MslThreadgroup& group, Scratch& scratch) const {
  auto place = [&](auto*& pointer, ScratchPart part, uint64_t bytes) -> Status {
    MLXN_ASSIGN(unsigned char* block, scratch.reserve(part, bytes));
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(block);
    return {};
  };
  for (const rt::ThreadgroupMemory& memory : threadgroup_buffers_) {
    unsigned char*& buffer = group.threadgroup_buffer[memory.index];
    if (memory.bytes == 0) {
      buffer = reinterpret_cast<unsigned char*>(nothing_bound());
    } else {
      MLXN_TRY(place(buffer, threadgroup_buffer(memory.index), memory.bytes));
    }
  }
  MLXN_TRY(place(group.memory, ScratchPart::kThreadgroupMemory, scratch_.threadgroup_memory));
  MLXN_TRY(place(group.frames, ScratchPart::kFrames, scratch_.frames));
  MLXN_TRY(place(group.simdgroups, ScratchPart::kSimdgroups, scratch_.simdgroups));
  return place(group.context, ScratchPart::kContext, scratch_.context);
}

Error PreparedDispatch::missing_argument(msl::ArgumentKind kind, uint32_t missing) const {
  for (const CpuCode* code : {code_, edge_}) {
    if (!code) continue;
    for (const msl::ArgumentInfo& argument : code->kernel.arguments) {
      if (argument.kind != kind || !argument.active || !(missing >> argument.index & 1)) continue;
      if (kind == msl::ArgumentKind::kBuffer) {
        return invalid(
            str("argument \"", argument.name, "\": no buffer is bound at index ", argument.index));
      }
      return invalid(str("argument \"", argument.name, "\": threadgroup memory ", argument.index,
                         " has no length"));
    }
  }
  return Error(ErrorCode::kInternal, "an argument is not bound");
}

Status PreparedDispatch::run(uint64_t begin, uint64_t end, Scratch& scratch,
                             const StopFlag* stop) const {
  MslThreadgroup group{};
  MLXN_TRY(lay_out(group, scratch));

  const unsigned* counts = abi_.threadgroups_per_grid;
  group.position[0] = static_cast<unsigned>(begin % counts[0]);
  group.position[1] = static_cast<unsigned>(begin / counts[0] % counts[1]);
  group.position[2] = static_cast<unsigned>(begin / counts[0] / counts[1]);
  Status status;
  auto rows = [&] { status = run_rows(group, end - begin); };
  GuardOptions guard{.stop = stop};
  guard.stoppable[0] = range_of(*code_);
  if (edge_) guard.stoppable[1] = range_of(*edge_);
  KernelFault fault;
  if (run_guarded(rows, guard, fault)) return status;
  return explain(fault, group);
}

Error PreparedDispatch::explain(const KernelFault& fault, const MslThreadgroup& group) const {
  Error error = to_error(fault);
  std::string where =
      str("threadgroup ", to_text({group.position[0], group.position[1], group.position[2]}),
          " or near it");
  if (!fault.has_address || fault.at_stack) return std::move(error.add_context(where));
  where += str(", ", place_of(fault.address, group));
  return std::move(error.add_context(where));
}

// Which memory of the dispatch an address outside of all is meant for: the nearest in front of it.
std::string PreparedDispatch::place_of(uintptr_t address, const MslThreadgroup& group) const {
  if (is_nothing_bound(address)) return "a store where nothing is bound";
  if (is_in_freed_block(address)) return "in memory that has been freed";
  uint64_t nearest = ~uint64_t{0};
  std::string place = "in no memory of the dispatch";
  auto consider = [&](const void* start, uint64_t size, auto... name) {
    const auto begin = reinterpret_cast<uintptr_t>(start);
    if (begin == 0 || begin > address || address - begin >= nearest) return;
    nearest = address - begin;
    place = str("at byte ", nearest, " of ", name..., ", which has ", size);
  };
  for (const rt::Binding& binding : bindings_) {
    if (!binding.memory) continue;
    consider(abi_.buffer[binding.index], binding.size, "buffer ", binding.index);
  }
  consider(group.memory, scratch_.threadgroup_memory, "the kernel's threadgroup memory");
  for (const rt::ThreadgroupMemory& memory : threadgroup_buffers_) {
    consider(group.threadgroup_buffer[memory.index], memory.bytes, "threadgroup memory ",
             memory.index);
  }
  return place;
}

Status PreparedDispatch::run_rows(MslThreadgroup& group, uint64_t all) const {
  const unsigned* counts = abi_.threadgroups_per_grid;
  for (uint64_t left = all; left > 0;) {
    const auto count =
        static_cast<unsigned>(std::min<uint64_t>(left, counts[0] - group.position[0]));
    MLXN_TRY(run_row(group, count));
    left -= count;
    group.position[0] = 0;
    if (++group.position[1] < counts[1]) continue;
    group.position[1] = 0;
    ++group.position[2];
  }
  return {};
}

// Only the last threadgroup of a whole row may be smaller than the others.
Status PreparedDispatch::run_row(MslThreadgroup& group, unsigned count) const {
  for (int d = 0; d < 3; ++d) {
    const unsigned size = abi_.threads_per_threadgroup[d];
    group.size[d] = std::min(size, abi_.threads_per_grid[d] - group.position[d] * size);
  }
  const unsigned size = abi_.threads_per_threadgroup[0];
  const unsigned last = group.position[0] + count - 1;
  const unsigned last_size = std::min(size, abi_.threads_per_grid[0] - last * size);
  if (last_size == group.size[0]) return run_alike(group, count);
  MLXN_TRY(run_alike(group, count - 1));
  group.size[0] = last_size;
  return run_alike(group, 1);
}

MLXN_CALLS_LOADED_CODE
Status PreparedDispatch::run_alike(MslThreadgroup& group, unsigned count) const {
  const CpuCode& code = code_for(group.size);
  if (code.is_coroutine()) {
    for (unsigned i = 0; i < count; ++i, ++group.position[0]) {
      MLXN_TRY(run_coroutines(reinterpret_cast<MslThreadEntry>(code.entry), code.kernel.frame_bytes,
                              abi_, group, code.thread_order));
    }
    return {};
  }
  const auto entry = reinterpret_cast<MslThreadgroupEntry>(code.entry);
  const unsigned size = group.size[0];
  const unsigned most = code.can_merge() ? MSL_MAX_THREADS / size : 1;
  for (unsigned left = count; left > 0;) {
    const unsigned merged = std::min(left, most);
    group.size[0] = merged * size;
    entry(&abi_, &group);
    group.position[0] += merged;
    left -= merged;
  }
  group.size[0] = size;
  return {};
}

}  // namespace mlxn::cpu
