#include "metal/msl/passes/shape.h"

#include <cstddef>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Loads of MslThreadgroup::size[dimension].
std::vector<LoadInst*> size_loads(Function& entry, unsigned dimension) {
  const DataLayout& layout = entry.getParent()->getDataLayout();
  std::vector<LoadInst*> found;
  for (BasicBlock& block : entry)
    for (Instruction& instruction : block) {
      auto* load = dyn_cast<LoadInst>(&instruction);
      if (!load) continue;
      APInt offset(64, 0);
      Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
          layout, offset, /*AllowNonInbounds=*/true);
      if (base == entry.getArg(kThreadgroup) &&
          offset == offsetof(MslThreadgroup, size) + dimension * sizeof(unsigned))
        found.push_back(load);
    }
  return found;
}

}  // namespace

void fix_shape(Function& entry, const Shape& shape) {
  IRBuilder<> builder(&*entry.getEntryBlock().getFirstInsertionPt());
  Value* size[3];
  for (unsigned i = 0; i < 3; ++i) {
    std::vector<LoadInst*> loads = size_loads(entry, i);
    if (shape.kind == Shape::Kind::kExact || (shape.kind == Shape::Kind::kFlat32 && i > 0)) {
      size[i] = builder.getInt32(shape.kind == Shape::Kind::kExact ? shape.size[i] : 1);
    } else {
      size[i] = load_group_size(builder, entry.getArg(kThreadgroup), i);
    }
    for (LoadInst* load : loads) {
      load->replaceAllUsesWith(size[i]);
      load->eraseFromParent();
    }
  }
  Value* thread = entry.getArg(kThread);
  bool flat = shape.kind == Shape::Kind::kFlat32 ||
              (shape.kind == Shape::Kind::kExact && shape.size[1] == 1 && shape.size[2] == 1);
  if (flat) {
    entry.getArg(kPositionX)->replaceAllUsesWith(thread);
    entry.getArg(kPositionY)->replaceAllUsesWith(builder.getInt32(0));
    entry.getArg(kPositionZ)->replaceAllUsesWith(builder.getInt32(0));
    return;
  }
  Value* row = builder.CreateUDiv(thread, size[0]);
  entry.getArg(kPositionX)->replaceAllUsesWith(builder.CreateURem(thread, size[0]));
  entry.getArg(kPositionY)->replaceAllUsesWith(builder.CreateURem(row, size[1]));
  entry.getArg(kPositionZ)->replaceAllUsesWith(builder.CreateUDiv(row, size[1]));
}

}  // namespace mlxn::msl
