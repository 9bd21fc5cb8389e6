#include "metal/msl/passes/simdgroup_ops.h"

#include <numeric>

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kWidth = MSL_SIMD_WIDTH;

unsigned type_of(StringRef suffix) {
  return StringSwitch<unsigned>(suffix)
      .Case("f32", MSL_TYPE_F32)
      .Case("i32", MSL_TYPE_I32)
      .Case("u32", MSL_TYPE_U32)
      .Case("i64", MSL_TYPE_I64)
      .Default(MSL_TYPE_U64);
}

bool is_signed(unsigned type) {
  return type == MSL_TYPE_I32 || type == MSL_TYPE_I64;
}

// One function on numbers: how two values combine, and the value that leaves any other unchanged.
struct Arithmetic {
  unsigned type, function;

  Constant* identity(Type* of) const {
    if (type == MSL_TYPE_F32) {
      switch (function) {
        case MSL_FN_SUM: return ConstantFP::get(of, -0.0);
        case MSL_FN_PRODUCT: return ConstantFP::get(of, 1.0);
        default: return ConstantFP::getQNaN(of);
      }
    }
    unsigned bits = of->getScalarSizeInBits();
    switch (function) {
      case MSL_FN_PRODUCT: return ConstantInt::get(of, 1);
      case MSL_FN_MIN:
        return ConstantInt::get(
            of, is_signed(type) ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits));
      case MSL_FN_MAX:
        return ConstantInt::get(
            of, is_signed(type) ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits));
      case MSL_FN_AND: return Constant::getAllOnesValue(of);
      default: return Constant::getNullValue(of);
    }
  }

  Value* combine(IRBuilder<>& b, Value* x, Value* y) const {
    return type == MSL_TYPE_F32 ? combine_floats(b, x, y) : combine_integers(b, x, y);
  }

 private:
  Value* combine_floats(IRBuilder<>& b, Value* x, Value* y) const {
    switch (function) {
      case MSL_FN_SUM: return b.CreateFAdd(x, y);
      case MSL_FN_PRODUCT: return b.CreateFMul(x, y);
      default: break;
    }
    auto better = function == MSL_FN_MIN ? CmpInst::FCMP_OLT : CmpInst::FCMP_OGT;
    Value* first = b.CreateOr(b.CreateFCmpUNO(y, y), b.CreateFCmp(better, x, y));
    return b.CreateSelect(first, x, y);
  }

  Value* combine_integers(IRBuilder<>& b, Value* x, Value* y) const {
    switch (function) {
      case MSL_FN_SUM: return b.CreateAdd(x, y);
      case MSL_FN_PRODUCT: return b.CreateMul(x, y);
      case MSL_FN_MIN:
        return b.CreateBinaryIntrinsic(is_signed(type) ? Intrinsic::smin : Intrinsic::umin, x, y);
      case MSL_FN_MAX:
        return b.CreateBinaryIntrinsic(is_signed(type) ? Intrinsic::smax : Intrinsic::umax, x, y);
      case MSL_FN_AND: return b.CreateAnd(x, y);
      case MSL_FN_OR: return b.CreateOr(x, y);
      default: return b.CreateXor(x, y);
    }
  }
};

// `value` where a lane is active, `other` elsewhere.
Value* where_active(IRBuilder<>& b, Value* active, Value* value, Value* other) {
  return active ? b.CreateSelect(active, value, other) : value;
}

// Lanes as the bits of a word, lane 0 lowest.
Value* mask_word(IRBuilder<>& b, Value* lanes) {
  return b.CreateBitCast(lanes, b.getInt32Ty());
}

Value* part(IRBuilder<>& b, Value* vector, unsigned first, unsigned count) {
  SmallVector<int, 64> mask(count);
  std::iota(mask.begin(), mask.end(), int(first));
  return b.CreateShuffleVector(vector, mask);
}

Value* reduce(IRBuilder<>& b, Arithmetic f, Value* value, Value* active) {
  value = where_active(b, active, value, f.identity(value->getType()));
  for (unsigned d = kWidth / 2; d > 0; d /= 2)
    value = f.combine(b, part(b, value, 0, d), part(b, value, d, d));
  return b.CreateExtractElement(value, uint64_t(0));
}

// Each lane gets the value of the lane `distance` below it; the lowest ones get `fill`.
Value* shift_up(IRBuilder<>& b, Value* value, Constant* fill, unsigned distance) {
  SmallVector<int, kWidth> mask;
  for (unsigned i = 0; i < kWidth; ++i)
    mask.push_back(i < distance ? int(kWidth) : int(i - distance));
  return b.CreateShuffleVector(value, fill, mask);
}

// Lanes that are not active hold the identity. Floats keep the order of addition; integers may
// take any.
Value* scan_inclusive(IRBuilder<>& b, Arithmetic f, Value* value) {
  if (f.type != MSL_TYPE_F32) {
    for (unsigned d = 1; d < kWidth; d *= 2)
      value = f.combine(b, shift_up(b, value, f.identity(value->getType()), d), value);
    return value;
  }
  Value* total = b.CreateExtractElement(value, uint64_t(0));
  Value* result = value;
  for (unsigned i = 1; i < kWidth; ++i) {
    total = f.combine(b, total, b.CreateExtractElement(value, uint64_t(i)));
    result = b.CreateInsertElement(result, total, uint64_t(i));
  }
  return result;
}

