#include "metal/msl/passes/loaded_matrix.h"

#include "llvm/IR/Module.h"
#include "metal/msl/passes/tiles.h"
#include "metal/msl/passes/uniformity.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// How far the second address lies behind the first one, if always equally far.
std::optional<int64_t> step_between(const LoadInst& first, const LoadInst& second) {
  const DataLayout& layout = first.getModule()->getDataLayout();
  APInt from(64, 0), to(64, 0);
  const Value* a = first.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, from, true);
  const Value* b = second.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, to, true);
  return a == b ? std::optional((to - from).getSExtValue()) : std::nullopt;
}

bool is_written_between(const LoadInst& earlier, const LoadInst& later) {
  for (const Instruction* i = &earlier; i != &later; i = i->getNextNode())
    if (i->mayWriteToMemory()) return true;
  return false;
}

}  // namespace

std::optional<LoadedMatrix> find_loaded_matrix(LoadInst& first, LoadInst& second,
                                               LaneOffsets& offsets) {
  Type* type = first.getType();
  if (&first == &second || !first.isSimple() || !second.isSimple() || type != second.getType() ||
      !is_matrix_element(type) || first.getParent() != second.getParent())
    return std::nullopt;
  bool unknown = false;
  if (private_variable(first.getPointerOperand(), unknown) || unknown) return std::nullopt;
  bool in_order = first.comesBefore(&second);
  if (in_order ? is_written_between(first, second) : is_written_between(second, first))
    return std::nullopt;
  auto step = step_between(first, second);
  auto lanes = offsets.of(first.getPointerOperand());
  int64_t size = type->getScalarSizeInBits() / 8;
  if (!step || *step % size || !lanes) return std::nullopt;
  LoadedMatrix matrix{&first, in_order ? &second : &first, (*lanes)[2] / size, *step / size};
  for (unsigned lane = 0; lane < lanes->size(); ++lane) {
    MatrixPlace at = first_element_of(lane);
    if ((*lanes)[lane] != size * (at.row * matrix.down + at.column * matrix.across))
      return std::nullopt;
  }
  return matrix;
}

}  // namespace mlxn::msl
