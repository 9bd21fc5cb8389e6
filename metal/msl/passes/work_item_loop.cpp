#include "metal/msl/passes/work_item_loop.h"

#include <cstddef>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/thread_steps.h"
#include "metal/msl/passes/wide_loop.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Whether a pointer may lead to a private variable: one of several, or one that lies in a variable.
bool may_be_private(const Value* pointer) {
  const Value* object = getUnderlyingObject(pointer, 0);
  while (const auto* load = dyn_cast<LoadInst>(object))
    object = getUnderlyingObject(load->getPointerOperand(), 0);
  return isa<AllocaInst>(object) || isa<PHINode>(object) || isa<SelectInst>(object);
}

// Puts every access to shared memory into one access group. Private variables stay out: all
// iterations use the same stack slot, so there the order matters.
MDNode* mark_parallel(Function& entry) {
  MDNode* group = MDNode::getDistinct(entry.getContext(), {});
  for (BasicBlock& block : entry)
    for (Instruction& instruction : block) {
      if (!instruction.mayReadOrWriteMemory()) continue;
      const Value* pointer = getLoadStorePointerOperand(&instruction);
      if (!pointer || may_be_private(pointer)) continue;
      instruction.setMetadata(LLVMContext::MD_access_group, group);
    }
  return group;
}

struct Loop {
  BasicBlock* body;
  BasicBlock* exit;
  PHINode* counter;
};

// for (i = 0; i < count; ++i) around the block it returns; count is at least 1.
Loop open_loop(IRBuilder<>& builder, Function& function, const char* name) {
  BasicBlock* before = builder.GetInsertBlock();
  BasicBlock* body = BasicBlock::Create(function.getContext(), name, &function);
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  PHINode* counter = builder.CreatePHI(builder.getInt32Ty(), 2);
  counter->addIncoming(builder.getInt32(0), before);
  return {body, nullptr, counter};
}

void close_loop(IRBuilder<>& builder, Function& function, Loop& loop, Value* count, unsigned step,
                MDNode* group) {
  Value* next =
      builder.CreateAdd(loop.counter, builder.getInt32(step), "", /*HasNUW=*/true, /*HasNSW=*/true);
  BasicBlock* latch = builder.GetInsertBlock();
  loop.exit = BasicBlock::Create(function.getContext(), "", &function);
  BranchInst* branch =
      builder.CreateCondBr(builder.CreateICmpULT(next, count), loop.body, loop.exit);
  loop.counter->addIncoming(next, latch);
  if (group) {
    LLVMContext& context = function.getContext();
    MDNode* parallel =
        MDNode::get(context, {MDString::get(context, "llvm.loop.parallel_accesses"), group});
    MDNode* id = MDNode::getDistinct(context, {nullptr, parallel});
    id->replaceOperandWith(0, id);
    branch->setMetadata(LLVMContext::MD_loop, id);
  }
  builder.SetInsertPoint(loop.exit);
}

// Whether the threads of a row can be taken 16 at a time: the place of each set is a multiple of
// it.
Value* has_sets(IRBuilder<>& builder, Value* dispatch, Value* width) {
  Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), dispatch,
                                                    offsetof(MslDispatch, threads_per_threadgroup));
  Value* both = builder.CreateOr(width, builder.CreateLoad(builder.getInt32Ty(), place));
  return builder.CreateIsNull(builder.CreateAnd(both, kSetSize - 1));
}

}  // namespace

std::optional<Refusal> build_work_item_loop(Function& entry, Kernel& kernel) {
  LLVMContext& context = entry.getContext();
  kernel.tier = Tier::kWorkItemLoop;
  Function* loop_function = create_threadgroup_function(entry, kernel);
  MDNode* group = mark_parallel(entry);
  entry.setLinkage(GlobalValue::InternalLinkage);
  entry.addFnAttr(Attribute::AlwaysInline);
  std::optional<Refusal> refusal;
  Function* wide = make_wide(entry, refusal);

  IRBuilder<> builder(BasicBlock::Create(context, "entry", loop_function));
  Value* dispatch = loop_function->getArg(0);
  Value* threadgroup = loop_function->getArg(1);
  Value* sx = load_group_size(builder, threadgroup, 0);
  Value* sy = load_group_size(builder, threadgroup, 1);
  Value* sz = load_group_size(builder, threadgroup, 2);
  Loop z = open_loop(builder, *loop_function, "z");
  Loop y = open_loop(builder, *loop_function, "y");
  auto run_row = [&](Function& body, unsigned step, MDNode* parallel) {
    Loop x = open_loop(builder, *loop_function, "x");
    Value* row = builder.CreateNUWAdd(builder.CreateNUWMul(z.counter, sy), y.counter);
    Value* thread = builder.CreateNUWAdd(builder.CreateNUWMul(row, sx), x.counter);
    builder.CreateCall(&body, {dispatch, threadgroup, x.counter, y.counter, z.counter, thread});
    close_loop(builder, *loop_function, x, sx, step, parallel);
  };
  if (wide) {
    BasicBlock* sets = BasicBlock::Create(context, "sets", loop_function);
    BasicBlock* threads = BasicBlock::Create(context, "threads", loop_function);
    BasicBlock* end = BasicBlock::Create(context, "row", loop_function);
    builder.CreateCondBr(has_sets(builder, dispatch, sx), sets, threads);
    builder.SetInsertPoint(sets);
    run_row(*wide, kSetSize, nullptr);
    builder.CreateBr(end);
    builder.SetInsertPoint(threads);
    run_row(entry, 1, group);
    builder.CreateBr(end);
    builder.SetInsertPoint(end);
  } else {
    run_row(entry, 1, group);
  }
  close_loop(builder, *loop_function, y, sy, 1, nullptr);
  close_loop(builder, *loop_function, z, sz, 1, nullptr);
  builder.CreateRetVoid();
  return refusal;
}

}  // namespace mlxn::msl
