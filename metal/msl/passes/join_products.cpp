#include "metal/msl/passes/join_products.h"

#include <list>
#include <map>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "metal/msl/passes/target_features.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kMostSums = 4;

// Products of one sum, each adding to the one before.
using Chain = std::vector<CallInst*>;

// The operands of the products of a chain: 0 for those on the left, 1 for those on the right.
std::vector<Value*> operands_of(const Chain& chain, unsigned side) {
  std::vector<Value*> operands;
  for (CallInst* product : chain) operands.push_back(product->getArgOperand(side));
  return operands;
}

bool shares(const Chain& a, const Chain& b, unsigned side) {
  return operands_of(a, side) == operands_of(b, side);
}

// Chains that are made together, in front of an instruction.
struct Group {
  std::vector<Chain> chains;
  Instruction* before;
};

// Collects products between which nothing needs their results.
class Batch {
 public:
  explicit Batch(std::vector<Group>& groups) : groups_(groups) {}

  void visit(Instruction& instruction) {
    bool product = tile_call(instruction) == TileCall::kFma;
    if (product ? !can_take(cast<CallInst>(instruction)) : uses_results(instruction.operands()))
      finish(instruction);
    if (product) take(cast<CallInst>(instruction));
  }

  void finish(Instruction& before) {
    while (!chains_.empty()) groups_.push_back({next_group(), &before});
    last_.clear();
  }

 private:
  template <class Range>
  bool uses_results(Range&& operands) const {
    return any_of(operands, [&](const Use& use) { return last_.count(use.get()) > 0; });
  }

  bool can_take(CallInst& product) const {
    if (uses_results(make_range(product.arg_begin(), product.arg_begin() + 2))) return false;
    auto sum = last_.find(product.getArgOperand(2));
    return sum == last_.end() || (sum->second->back() == sum->first && sum->first->hasOneUse());
  }

  void take(CallInst& product) {
    auto sum = last_.find(product.getArgOperand(2));
    Chain* chain = sum == last_.end() ? &chains_.emplace_back() : sum->second;
    chain->push_back(&product);
    last_[&product] = chain;
  }

  // Two chains by two that share their operands; else what shares one side with the first.
  std::vector<Chain> next_group() {
    std::vector<Chain> group;
    auto add = [&](auto is_wanted) {
      auto found = find_if(chains_, is_wanted);
      if (found == chains_.end()) return false;
      group.push_back(std::move(*found));
      chains_.erase(found);
      return true;
    };
    add([](const Chain&) { return true; });
    for (unsigned side = 0; side < 2; ++side) {
      auto beside = [&](unsigned i) {
        return [&group, i, side](const Chain& c) { return shares(c, group[i], side); };
      };
      auto below = [&](unsigned i) {
        return [&group, i, side](const Chain& c) { return shares(c, group[i], 1 - side); };
      };
      if (!add(beside(0))) continue;
      if (add(below(0)))
        add([&](const Chain& c) { return beside(2)(c) && below(1)(c); });
      else
        while (group.size() < kMostSums && add(beside(0))) {
        }
      break;
    }
    return group;
  }

  std::vector<Group>& groups_;
  std::list<Chain> chains_;
  std::map<const Value*, Chain*> last_;  // by product
};

// Memory for the operands of a group.
class Operands {
 public:
  explicit Operands(Function& function) : entry_(function.getEntryBlock()) {}

  void begin(const Instruction* before) {
    if (before == before_) return;  // the same batch
    before_ = before;
    places_.clear();
  }

  Value* in_memory(IRBuilder<>& b, const std::vector<Value*>& tiles) {
    Value*& place = places_[tiles];
    if (place) return place;
    unsigned index = count(tiles.size());
    auto& variables = variables_[tiles.size()];
    if (index == variables.size()) {
      IRBuilder<> top(&entry_, entry_.begin());
      auto* type = ArrayType::get(tiles[0]->getType(), tiles.size());
      variables.push_back(top.CreateAlloca(type));
      variables.back()->setAlignment(Align(64));
    }
    place = variables[index];
    for (unsigned i = 0; i < tiles.size(); ++i)
      b.CreateAlignedStore(tiles[i], b.CreateConstInBoundsGEP1_64(tiles[i]->getType(), place, i),
                           Align(64));
    return place;
  }

 private:
  // How many variables of that many tiles the batch has already.
  unsigned count(size_t size) const {
    return unsigned(
        count_if(places_, [&](auto& known) { return known.second && known.first.size() == size; }));
  }

  BasicBlock& entry_;
  const Instruction* before_ = nullptr;
  std::map<std::vector<Value*>, Value*> places_;
  std::map<size_t, std::vector<AllocaInst*>> variables_;  // by number of tiles
};

class Emitter {
 public:
  explicit Emitter(Function& function) : operands_(function) {}

