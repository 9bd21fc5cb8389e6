#include "metal/exec/cpu/pipeline_code.h"

namespace mlxn::cpu {
namespace {

// The extents threadgroups have in one dimension: whole ones, and the last one when it is cut off.
struct Extents {
  Extents(uint64_t grid, uint64_t group)
      : whole(static_cast<uint32_t>(group)), rest(static_cast<uint32_t>(grid) % whole) {
    has_whole = grid >= group;
    values[0] = has_whole ? whole : rest;
    values[1] = rest != 0 ? rest : whole;
  }
  uint32_t whole, rest;
  bool has_whole;
  uint32_t values[2];
};

}  // namespace

const CpuCode* PipelineCode::find(const uint32_t size[3]) const {
  if (first_->kernel.shape.covers(size)) return first_.get();
  for (const Slot& slot : exact_) {
    const CpuCode* code = slot.code.load(std::memory_order_acquire);
    if (!code) return nullptr;
    // Where the compiler made code for any size instead, it serves all.
    if (code->kernel.shape.covers(size)) return code;
  }
  return any_.code.load(std::memory_order_acquire);
}

Result<const CpuCode*> PipelineCode::fill(Slot& slot, const msl::Shape& shape, const Make& make) {
  MLXN_ASSIGN(slot.owner, make(shape));
  slot.code.store(slot.owner.get(), std::memory_order_release);
  return slot.owner.get();
}

Result<const CpuCode*> PipelineCode::for_size(const uint32_t size[3], const Make& make) {
  if (const CpuCode* found = find(size)) return found;
  {
    std::lock_guard lock(mutex_);
    if (const CpuCode* found = find(size)) return found;
    for (Slot& slot : exact_) {
      if (slot.code.load(std::memory_order_relaxed)) continue;
      return fill(slot, {msl::Shape::Kind::kExact, {size[0], size[1], size[2]}}, make);
    }
  }
  return for_any(make);
}

Result<const CpuCode*> PipelineCode::for_any(const Make& make) {
  if (const CpuCode* code = any_.code.load(std::memory_order_acquire)) return code;
  std::lock_guard lock(mutex_);
  if (const CpuCode* code = any_.code.load(std::memory_order_relaxed)) return code;
  return fill(any_, {msl::Shape::Kind::kAny}, make);
}

Result<DispatchCode> PipelineCode::choose(const rt::Size3& grid, const rt::Size3& group,
                                          const Make& make) {
  if (covers_all()) return DispatchCode{first_.get()};
  const Extents x(grid.x, group.x), y(grid.y, group.y), z(grid.z, group.z);
  DispatchCode out;
  if (x.has_whole && y.has_whole && z.has_whole) {
    const uint32_t size[3] = {x.whole, y.whole, z.whole};
    MLXN_ASSIGN(out.code, for_size(size, make));
    if ((x.rest | y.rest | z.rest) == 0) return out;
  }
  bool all_covered = true, first_will_do = true;
  for (unsigned corner = 0; corner < 8; ++corner) {
    const uint32_t size[3] = {x.values[corner & 1], y.values[corner >> 1 & 1],
                              z.values[corner >> 2]};
    if (out.code && out.code->kernel.shape.covers(size)) continue;
    all_covered = false;
    first_will_do &= first_->kernel.shape.covers(size);
  }
  if (all_covered) return out;
  const CpuCode*& target = out.code ? out.edge : out.code;
  if (first_will_do) {
    target = first_.get();
  } else {
    MLXN_ASSIGN(target, for_any(make));
  }
  return out;
}

}  // namespace mlxn::cpu
