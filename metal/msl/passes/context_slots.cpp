#include "metal/msl/passes/context_slots.h"

#include <algorithm>

#include "llvm/IR/Module.h"
#include "metal/msl/kernel_abi.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr const char* kMarker = "__msl_slot_address";
constexpr uint64_t kAlign = 64;
constexpr uint64_t kMostStack = 16384;  // for lane values

}  // namespace

SlotTable::SlotTable(Function& function) : function_(function) {
  Module& module = *function.getParent();
  Type* pointer = PointerType::get(module.getContext(), 0);
  Type* i64 = Type::getInt64Ty(module.getContext());
  marker_ = cast<Function>(module.getOrInsertFunction(kMarker, pointer, i64).getCallee());
}

Slot& SlotTable::add(Slot::Kind kind, Type* type, uint64_t bytes, Level level) {
  Slot& slot = slots_.emplace_back();
  slot.kind = kind;
  slot.type = type;
  slot.bytes = bytes;
  slot.level = level;
  return slot;
}

Value* SlotTable::address(IRBuilder<>& builder, Slot& slot, Value* simdgroup, const Region& user,
                          Use use) {
  (use == Use::kRead ? reads_ : writes_)[&user].insert(&slot);
  if (!simdgroup) simdgroup = builder.getInt64(0);
  CallInst* call = builder.CreateCall(marker_, {simdgroup});
  addresses_.push_back({call, &slot});
  return call;
}

void SlotTable::note_use(Slot& slot, const Region& user) {
  reads_[&user].insert(&slot);
}

// Which slots hold a value somebody still needs, where a region begins and where it ends.
struct SlotTable::Liveness {
  std::map<const Region*, std::set<Slot*>> in, out;

  Liveness(const RegionGraph& graph, const SlotTable& table) {
    auto at = [](const std::map<const Region*, std::set<Slot*>>& map, const Region* region) {
      auto found = map.find(region);
      return found == map.end() ? std::set<Slot*>() : found->second;
    };
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto position = graph.regions().rbegin(); position != graph.regions().rend();
           ++position) {
        const Region* region = position->get();
        std::set<Slot*>& live_out = out[region];
        std::set<Slot*> live_in = at(table.reads_, region);
        std::set<Slot*> written = at(table.writes_, region);
        for (const Region* next : region->next)
          for (Slot* slot : in[next]) {
            live_out.insert(slot);
            if (!written.count(slot) || (slot->joins && slot->joins != next)) live_in.insert(slot);
          }
        changed |= live_in.size() != in[region].size();
        in[region] = std::move(live_in);
      }
    }
  }
};

// Where each slot is alive, and which exist once for each simdgroup.
SlotTable::Presence SlotTable::find_presence(const RegionGraph& graph, Liveness& live,
                                             bool together) {
  Presence present;
  for (const auto& region : graph.regions()) {
    std::set<Slot*> all = live.in.at(region.get());
    for (const auto* more :
         {&live.out[region.get()], &reads_[region.get()], &writes_[region.get()]})
      all.insert(more->begin(), more->end());
    for (Slot& slot : slots_)
      if (slot.always) all.insert(&slot);
    for (Slot* slot : all) present[slot].push_back(region.get());
    // Simdgroups run one after the other up to the next barrier: what must last longer exists
    // once for each of them. Nothing has a value before the entry.
    bool barrier = region->at_threadgroup && region.get() != graph.entry();
    for (Slot* slot : all)
      if (!together || (barrier && live.in.at(region.get()).count(slot)))
        slot->each_simdgroup = true;
  }
  for (Slot& slot : slots_)
    if (slot.kind == Slot::Kind::kUniform && slot.level == Level::kThreadgroup)
      slot.each_simdgroup = false;
  return present;
}

// Gives slots that a value is copied between one place. In a region all values are read before the
// first is stored, so what ends in a region may lie where something begins in it.
void SlotTable::join_copies(const RegionGraph& graph, const Liveness& live) {
  std::map<Slot*, std::vector<Slot*>> members;
  auto first_of = [](Slot* slot) {
    while (slot->same) slot = slot->same;
    return slot;
  };
  auto members_of = [&](Slot* slot) -> std::vector<Slot*>& {
    std::vector<Slot*>& list = members[slot];
    if (list.empty()) list.push_back(slot);
    return list;
  };
  auto meet = [&](Slot* a, Slot* b) {
    return any_of(graph.regions(), [&](const auto& region) {
      auto has = [&](const std::map<const Region*, std::set<Slot*>>& map, Slot* slot) {
        auto found = map.find(region.get());
        return found != map.end() && found->second.count(slot) > 0;
      };
      auto after = [&](Slot* slot) { return has(live.out, slot) || has(writes_, slot); };
      return (has(live.in, a) && has(live.in, b)) || (after(a) && after(b));
    });
  };
  for (auto [to, from] : copies_) {
    Slot *a = first_of(to), *b = first_of(from);
    auto suits = [](const Slot& slot) {
      return slot.kind == Slot::Kind::kUniform && slot.each_simdgroup && !slot.always;
    };
    if (a == b || !suits(*a) || !suits(*b) || a->type != b->type) continue;
    bool apart = any_of(members_of(a), [&](Slot* x) {
      return any_of(members_of(b), [&](Slot* y) { return meet(x, y); });
    });
    if (apart) continue;
    b->same = a;
    std::vector<Slot*> moved = std::move(members_of(b));
    std::vector<Slot*>& list = members_of(a);
    list.insert(list.end(), moved.begin(), moved.end());
  }
  for (Slot& slot : slots_)
    if (slot.same) slot.same = first_of(&slot);
}

