#include "metal/msl/passes/context_slots.h"

#include <algorithm>

#include "llvm/IR/Module.h"
#include "metal/msl/kernel_abi.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr const char* kMarker = "__msl_slot_address";
constexpr uint64_t kAlign = 64;

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
        for (const Region* next : region->next) live_out.insert(in[next].begin(), in[next].end());
        std::set<Slot*> live_in = at(table.reads_, region);
        std::set<Slot*> written = at(table.writes_, region);
        for (Slot* slot : live_out)
          if (!written.count(slot)) live_in.insert(slot);
        changed |= live_in.size() != in[region].size();
        in[region] = std::move(live_in);
      }
    }
  }
};

void SlotTable::place(const RegionGraph& graph, bool all_each_simdgroup, Value* context,
                      Kernel& kernel) {
  Liveness live(graph, *this);
  // Simdgroups run one after the other up to the next barrier: what must last longer exists once
  // for each of them.
  for (const auto& region : graph.regions())
    if (region->at_threadgroup)
      for (Slot* slot : live.in[region.get()]) slot->each_simdgroup = true;
  std::map<Slot*, std::vector<const Region*>> present;
  for (const auto& region : graph.regions()) {
    std::set<Slot*> all = live.in[region.get()];
    for (const auto* more :
         {&live.out[region.get()], &reads_[region.get()], &writes_[region.get()]})
      all.insert(more->begin(), more->end());
    for (Slot& slot : slots_)
      if (slot.always) all.insert(&slot);
    for (Slot* slot : all) present[slot].push_back(region.get());
  }
  // Greedy: each slot takes the lowest place that is free in all regions where it is alive.
  struct Range {
    uint64_t begin, end;
  };
  std::map<const Region*, std::vector<Range>> taken[2];
  uint64_t total[2] = {0, 0};
  for (Slot& slot : slots_) {
    if (slot.kind == Slot::Kind::kUniform && slot.level == Level::kThreadgroup)
      slot.each_simdgroup = false;
    else if (all_each_simdgroup)
      slot.each_simdgroup = true;
    if (slot.kind == Slot::Kind::kUniform && !slot.each_simdgroup) {
      IRBuilder<> builder(&*function_.getEntryBlock().begin());
      slot.variable = builder.CreateAlloca(slot.type);
      continue;
    }
    auto& pool = taken[slot.each_simdgroup];
    std::vector<Range> blocked;
    for (const Region* region : present[&slot])
      blocked.insert(blocked.end(), pool[region].begin(), pool[region].end());
    std::sort(blocked.begin(), blocked.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    uint64_t size = alignTo(slot.size(), kAlign);
    for (const Range& range : blocked) {
      if (slot.offset + size <= range.begin) break;
      slot.offset = std::max(slot.offset, range.end);
    }
    for (const Region* region : present[&slot])
      pool[region].push_back({slot.offset, slot.offset + size});
    total[slot.each_simdgroup] = std::max(total[slot.each_simdgroup], slot.offset + size);
  }
  kernel.context_bytes = total[0];
  kernel.context_bytes_per_simdgroup = total[1];
  for (Address& address : addresses_) {
    IRBuilder<> builder(address.call);
    Slot& slot = *address.slot;
    Value* place = slot.variable;
    if (!place) {
      Value* offset = builder.getInt64(slot.offset);
      if (slot.each_simdgroup) {
        Value* before = builder.CreateMul(address.call->getArgOperand(0),
                                          builder.getInt64(total[1]), "", true, true);
        offset =
            builder.CreateAdd(before, builder.getInt64(total[0] + slot.offset), "", true, true);
      }
      place = builder.CreateInBoundsGEP(builder.getInt8Ty(), context, offset);
    }
    address.call->replaceAllUsesWith(place);
    address.call->eraseFromParent();
  }
  if (marker_->use_empty()) marker_->eraseFromParent();
}

}  // namespace mlxn::msl