Value* scan(IRBuilder<>& b, Arithmetic f, Value* value, Value* active, bool inclusive) {
  Type* type = value->getType();
  Value* result = scan_inclusive(b, f, where_active(b, active, value, f.identity(type)));
  if (inclusive) return result;
  // The first active lane gets plain zero, unlike the -0.0 that is the identity of a float sum.
  Constant* before = f.function == MSL_FN_SUM ? Constant::getNullValue(type) : f.identity(type);
  result = shift_up(b, result, before, 1);
  if (!active) return result;
  Value* bits = mask_word(b, active);
  Value* first = b.CreateBitCast(b.CreateAnd(bits, b.CreateNeg(bits)), active->getType());
  return b.CreateSelect(first, before, result);
}

// --- Shuffle

// The values of the lanes `index` (below 32) names.
Value* permute_variable(IRBuilder<>& b, Value* value, Value* index) {
  if (has_feature(*b.GetInsertBlock()->getParent(), "+avx512f")) {
    Value* low = part(b, value, 0, kWidth / 2);
    Value* high = part(b, value, kWidth / 2, kWidth / 2);
    Value* half[2];
    for (unsigned i = 0; i < 2; ++i)
      half[i] = b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_d_512, {},
                                  {low, part(b, index, i * kWidth / 2, kWidth / 2), high});
    return b.CreateShuffleVector(half[0], half[1], llvm::to_vector(llvm::seq<int>(0, kWidth)));
  }
  // Through memory: one store, then a load for each lane.
  BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  IRBuilder<> top(&entry, entry.getFirstInsertionPt());
  AllocaInst* place = top.CreateAlloca(value->getType());
  b.CreateStore(value, place);
  Value* result = PoisonValue::get(value->getType());
  for (unsigned i = 0; i < kWidth; ++i) {
    Value* address =
        b.CreateInBoundsGEP(b.getInt32Ty(), place, b.CreateExtractElement(index, uint64_t(i)));
    result = b.CreateInsertElement(result, b.CreateLoad(b.getInt32Ty(), address), uint64_t(i));
  }
  return result;
}

// The lanes a constant index names, own lane where it names none; false if it is not constant.
bool constant_lanes(Value* index, SmallVectorImpl<int>& lanes) {
  auto* constant = dyn_cast<Constant>(index);
  for (unsigned i = 0; constant && i < kWidth; ++i) {
    auto* lane = dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(i));
    if (!lane) return false;
    lanes.push_back(lane->getValue().ult(kWidth) ? int(lane->getZExtValue()) : int(i));
  }
  return constant != nullptr;
}

Value* shuffle(IRBuilder<>& b, Value* value, Value* index, Value* active) {
  // Lanes out of reach count as "own value": first those that do not exist, then, with the mask
  // taken along, those that are not active.
  SmallVector<int, kWidth> lanes;
  if (constant_lanes(index, lanes)) {
    Value* moved = b.CreateShuffleVector(value, lanes);
    return active ? b.CreateSelect(b.CreateShuffleVector(active, lanes), moved, value) : moved;
  }
  if (Value* lane = getSplatValue(index)) {
    Value* source = b.CreateAnd(lane, kWidth - 1);
    Value* moved = b.CreateVectorSplat(kWidth, b.CreateExtractElement(value, source));
    Value* reachable = b.CreateICmpULT(lane, b.getInt32(kWidth));
    if (active) reachable = b.CreateAnd(reachable, b.CreateExtractElement(active, source));
    return b.CreateSelect(reachable, moved, value);
  }
  Type* type = index->getType();
  Value* source = b.CreateAnd(index, ConstantInt::get(type, kWidth - 1));
  Value* reachable = b.CreateICmpULT(index, ConstantInt::get(type, kWidth));
  if (active) {
    Value* bits = b.CreateVectorSplat(kWidth, mask_word(b, active));
    Value* there = b.CreateTrunc(b.CreateLShr(bits, source), reachable->getType());
    reachable = b.CreateAnd(reachable, there);
  }
  return b.CreateSelect(reachable, permute_variable(b, value, source), value);
}

// --- Votes

Value* ballot(IRBuilder<>& b, Value* predicate, Value* active) {
  Value* votes = b.CreateTrunc(predicate, VectorType::get(b.getInt1Ty(), kWidth, false));
  return mask_word(b, active ? b.CreateAnd(votes, active) : votes);
}

}  // namespace

// --- Matrices

Value* repeat_column(IRBuilder<>& b, Value* block, unsigned k) {
  SmallVector<int, kMatrixBlock> mask;
  for (unsigned i = 0; i < kMatrixBlock; ++i) mask.push_back(int(i / 4 * 4 + k));
  return b.CreateShuffleVector(block, mask);
}