// Local variables for what no barrier cuts.
void SlotTable::make_variables(bool of_lanes) {
  IRBuilder<> builder(&*function_.getEntryBlock().begin());
  uint64_t stack = 0;
  for (Slot& slot : slots_) {
    if (slot.each_simdgroup) continue;
    if (slot.kind == Slot::Kind::kUniform) slot.variable = builder.CreateAlloca(slot.type);
    if (slot.kind != Slot::Kind::kLanes || !of_lanes || stack + slot.size() > kMostStack) continue;
    stack += slot.size();
    slot.variable = builder.CreateAlloca(ArrayType::get(slot.type, MSL_SIMD_WIDTH));
    slot.variable->setAlignment(Align(kAlign));
    lane_variables_.insert(slot.variable);
  }
}

bool SlotTable::holds_lanes(const AllocaInst& variable) const {
  return lane_variables_.count(&variable) > 0;
}

// Greedy: each slot takes the lowest place that is free in all regions where it is alive. While all
// lanes are in the same region, any two such slots may share memory. Otherwise one lane may still
// need what another has done with, so only slots of equal elements do, which lie lane upon lane.
void SlotTable::assign(const Presence& present, bool together) {
  struct Range {
    uint64_t begin, end;
  };
  struct Pool {
    std::map<const Region*, std::vector<Range>> taken;
    uint64_t size = 0;
    std::vector<Slot*> slots;
  };
  std::map<std::pair<bool, uint64_t>, Pool> pools;
  for (Slot& slot : slots_) {
    auto alive = present.find(&slot);
    if (slot.variable || slot.same || alive == present.end()) continue;
    Pool& pool = pools[{slot.each_simdgroup, together ? 0 : slot.bytes}];
    std::vector<Range> blocked;
    for (const Region* region : alive->second)
      blocked.insert(blocked.end(), pool.taken[region].begin(), pool.taken[region].end());
    std::sort(blocked.begin(), blocked.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    uint64_t size = alignTo(slot.size(), kAlign);
    for (const Range& range : blocked) {
      if (slot.offset + size <= range.begin) break;
      slot.offset = std::max(slot.offset, range.end);
    }
    for (const Region* region : alive->second)
      pool.taken[region].push_back({slot.offset, slot.offset + size});
    pool.size = std::max(pool.size, slot.offset + size);
    pool.slots.push_back(&slot);
  }
  for (auto& [key, pool] : pools) {
    uint64_t& total = key.first ? bytes_each_simdgroup_ : bytes_;
    for (Slot* slot : pool.slots) slot->offset += total;
    total += pool.size;
  }
}

void SlotTable::place(const RegionGraph& graph, Layout layout, Value* context, Kernel& kernel) {
  Liveness live(graph, *this);
  Presence present = find_presence(graph, live, layout.together);
  make_variables(layout.variables);
  if (layout.together) join_copies(graph, live);
  for (Slot& slot : slots_)
    if (slot.same) {
      std::vector<const Region*>& where = present[slot.same];
      where.insert(where.end(), present[&slot].begin(), present[&slot].end());
    }
  assign(present, layout.together);
  for (Slot& slot : slots_)
    if (slot.same) slot.offset = slot.same->offset;
  kernel.context_bytes = bytes_;
  kernel.context_bytes_per_simdgroup = bytes_each_simdgroup_;
  for (Address& address : addresses_) {
    IRBuilder<> builder(address.call);
    Slot& slot = *address.slot;
    Value* place = slot.variable;
    if (!place) {
      Value* offset = builder.getInt64(slot.offset);
      if (slot.each_simdgroup) {
        Value* before = builder.CreateMul(address.call->getArgOperand(0),
                                          builder.getInt64(bytes_each_simdgroup_), "", true, true);
        offset = builder.CreateAdd(before, builder.getInt64(bytes_ + slot.offset), "", true, true);
      }
      place = builder.CreateInBoundsGEP(builder.getInt8Ty(), context, offset);
    }
    address.call->replaceAllUsesWith(place);
    address.call->eraseFromParent();
  }
  if (marker_->use_empty()) marker_->eraseFromParent();
}

}  // namespace mlxn::msl
