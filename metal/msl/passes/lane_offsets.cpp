#include "metal/msl/passes/lane_offsets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kWidth = MSL_SIMD_WIDTH;

LaneOffsets::Distances added(const LaneOffsets::Distances& a, const LaneOffsets::Distances& b,
                             int64_t factor) {
  LaneOffsets::Distances sum;
  for (unsigned i = 0; i < kWidth; ++i)
    sum[i] = int64_t(uint64_t(a[i]) + uint64_t(b[i]) * uint64_t(factor));
  return sum;
}

}  // namespace

// The value for each thread, or null if it depends on more than the thread's index.
const LaneOffsets::Numbers* LaneOffsets::numbers(Value* value) {
  auto [place, fresh] = numbers_.try_emplace(value, std::nullopt);
  if (!fresh) return place->second ? &*place->second : nullptr;
  Numbers result;
  if (auto* constant = dyn_cast<ConstantInt>(value)) {
    result.assign(threads_, constant);
  } else if (value == &thread_) {
    for (unsigned i = 0; i < threads_; ++i)
      result.push_back(ConstantInt::get(cast<IntegerType>(value->getType()), i));
  } else if (auto* instruction = dyn_cast<Instruction>(value);
             !instruction || !calculate(*instruction, result)) {
    return nullptr;
  }
  std::optional<Numbers>& known = numbers_[value];
  known = std::move(result);
  return &*known;
}

bool LaneOffsets::calculate(Instruction& instruction, Numbers& result) {
  if (!isa<BinaryOperator, CastInst, ICmpInst, SelectInst>(instruction)) return false;
  SmallVector<const Numbers*, 3> operands;
  for (Value* operand : instruction.operands()) {
    if (!operand->getType()->isIntegerTy()) return false;
    operands.push_back(numbers(operand));
    if (!operands.back()) return false;
  }
  const DataLayout& layout = instruction.getModule()->getDataLayout();
  SmallVector<Constant*, 3> given(operands.size());
  for (unsigned i = 0; i < threads_; ++i) {
    for (auto [place, operand] : zip(given, operands)) place = (*operand)[i];
    auto* number =
        dyn_cast_or_null<ConstantInt>(ConstantFoldInstOperands(&instruction, given, layout));
    if (!number) return false;
    result.push_back(number);
  }
  return true;
}

std::optional<LaneOffsets::Distances> LaneOffsets::of_numbers(const Numbers& numbers) const {
  std::optional<Distances> common;
  for (unsigned first = 0; first < threads_; first += kWidth) {
    Distances distances;
    for (unsigned i = 0; i < kWidth; ++i)
      distances[i] = int64_t(uint64_t(numbers[first + i]->getSExtValue()) -
                             uint64_t(numbers[first]->getSExtValue()));
    if (common && *common != distances) return std::nullopt;
    common = distances;
  }
  return common;
}

std::optional<LaneOffsets::Distances> LaneOffsets::of_address(GetElementPtrInst& address) {
  const DataLayout& layout = address.getModule()->getDataLayout();
  MapVector<Value*, APInt> indices;
  APInt constant(64, 0);
  if (!cast<GEPOperator>(address).collectOffset(layout, 64, indices, constant)) return std::nullopt;
  auto sum = of(address.getPointerOperand());
  for (auto& [index, scale] : indices) {
    auto distances = of(index);
    if (!sum || !distances) return std::nullopt;
    sum = added(*sum, *distances, scale.getSExtValue());
  }
  return sum;
}

std::optional<LaneOffsets::Distances> LaneOffsets::of(Value* value) {
  if (uniform_(value)) return Distances{};
  if (!value->getType()->isPointerTy() && !value->getType()->isIntegerTy(64)) return std::nullopt;
  auto [place, fresh] = distances_.try_emplace(value, std::nullopt);
  if (!fresh) return place->second;
  std::optional<Distances> result;
  if (const Numbers* known = numbers(value)) {
    result = of_numbers(*known);
  } else if (auto* address = dyn_cast<GetElementPtrInst>(value)) {
    result = of_address(*address);
  } else if (auto* sum = dyn_cast<BinaryOperator>(value);
             sum && sum->getOpcode() == Instruction::Add) {
    auto a = of(sum->getOperand(0)), b = of(sum->getOperand(1));
    if (a && b) result = added(*a, *b, 1);
  }
  return distances_[value] = result;
}

Value* LaneOffsets::in_first_lane(Value* value) {
  if (uniform_(value)) return value;
  Value*& known = first_[value];
  if (known) return known;
  if (value == &thread_) {
    IRBuilder<> b(&*thread_.getParent()->getEntryBlock().getFirstInsertionPt());
    return known = b.CreateAnd(value, ~uint64_t{kWidth - 1});
  }
  auto* instruction = cast<Instruction>(value);
  Instruction* copy = instruction->clone();
  for (Use& operand : copy->operands()) operand.set(in_first_lane(operand));
  copy->insertAfter(instruction);
  return first_[value] = copy;
}

}  // namespace mlxn::msl