  void emit(const Group& group) {
    // One sum takes too few registers to be faster that way.
    if (group.chains.size() == 1) return emit_alone(group);
    IRBuilder<> b(group.before);
    operands_.begin(group.before);
    std::vector<Sum> sums;
    for (const Chain& chain : group.chains) {
      Sum sum;
      for (unsigned side = 0; side < 2; ++side)
        sum.operand[side] = operands_.in_memory(b, operands_of(chain, side));
      sum.blocks = blocks_of(b, chain[0]->getArgOperand(2));
      sums.push_back(sum);
    }
    emit_loop(group, sums);
    b.SetInsertPoint(group.before);
    for (auto [chain, sum] : zip(group.chains, sums)) {
      Value* result = matrix_of(b, sum.blocks);
      chain.back()->replaceAllUsesWith(result);
      for (CallInst* product : reverse(chain)) product->eraseFromParent();
    }
  }

 private:
  struct Sum {
    Value* operand[2];
    MatrixBlocks blocks;
  };

  static void emit_alone(const Group& group) {
    for (CallInst* product : group.chains[0]) {
      IRBuilder<> b(product);
      product->replaceAllUsesWith(emit_matrix_fma(
          b, product->getArgOperand(0), product->getArgOperand(1), product->getArgOperand(2)));
      product->eraseFromParent();
    }
  }

  // Each round takes in half a product: four columns on the left, four rows on the right.
  static void emit_loop(const Group& group, std::vector<Sum>& sums) {
    BasicBlock* entry = group.before->getParent();
    BasicBlock* after = entry->splitBasicBlock(group.before);
    BasicBlock* loop =
        BasicBlock::Create(entry->getContext(), "products", entry->getParent(), after);
    entry->getTerminator()->setSuccessor(0, loop);
    IRBuilder<> b(loop);
    PHINode* half = b.CreatePHI(b.getInt64Ty(), 2);
    half->addIncoming(b.getInt64(0), entry);
    std::vector<PHINode*> phis;
    for (Sum& sum : sums)
      for (Value*& block : sum.blocks) {
        phis.push_back(b.CreatePHI(block->getType(), 2));
        phis.back()->addIncoming(block, entry);
        block = phis.back();
      }
    add_half(b, half, sums);
    Value* next = b.CreateAdd(half, b.getInt64(1), "", true, true);
    half->addIncoming(next, loop);
    for (unsigned i = 0; i < phis.size(); ++i)
      phis[i]->addIncoming(sums[i / 4].blocks[i % 4], loop);
    Value* more = b.CreateICmpULT(next, b.getInt64(2 * group.chains[0].size()));
    BranchInst* back = b.CreateCondBr(more, loop, after);
    LLVMContext& context = loop->getContext();
    MDNode* once = MDNode::get(context, MDString::get(context, "llvm.loop.unroll.disable"));
    MDNode* id = MDNode::getDistinct(context, {nullptr, once});
    id->replaceOperandWith(0, id);
    back->setMetadata(LLVMContext::MD_loop, id);
  }

  static void add_half(IRBuilder<>& b, Value* half, std::vector<Sum>& sums) {
    constexpr unsigned kRow = 4;
    auto* block = FixedVectorType::get(b.getFloatTy(), kMatrixBlock);
    auto* row = FixedVectorType::get(b.getFloatTy(), kRow);
    Value* tile = b.CreateShl(b.CreateLShr(half, 1), 2);  // in blocks, as all here
    Value* side = b.CreateAnd(half, 1);
    std::map<std::pair<Value*, unsigned>, Value*> columns, rows;
    for (unsigned k = 0; k < kRow; ++k) {
      // Column k of the block in the upper or lower half of a matrix on the left.
      auto left = [&](Value* place, unsigned lower) {
        Value*& known = columns[{place, lower}];
        if (!known) {
          Value* index = b.CreateAdd(b.CreateOr(tile, side), b.getInt64(lower * 2));
          known = b.CreateAlignedLoad(block, b.CreateInBoundsGEP(block, place, index), Align(64));
        }
        return repeat_column(b, known, k);
      };
      // Row k of the left or right block of a matrix on the right.
      auto right = [&](Value* place, unsigned across) {
        Value* index = b.CreateAdd(b.CreateOr(tile, b.CreateShl(side, 1)), b.getInt64(across));
        Value* rows = b.CreateInBoundsGEP(block, place, index);
        Value* address = b.CreateConstInBoundsGEP1_64(row, rows, k);
        return repeat_row(b, b.CreateAlignedLoad(row, address, Align(16)), 0);
      };
      std::map<std::pair<Value*, unsigned>, Value*> spread;
      auto once = [&](Value* place, unsigned part, auto make) {
        Value*& value = spread[{place, part}];
        return value ? value : value = make(place, part % 2);
      };
      for (Sum& sum : sums)
        for (unsigned i = 0; i < 4; ++i)
          sum.blocks[i] =
              b.CreateIntrinsic(Intrinsic::fma, {block},
                                {once(sum.operand[0], i / 2, left),
                                 once(sum.operand[1], 2 + i % 2, right), sum.blocks[i]});
    }
  }

  Operands operands_;
};

}  // namespace

void join_products(Function& function) {
  if (!has_feature(function, "+avx512f")) return;
  std::vector<Group> groups;
  for (BasicBlock& block : function) {
    Batch batch(groups);
    for (Instruction& instruction : block) batch.visit(instruction);
    batch.finish(*block.getTerminator());
  }
  Emitter emitter(function);
  for (const Group& group : groups) emitter.emit(group);
}

}  // namespace mlxn::msl
