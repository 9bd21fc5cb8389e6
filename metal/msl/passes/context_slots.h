// Places for values that outlive a region. Lane values lie in the threadgroup's context block, 32
// elements side by side, so that lanes and vector code both find them; values uniform over the
// simdgroup are local variables, which LLVM turns into registers, and so are lane values where
// loops over lanes become vectors without a loop. Where a place lies is decided at the end: places
// whose values are never alive together share memory.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "metal/msl/interface.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

struct Slot {
  enum class Kind {
    kLanes,    // an element for each lane; odd integers are kept as wider ones
    kUniform,  // one value
    kPrivate,  // a private variable: `bytes` for each lane, one lane after the other
  };
  Kind kind = Kind::kLanes;
  llvm::Type* type = nullptr;  // of an element in memory
  uint64_t bytes = 0;          // of one element
  Level level = Level::kLane;
  bool always = false;            // alive everywhere: shares its place with no other
  const Region* joins = nullptr;  // written on the ways there only, not on others out of a region

  // Decided by SlotTable::place.
  Slot* same = nullptr;  // another one that lies where this one would
  bool each_simdgroup = false;
  uint64_t offset = 0;
  llvm::AllocaInst* variable = nullptr;  // kUniform and kLanes, unless each_simdgroup

  uint64_t size() const { return (kind == Kind::kUniform ? 1 : uint64_t{MSL_SIMD_WIDTH}) * bytes; }
};

class SlotTable {
 public:
  // `function` is the one being made.
  explicit SlotTable(llvm::Function& function);

  Slot& add(Slot::Kind kind, llvm::Type* type, uint64_t bytes, Level level);

  // Where a slot begins, for the simdgroup of that index. Region `user` reads or writes it there.
  // A value that was read is alive since it was written; a private variable is both at each use.
  enum class Use { kRead, kWrite };
  llvm::Value* address(llvm::IRBuilder<>& builder, Slot& slot, llvm::Value* simdgroup,
                       const Region& user, Use use);

  // Keeps a slot alive in a region that uses it through an address it got from elsewhere.
  void note_use(Slot& slot, const Region& user);

  // A value is copied from one of them to the other: if they are never alive together, they share
  // their place, and nothing is copied.
  void prefer_same(Slot& to, Slot& from) { copies_.push_back({&to, &from}); }

  struct Layout {
    bool together;   // all lanes of a simdgroup are in the same region at a time
    bool variables;  // lane values may be local variables; only if together
  };
  // Gives each slot its place and replaces all addresses. Sets the kernel's context sizes.
  void place(const RegionGraph& graph, Layout layout, llvm::Value* context, Kernel& kernel);
  // Whether a local variable holds an element for each lane.
  bool holds_lanes(const llvm::AllocaInst& variable) const;

 private:
  struct Liveness;

  using Presence = std::map<Slot*, std::vector<const Region*>>;

  Presence find_presence(const RegionGraph& graph, Liveness& live, bool together);
  void join_copies(const RegionGraph& graph, const Liveness& live);
  void assign(const Presence& present, bool together);
  void make_variables(bool of_lanes);

  llvm::Function& function_;
  llvm::Function* marker_;
  std::deque<Slot> slots_;
  struct Address {
    llvm::CallInst* call;
    Slot* slot;
  };
  std::vector<Address> addresses_;
  std::vector<std::pair<Slot*, Slot*>> copies_;
  std::set<const llvm::AllocaInst*> lane_variables_;
  uint64_t bytes_ = 0, bytes_each_simdgroup_ = 0;
  std::map<const Region*, std::set<Slot*>> reads_, writes_;
};

}  // namespace mlxn::msl
