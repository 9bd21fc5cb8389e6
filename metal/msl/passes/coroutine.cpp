// The coroutine tier: right for every kernel. One thread is an LLVM coroutine; each cross-lane call
// becomes "publish operands, suspend, fetch the result", and the executor carries it out once the
// lanes it concerns have arrived.
#include "metal/msl/passes/coroutine.h"

#include <cstddef>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr const char* kFrameMarker = "__msl_note_frame_size";

class CoroutineBuilder {
 public:
  CoroutineBuilder(Function& entry, Kernel& kernel)
      : module_(*entry.getParent()), context_(entry.getContext()), entry_(entry), kernel_(kernel) {}

  void run() {
    create_function();
    for (CallInst* call : cross_lane_calls()) lower_call(*call);
    finish_returns();
    entry_.deleteBody();
    entry_.eraseFromParent();
  }

 private:
  Value* byte_offset(IRBuilder<>& b, Value* base, uint64_t offset) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset);
  }

  void create_function() {
    Type* pointer = PointerType::get(context_, 0);
    Type* i32 = Type::getInt32Ty(context_);
    auto* type = FunctionType::get(Type::getVoidTy(context_), {pointer, pointer, i32}, false);
    kernel_.tier = Tier::kCoroutine;
    kernel_.symbol = "k." + entry_.getName().str();
    start_ = Function::Create(type, GlobalValue::ExternalLinkage, kernel_.symbol, &module_);
    start_->setPresplitCoroutine();
    BasicBlock* top = BasicBlock::Create(context_, "top", start_);
    IRBuilder<> b(top);
    threadgroup_ = start_->getArg(1);
    Value* thread = start_->getArg(2);
    // Position from the linear index.
    Value* sx = b.CreateLoad(i32, byte_offset(b, threadgroup_, offsetof(MslThreadgroup, size)));
    Value* sy = b.CreateLoad(i32, byte_offset(b, threadgroup_, offsetof(MslThreadgroup, size) + 4));
    Value* x = b.CreateURem(thread, sx);
    Value* row = b.CreateUDiv(thread, sx);
    Value* y = b.CreateURem(row, sy);
    Value* z = b.CreateUDiv(row, sy);
    begin_coroutine(b, thread);
    // The thread's column in its simdgroup's exchange area.
    Value* groups =
        b.CreateLoad(pointer, byte_offset(b, threadgroup_, offsetof(MslThreadgroup, simdgroups)));
    Value* wide = b.CreateZExt(thread, b.getInt64Ty());
    Value* group = b.CreateMul(b.CreateLShr(wide, 5), b.getInt64(sizeof(MslSimdgroup)));
    Value* lane = b.CreateMul(b.CreateAnd(wide, 31), b.getInt64(4));
    column_ = b.CreateInBoundsGEP(b.getInt8Ty(), groups, b.CreateAdd(group, lane));

    ValueToValueMapTy map;
    Value* arguments[] = {start_->getArg(0), threadgroup_, x, y, z, thread};
    for (unsigned i = 0; i < 6; ++i) map[entry_.getArg(i)] = arguments[i];
    SmallVector<ReturnInst*, 8> returns;
    CloneFunctionInto(start_, &entry_, map, CloneFunctionChangeType::LocalChangesOnly, returns);
    b.CreateBr(cast<BasicBlock>(map[&entry_.getEntryBlock()]));
    start_->setAttributes({});
    start_->setPresplitCoroutine();
    for (const Attribute& attribute : entry_.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute()) start_->addFnAttr(attribute);
    start_->addFnAttr(Attribute::NoUnwind);
    returns_.assign(returns.begin(), returns.end());
    // Variables of the kernel must live in the first block to become part of the frame.
    for (BasicBlock& block : *start_)
      for (Instruction& instruction : make_early_inc_range(block))
        if (isa<AllocaInst>(instruction) && &block != top)
          instruction.moveBefore(&*top->getFirstInsertionPt());
  }

  void begin_coroutine(IRBuilder<>& b, Value* thread) {
    Value* null = ConstantPointerNull::get(b.getPtrTy());
    id_ = b.CreateIntrinsic(Intrinsic::coro_id, {}, {b.getInt32(64), null, null, null});
    Value* size = b.CreateIntrinsic(Intrinsic::coro_size, {b.getInt64Ty()}, {});
    Value* rounded = b.CreateAnd(b.CreateAdd(size, b.getInt64(63)), b.getInt64(~uint64_t(63)));
    Value* frames =
        b.CreateLoad(b.getPtrTy(), byte_offset(b, threadgroup_, offsetof(MslThreadgroup, frames)));
    Value* memory = b.CreateInBoundsGEP(b.getInt8Ty(), frames,
                                        b.CreateMul(b.CreateZExt(thread, b.getInt64Ty()), rounded));
    handle_ = b.CreateIntrinsic(Intrinsic::coro_begin, {}, {id_, memory});
    // Carries the frame's size past the coroutine passes, and lets the frame escape: otherwise
    // stores into it look dead.
    FunctionCallee marker =
        module_.getOrInsertFunction(kFrameMarker, b.getVoidTy(), b.getInt64Ty(), b.getPtrTy());
    b.CreateCall(marker, {size, handle_});

    suspend_ = BasicBlock::Create(context_, "suspend", start_);
    cleanup_ = BasicBlock::Create(context_, "cleanup", start_);
    IRBuilder<> s(suspend_);
    s.CreateIntrinsic(Intrinsic::coro_end, {},
                      {handle_, s.getFalse(), ConstantTokenNone::get(context_)});
    s.CreateRetVoid();
    IRBuilder<> c(cleanup_);  // never taken: threads are not destroyed
    c.CreateIntrinsic(Intrinsic::coro_free, {}, {id_, handle_});
    c.CreateBr(suspend_);
  }

  std::vector<CallInst*> cross_lane_calls() {
    std::vector<CallInst*> calls;
    for (BasicBlock& block : *start_)
      for (Instruction& instruction : block)
        if (auto* call = dyn_cast<CallInst>(&instruction))
          if (Function* callee = call->getCalledFunction(); callee && is_cross_lane(*callee))
            calls.push_back(call);
    return calls;
  }

  // Suspends before `next`; code after it runs when the thread is resumed.
  void suspend_before(Instruction* next, bool is_final) {
    BasicBlock* before = next->getParent();
    BasicBlock* resume = before->splitBasicBlock(next, "resume");
    before->getTerminator()->eraseFromParent();
    IRBuilder<> b(before);
    Value* state = b.CreateIntrinsic(Intrinsic::coro_suspend, {},
                                     {ConstantTokenNone::get(context_), b.getInt1(is_final)});
    SwitchInst* choice = b.CreateSwitch(state, suspend_, 2);
    choice->addCase(b.getInt8(0), resume);
    choice->addCase(b.getInt8(1), cleanup_);
  }

  Value* slot(IRBuilder<>& b, unsigned row) {
    return byte_offset(b, column_,
                       offsetof(MslSimdgroup, data) + row * sizeof(unsigned) * MSL_SIMD_WIDTH);
  }

  // Writes a value into consecutive rows; returns the next free row.
  unsigned store_words(IRBuilder<>& b, Value* value, unsigned row) {
    if (auto* vector = dyn_cast<FixedVectorType>(value->getType())) {
      for (unsigned i = 0; i < vector->getNumElements(); ++i)
        row = store_words(b, b.CreateExtractElement(value, uint64_t(i)), row);
      return row;
    }
    if (value->getType()->getPrimitiveSizeInBits() == 64) {
      Value* bits = b.CreateBitCast(value, b.getInt64Ty());
      b.CreateStore(b.CreateTrunc(bits, b.getInt32Ty()), slot(b, row));
      b.CreateStore(b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty()), slot(b, row + 1));
      return row + 2;
    }
    b.CreateStore(value, slot(b, row));
    return row + 1;
  }

  Value* load_words(IRBuilder<>& b, Type* type, unsigned row) {
    if (auto* vector = dyn_cast<FixedVectorType>(type)) {
      Value* result = PoisonValue::get(type);
      for (unsigned i = 0; i < vector->getNumElements(); ++i)
        result = b.CreateInsertElement(
            result, b.CreateLoad(vector->getElementType(), slot(b, row + i)), uint64_t(i));
      return result;
    }
    if (type->getPrimitiveSizeInBits() == 64) {
      Value* low = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), slot(b, row)), b.getInt64Ty());
      Value* high = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), slot(b, row + 1)), b.getInt64Ty());
      return b.CreateBitCast(b.CreateOr(low, b.CreateShl(high, 32)), type);
    }
    return b.CreateLoad(type, slot(b, row));
  }

  void lower_call(CallInst& call) {
    LaneOperation operation = lane_operation(call);
    IRBuilder<> b(&call);
    unsigned row = 0;
    for (unsigned i = 0; i < operation.operands; ++i)
      row = store_words(b, call.getArgOperand(i), row);
    b.CreateStore(call.getArgOperand(call.arg_size() - 1),
                  byte_offset(b, column_, offsetof(MslSimdgroup, site)));
    b.CreateStore(b.getInt32(operation.word), byte_offset(b, column_, offsetof(MslSimdgroup, op)));
    suspend_before(&call, /*is_final=*/false);
    b.SetInsertPoint(&call);
    if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(load_words(b, call.getType(), 0));
    call.eraseFromParent();
  }

  void finish_returns() {
    BasicBlock* done = BasicBlock::Create(context_, "done", start_);
    for (ReturnInst* ret : returns_) ReplaceInstWithInst(ret, BranchInst::Create(done));
    IRBuilder<> b(done);
    b.CreateStore(b.getInt32(MSL_OP_DONE), byte_offset(b, column_, offsetof(MslSimdgroup, op)));
    Instruction* unreachable = b.CreateUnreachable();
    suspend_before(unreachable, /*is_final=*/true);
    // A final suspension is never resumed: its switch keeps only the clean-up case.
    auto* choice = cast<SwitchInst>(done->getTerminator());
    BasicBlock* resume =
        choice->findCaseValue(ConstantInt::get(Type::getInt8Ty(context_), 0))->getCaseSuccessor();
    choice->removeCase(choice->findCaseValue(ConstantInt::get(Type::getInt8Ty(context_), 0)));
    DeleteDeadBlock(resume);
  }

  Module& module_;
  LLVMContext& context_;
  Function& entry_;
  Kernel& kernel_;
  Function* start_ = nullptr;
  Value* threadgroup_ = nullptr;
  Value* id_ = nullptr;
  Value* handle_ = nullptr;
  Value* column_ = nullptr;
  BasicBlock* suspend_ = nullptr;
  BasicBlock* cleanup_ = nullptr;
  std::vector<ReturnInst*> returns_;
};

}  // namespace

void build_coroutine(Function& entry, Kernel& kernel) {
  CoroutineBuilder(entry, kernel).run();
}

Status read_frame_size(Function& start, Kernel& kernel) {
  for (BasicBlock& block : start)
    for (Instruction& instruction : make_early_inc_range(block)) {
      auto* call = dyn_cast<CallInst>(&instruction);
      if (!call || !call->getCalledFunction() ||
          call->getCalledFunction()->getName() != kFrameMarker)
        continue;
      auto* size = dyn_cast<ConstantInt>(call->getArgOperand(0));
      if (!size)
        return Error(ErrorCode::kInternal, str("kernel '", kernel.name,
                                               "': the size of a thread's frame is no constant"));
      kernel.frame_bytes = alignTo(size->getZExtValue(), 64);
      call->eraseFromParent();
    }
  return {};
}

}  // namespace mlxn::msl
