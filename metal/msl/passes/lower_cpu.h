// CPU lowering: from entry functions for one thread to code the executor calls (see kernel_abi.h).
#pragma once

#include <optional>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// Parameters of an entry function for one thread.
enum EntryParameter : unsigned {
  kDispatch,
  kThreadgroup,
  kPositionX,  // in the threadgroup
  kPositionY,
  kPositionZ,
  kThread,  // linear index in the threadgroup, x fastest
};

// Chooses each kernel's tier and builds its code: adds the function kernel.symbol in place of the
// entry function of that name. Says how and why in `explanation`, unless that is null.
void lower_to_cpu(llvm::Module& module, std::vector<Kernel>& kernels, const CompileRequest& request,
                  llvm::TargetMachine& machine, std::string* explanation);

// Replaces thread positions, argument addresses and threadgroup variables of an entry function
// by loads from MslDispatch and MslThreadgroup. Sets the kernel's static threadgroup size.
void lower_thread_state(llvm::Function& entry, Kernel& kernel);

// Loads from `constant` arguments never change while a kernel runs.
void mark_constant_loads(llvm::Function& entry);

bool has_cross_lane_call(const llvm::Function& entry);

// The empty function kernel.symbol for tiers 0 to 2, an MslThreadgroupEntry.
llvm::Function* create_threadgroup_function(const llvm::Function& entry, Kernel& kernel);

// Tier 0: adds the function kernel.symbol, a loop over all threads of a threadgroup. `entry` is
// inlined into it.
void build_work_item_loop(llvm::Function& entry, Kernel& kernel);

// Reads how many threads the threadgroup has in a dimension: 1 to MSL_MAX_THREADS, never changing.
llvm::LoadInst* load_group_size(llvm::IRBuilder<>& builder, llvm::Value* threadgroup,
                                unsigned dimension);

// Makes an entry function for threadgroups of one shape: thread positions become functions of the
// linear index, known sizes constants.
void fix_shape(llvm::Function& entry, const Shape& shape);

// Tier 1: adds the function kernel.symbol, which runs a threadgroup with uniform control flow kept
// once and loops over lanes between cross-lane operations. `entry` has a fixed shape and is scalar;
// it is changed, but stays.
std::optional<Refusal> build_uniform_regions(llvm::Function& entry, Kernel& kernel,
                                             const Shape& shape);

// Tier 2: the same for any control flow: each lane has its own place in the program.
void build_masked_regions(llvm::Function& entry, Kernel& kernel, const Shape& shape);

// Coroutine tier: adds the function kernel.symbol, which starts one thread. `entry` must be fully
// inlined.
void build_coroutine(llvm::Function& entry, Kernel& kernel);

// After the coroutine passes: reads the size of the frame and removes the marker that carried it.
Status read_frame_size(llvm::Function& start, Kernel& kernel);

}  // namespace mlxn::msl
