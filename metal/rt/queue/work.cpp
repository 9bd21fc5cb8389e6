#include "metal/rt/queue/work.h"

#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

std::string describe(const Life& life, const UsePlace& place) {
  auto kernel = [&] { return str("'", place.pipeline->kernel.name, "'"); };
  switch (place.role) {
    case UsePlace::kBound:
      return str(life.named(place.kind), " bound at index ", place.index, " of dispatch ",
                 kernel());
    case UsePlace::kIndirect:
      return str(life.named(place.kind), " with indirect arguments of ", kernel());
    case UsePlace::kPipeline: return str("pipeline of dispatch ", kernel());
    case UsePlace::kTransfer: return str(life.named(place.kind), " used by ", place.call);
    case UsePlace::kDeclared: break;
  }
  return str(life.named(place.kind), " declared by ", place.call);
}

}  // namespace

void Work::clear() {
  list.commands.clear();
  list.bindings.clear();
  list.threadgroup_memory.clear();
  list.inline_bytes.clear();
  list.label.clear();
  kept_.clear();
  watches_.clear();
}

void Work::begin(bool retained) {
  static std::atomic<uint64_t> next_id = 1;
  id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  retained_ = retained;
}

uint64_t Work::capacity_bytes() const {
  auto bytes = [](const auto& items) { return items.capacity() * sizeof(items[0]); };
  return bytes(list.commands) + bytes(list.bindings) + bytes(list.threadgroup_memory) +
         bytes(list.inline_bytes) + bytes(kept_) + bytes(watches_);
}

std::string Work::released() const {
  for (const Watch& watch : watches_) {
    const bool used = watch.place.role != UsePlace::kBound || watch.place.pipeline;
    if (used && !watch.life->alive) return describe(*watch.life, watch.place);
  }
  return "";
}

}  // namespace mlxn::rt