Value* repeat_row(IRBuilder<>& b, Value* block, unsigned k) {
  SmallVector<int, kMatrixBlock> mask;
  for (unsigned i = 0; i < kMatrixBlock; ++i) mask.push_back(int(k * 4 + i % 4));
  return b.CreateShuffleVector(block, mask);
}

MatrixBlocks blocks_of(IRBuilder<>& b, Value* matrix) {
  MatrixBlocks blocks;
  for (unsigned i = 0; i < 4; ++i) blocks[i] = part(b, matrix, i * kMatrixBlock, kMatrixBlock);
  return blocks;
}

Value* matrix_of(IRBuilder<>& b, const MatrixBlocks& blocks) {
  auto both = [&](Value* low, Value* high, unsigned size) {
    return b.CreateShuffleVector(low, high, llvm::to_vector(llvm::seq<int>(0, int(size))));
  };
  return both(both(blocks[0], blocks[1], 32), both(blocks[2], blocks[3], 32), 64);
}

Value* emit_matrix_fma(IRBuilder<>& b, Value* x, Value* y, Value* sum) {
  MatrixBlocks left = blocks_of(b, x), right = blocks_of(b, y), total = blocks_of(b, sum);
  for (unsigned k = 0; k < 8; ++k)
    for (unsigned block = 0; block < 4; ++block) {
      unsigned row = block / 2, column = block % 2;
      Value* a = repeat_column(b, left[row * 2 + k / 4], k % 4);
      Value* c = repeat_row(b, right[k / 4 * 2 + column], k % 4);
      total[block] = b.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, c, total[block]});
    }
  return matrix_of(b, total);
}

namespace {

Value* matrix_fma(IRBuilder<>& b, ArrayRef<Value*> operands, Value* active) {
  Value* matrix[3] = {operands[0], operands[1], operands[2]};
  if (active) {
    SmallVector<int, 64> twice;
    for (int i = 0; i < int(2 * kWidth); ++i) twice.push_back(i / 2);
    Value* elements = b.CreateShuffleVector(active, twice);
    for (Value*& m : matrix) m = b.CreateSelect(elements, m, Constant::getNullValue(m->getType()));
  }
  return emit_matrix_fma(b, matrix[0], matrix[1], matrix[2]);
}

}  // namespace

LaneOperation lane_operation(const CallInst& call) {
  StringRef name = call.getCalledFunction()->getName();
  if (name == "__msl_threadgroup_barrier") return {MSL_OP_THREADGROUP_BARRIER, 0, false};
  if (name == "__msl_simdgroup_barrier") return {MSL_OP_SIMDGROUP_BARRIER, 0, false};
  if (name == "__msl_simd_shuffle") return {MSL_OP_SHUFFLE, 2, false};
  if (name == "__msl_simd_ballot") return {MSL_OP_BALLOT, 1, true};
  if (name == "__msl_simd_active") return {MSL_OP_ACTIVE, 0, true};
  if (name == "__msl_simd_matrix_fma") return {MSL_OP_MATRIX_FMA, 3, false};
  unsigned type = type_of(name.take_back(3));
  unsigned function = unsigned(cast<ConstantInt>(call.getArgOperand(1))->getZExtValue());
  if (name.starts_with("__msl_simd_reduce_"))
    return {unsigned(MSL_OP(MSL_OP_REDUCE, type, function)), 1, true};
  if (name.starts_with("__msl_simd_scan_inclusive_"))
    return {unsigned(MSL_OP(MSL_OP_SCAN_INCLUSIVE, type, function)), 1, false};
  return {unsigned(MSL_OP(MSL_OP_SCAN_EXCLUSIVE, type, function)), 1, false};
}

unsigned site_of(const CallInst& call) {
  return unsigned(cast<ConstantInt>(call.getArgOperand(call.arg_size() - 1))->getZExtValue());
}

Value* emit_lane_operation(IRBuilder<>& builder, const CallInst& call, ArrayRef<Value*> operands,
                           Value* active) {
  IRBuilder<>::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();  // the order of evaluation is fixed
  unsigned word = lane_operation(call).word;
  Arithmetic f{MSL_OP_TYPE(word), MSL_OP_FUNCTION(word)};
  switch (MSL_OP_KIND(word)) {
    case MSL_OP_SHUFFLE: return shuffle(builder, operands[0], operands[1], active);
    case MSL_OP_BALLOT: return ballot(builder, operands[0], active);
    case MSL_OP_ACTIVE: return active ? mask_word(builder, active) : builder.getInt32(~0u);
    case MSL_OP_REDUCE: return reduce(builder, f, operands[0], active);
    case MSL_OP_SCAN_INCLUSIVE: return scan(builder, f, operands[0], active, true);
    case MSL_OP_SCAN_EXCLUSIVE: return scan(builder, f, operands[0], active, false);
    case MSL_OP_MATRIX_FMA: return matrix_fma(builder, operands, active);
    default: return nullptr;
  }
}

}  // namespace mlxn::msl
