#include "metal/msl/passes/thread_state.h"

#include <cstddef>
#include <map>
#include <string>

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/ReplaceConstant.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/queries.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr const char* kConstantSpace =
    "msl.constant";  // metadata on the load of a `constant` argument's address

// Builds the values an entry function can ask for, each once, at its top.
class ThreadState {
 public:
  explicit ThreadState(Function& entry) : entry_(entry), builder_(top_of(entry)) {}

  Value* value(StringRef name, unsigned argument) {
    Value*& slot = cache_[(name + Twine(argument)).str()];
    if (!slot) slot = make(name, argument);
    return slot;
  }

 private:
  // The end of a new first block that holds the function's variables and nothing else.
  static Instruction* top_of(Function& entry) {
    BasicBlock& first = entry.getEntryBlock();
    BasicBlock::iterator place = first.begin();
    while (isa<AllocaInst>(*place)) ++place;
    first.splitBasicBlock(place, "body");
    return first.getTerminator();
  }

  Value* load(Value* base, size_t offset, Type* type) {
    Value* address = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
    LoadInst* result = builder_.CreateLoad(type, address);
    result->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(entry_.getContext(), {}));
    return result;
  }

  Value* word(bool in_dispatch, size_t offset, unsigned dimension) {
    return load(entry_.getArg(in_dispatch ? kDispatch : kThreadgroup),
                offset + dimension * sizeof(unsigned), builder_.getInt32Ty());
  }

  Value* address(bool in_dispatch, size_t offset, unsigned index) {
    return load(entry_.getArg(in_dispatch ? kDispatch : kThreadgroup),
                offset + index * sizeof(void*), builder_.getPtrTy());
  }

  Value* make(StringRef name, unsigned k) {
    if (name == "__msl_local_position") return entry_.getArg(kPositionX + k);
    if (name == "__msl_group_position") return word(false, offsetof(MslThreadgroup, position), k);
    if (name == "__msl_group_size") return word(false, offsetof(MslThreadgroup, size), k);
    if (name == "__msl_dispatch_size")
      return word(true, offsetof(MslDispatch, threads_per_threadgroup), k);
    if (name == "__msl_grid_size") return word(true, offsetof(MslDispatch, threads_per_grid), k);
    if (name == "__msl_grid_groups")
      return word(true, offsetof(MslDispatch, threadgroups_per_grid), k);
    if (name == "__msl_grid_position") {  // the executor refuses grids that would wrap
      Value* first =
          builder_.CreateNUWMul(value("__msl_group_position", k), value("__msl_dispatch_size", k));
      return builder_.CreateNUWAdd(first, entry_.getArg(kPositionX + k));
    }
    if (name == "__msl_thread_index") return entry_.getArg(kThread);
    if (name == "__msl_lane_id")
      return builder_.CreateAnd(entry_.getArg(kThread), MSL_SIMD_WIDTH - 1);
    if (name == "__msl_buffer_address") return address(true, offsetof(MslDispatch, buffer), k);
    if (name == "__msl_constant_address") {
      auto* result = cast<LoadInst>(address(true, offsetof(MslDispatch, buffer), k));
      result->setMetadata(kConstantSpace, MDNode::get(entry_.getContext(), {}));
      return result;
    }
    if (name == "__msl_threadgroup_address")
      return address(false, offsetof(MslThreadgroup, threadgroup_buffer), k);
    if (name == "memory") return address(false, offsetof(MslThreadgroup, memory), 0);
    return nullptr;
  }

  Function& entry_;
  IRBuilder<> builder_;
  std::map<std::string, Value*> cache_;
};

// Gives each threadgroup variable used in `entry` a place in the static block.
void place_threadgroup_variables(Function& entry, ThreadState& state, Kernel& kernel) {
  Module& module = *entry.getParent();
  const DataLayout& layout = module.getDataLayout();
  std::vector<Constant*> globals;
  for (GlobalVariable& global : module.globals())
    if (global.getName().starts_with("msl.threadgroup.")) globals.push_back(&global);
  convertUsersOfConstantsToInstructions(globals, &entry);
  uint64_t offset = 0;
  for (Constant* constant : globals) {
    auto* global = cast<GlobalVariable>(constant);
    std::vector<Instruction*> users;
    for (User* user : global->users())
      if (auto* instruction = dyn_cast<Instruction>(user);
          instruction && instruction->getFunction() == &entry)
        users.push_back(instruction);
    if (users.empty()) continue;
    offset = alignTo(offset, global->getAlign().valueOrOne());
    Value* base = state.value("memory", 0);
    auto* after = cast<Instruction>(base)->getNextNode();
    IRBuilder<> builder(after);
    Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), base, offset);
    // Uses are casts out of the threadgroup address space, or computations before one.
    Value* in_space = nullptr;
    for (Instruction* user : users) {
      if (auto* cast = dyn_cast<AddrSpaceCastInst>(user)) {
        cast->replaceAllUsesWith(place);
        cast->eraseFromParent();
      } else {
        if (!in_space) in_space = builder.CreateAddrSpaceCast(place, global->getType());
        user->replaceUsesOfWith(global, in_space);
      }
    }
    offset += layout.getTypeAllocSize(global->getValueType());
  }
  kernel.static_threadgroup_bytes = alignTo(offset, 16);
  kernel.grid_only &= offset == 0;
}

// What a thread may ask for without learning which threadgroup it is in.
bool is_of_grid(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases("__msl_grid_position", "__msl_grid_size", "__msl_grid_groups", "__msl_dispatch_size",
             "__msl_buffer_address", "__msl_constant_address", true)
      .Default(false);
}

}  // namespace

void lower_thread_state(Function& entry, Kernel& kernel) {
  ThreadState state(entry);
  kernel.grid_only = true;
  for (BasicBlock& block : entry)
    for (Instruction& instruction : make_early_inc_range(block)) {
      std::optional<Query> query = query_of(instruction);
      if (!query) continue;
      kernel.grid_only &= is_of_grid(query->name);
      instruction.replaceAllUsesWith(state.value(query->name, query->index));
      instruction.eraseFromParent();
    }
  place_threadgroup_variables(entry, state, kernel);
}

void mark_constant_loads(Function& entry) {
  unsigned constant_space = entry.getContext().getMDKindID(kConstantSpace);
  MDNode* empty = MDNode::get(entry.getContext(), {});
  for (BasicBlock& block : entry)
    for (Instruction& instruction : block) {
      if (!instruction.getMetadata(constant_space)) continue;
      std::vector<Value*> todo = {&instruction};
      while (!todo.empty()) {
        Value* value = todo.back();
        todo.pop_back();
        for (User* user : value->users()) {
          if (auto* load = dyn_cast<LoadInst>(user))
            load->setMetadata(LLVMContext::MD_invariant_load, empty);
          if (isa<GetElementPtrInst>(user)) todo.push_back(user);
        }
      }
    }
}

}  // namespace mlxn::msl
