#include "metal/msl/passes/promote_tiles.h"

#include <map>
#include <set>

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/Local.h"
#include "metal/msl/passes/lane_offsets.h"
#include "metal/msl/passes/loaded_matrix.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// The two elements of a lane: two scalars, or one vector of two (then `y` is null).
struct Pair {
  Value* x = nullptr;
  Value* y = nullptr;

  auto operator<=>(const Pair&) const = default;
  bool is_vector() const { return !y; }
  Type* element() const { return x->getType()->getScalarType(); }
};

bool is_matrix_product(const Value* value) {
  const auto* call = dyn_cast<CallInst>(value);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && callee->getName() == "__msl_simd_matrix_fma";
}

// The vector of which the scalar is element `index`.
Value* vector_of(Value* scalar, uint64_t index) {
  auto* extract = dyn_cast<ExtractElementInst>(scalar);
  auto* place = extract ? dyn_cast<ConstantInt>(extract->getIndexOperand()) : nullptr;
  if (!place || place->getZExtValue() != index) return nullptr;
  auto* type = dyn_cast<FixedVectorType>(extract->getVectorOperandType());
  return type && type->getNumElements() == 2 ? extract->getVectorOperand() : nullptr;
}

// Looks through insertions into and extractions from vectors of two.
Pair normal(Pair pair) {
  if (pair.is_vector()) {
    auto* second = dyn_cast<InsertElementInst>(pair.x);
    auto* first = second ? dyn_cast<InsertElementInst>(second->getOperand(0)) : nullptr;
    if (!first) return pair;
    auto *i = dyn_cast<ConstantInt>(first->getOperand(2)),
         *j = dyn_cast<ConstantInt>(second->getOperand(2));
    if (!i || !j || i->getZExtValue() + j->getZExtValue() != 1) return pair;
    Value *a = first->getOperand(1), *b = second->getOperand(1);
    return normal(i->isZero() ? Pair{a, b} : Pair{b, a});
  }
  Value* vector = vector_of(pair.x, 0);
  return vector && vector == vector_of(pair.y, 1) ? normal({vector, nullptr}) : pair;
}

// The pair of operands number `index` of a pair of instructions.
Pair operand(Pair pair, unsigned index) {
  Value* x = cast<Instruction>(pair.x)->getOperand(index);
  return normal({x, pair.is_vector() ? nullptr : cast<Instruction>(pair.y)->getOperand(index)});
}

class TilePromotion {
 public:
  TilePromotion(Function& entry, const TileFacts& facts)
      : entry_(entry),
        facts_(facts),
        offsets_(*facts.thread, facts.threads, facts.uniform),
        lane_(IRBuilder<>(&*entry.getEntryBlock().getFirstInsertionPt())
                  .CreateAnd(facts.thread, MSL_SIMD_WIDTH - 1)) {}

  bool run() {
    for (BasicBlock& block : entry_)
      for (Instruction& instruction : block)
        if (is_matrix_product(&instruction) || is_promotable_access(instruction))
          roots_.push_back(cast<CallInst>(&instruction));
    for (CallInst* root : roots_) convert_root(*root);
    fill_phis();
    follow_phis();
    remove_pairs();
    lower_matrix_memory(entry_);
    return !roots_.empty();
  }

 private:
  bool is_promotable_access(const Instruction& instruction) {
    if (matrix_memory(instruction) == MatrixMemory::kNone) return false;
    for (unsigned i = 0; i < 3; ++i)
      if (offsets_.of(instruction.getOperand(i)) != LaneOffsets::Distances{}) return false;
    return facts_.uniform_control(instruction.getParent());
  }

  // --- Which pairs become tiles

  // Whether both elements are made by the same instruction, in a place and way that suits tiles.
  bool is_convertible(Pair pair) const {
    auto* x = dyn_cast<Instruction>(pair.x);
    if (!x || !facts_.uniform_control(x->getParent())) return false;
    if (!pair.is_vector()) {
      auto* y = dyn_cast<Instruction>(pair.y);
      if (!y || y->getOpcode() != x->getOpcode() || y->getParent() != x->getParent()) return false;
      if (isa<CastInst>(x) && x->getOperand(0)->getType() != y->getOperand(0)->getType())
        return false;
      if (isa<SelectInst>(x) && x->getOperand(0) != y->getOperand(0)) return false;
    }
    switch (x->getOpcode()) {
      case Instruction::PHI:
        return all_of(cast<PHINode>(x)->blocks(),
                      [&](BasicBlock* from) { return facts_.uniform_control(from); });
      case Instruction::Select:
        return !x->getOperand(0)->getType()->isVectorTy() && facts_.uniform(x->getOperand(0));
      case Instruction::FPExt:
      case Instruction::FPTrunc: return is_matrix_element(x->getOperand(0)->getType());
      case Instruction::FNeg:
      case Instruction::FAdd:
      case Instruction::FSub:
      case Instruction::FMul:
      case Instruction::FDiv: return true;
      default: return false;
    }
  }

  // The operands of a convertible pair that are matrices themselves.
  static SmallVector<Pair, 4> operands_of(Pair pair) {
    SmallVector<Pair, 4> result;
    auto* x = cast<Instruction>(pair.x);
    if (auto* phi = dyn_cast<PHINode>(x)) {
      for (BasicBlock* from : phi->blocks()) result.push_back(incoming(pair, from));
      return result;
    }
    for (unsigned i = isa<SelectInst>(x) ? 1 : 0; i < x->getNumOperands(); ++i)
      result.push_back(operand(pair, i));
    return result;
  }

  static Pair incoming(Pair pair, BasicBlock* from) {
    auto value = [&](Value* phi) { return cast<PHINode>(phi)->getIncomingValueForBlock(from); };
    return normal({value(pair.x), pair.is_vector() ? nullptr : value(pair.y)});
  }

  bool is_root(Value* value) {
    auto* call = dyn_cast<CallInst>(value);
    return call && (is_matrix_product(call) || is_promotable_access(*call));
  }

  // Whether all lanes or none come to where the pair is made. A tile of a product that some lanes
  // make alone is not the pair of the others: what these made in another round, or never, counts.
  bool is_made_together(Pair pair) const {
    auto* made = dyn_cast<Instruction>(pair.x);
    return !made || facts_.uniform_control(made->getParent());
  }

  // --- Matrices that lanes load by themselves

  // Where the matrix lies, if every lane loads its two elements from where those of one lie.
  std::optional<LoadedMatrix> loaded_from(Pair pair) {
    auto [known, fresh] = loaded_.try_emplace(pair, std::nullopt);
    auto* x = dyn_cast<LoadInst>(pair.x);
    auto* y = dyn_cast_or_null<LoadInst>(pair.y);
    if (fresh && x && y && facts_.uniform_control(x->getParent()))
      known->second = find_loaded_matrix(*x, *y, offsets_);
    return known->second;
  }

  Value* load_tile(Pair pair, const LoadedMatrix& place) {
    IRBuilder<> b(place.later->getNextNode());
    Value* base = offsets_.in_first_lane(place.first->getPointerOperand());
    return call_tile(b, TileCall::kLoad, pair.element(),
                     {base, b.getInt64(uint64_t(place.down)), b.getInt64(uint64_t(place.across))});
  }

  // Whether a tile flows into the pair.
  bool has_tile(Pair pair, std::set<Pair>& seen) {
    if ((pair.is_vector() && is_root(pair.x)) || loaded_from(pair)) return true;
    if (!seen.insert(pair).second || !is_convertible(pair)) return false;
    return any_of(operands_of(pair), [&](Pair next) { return has_tile(next, seen); });
  }

  // --- Tiles

  void convert_root(CallInst& root) {
    if (tiles_.count({&root, nullptr})) return;
    IRBuilder<> b(&root);
    SmallVector<Value*, 4> arguments;
    if (is_matrix_product(&root)) {
      bool together = is_made_together({&root, nullptr});
      for (unsigned i = 0; i < 3; ++i) {
        Pair operand = normal({root.getArgOperand(i), nullptr});
        arguments.push_back(together ? tile_of(operand, &root) : from_lanes(b, operand));
      }
      tiles_[{&root, nullptr}] = call_tile(b, TileCall::kFma, b.getFloatTy(), arguments);
      return;
    }
    for (unsigned i = 0; i < 3; ++i)
      arguments.push_back(offsets_.in_first_lane(root.getArgOperand(i)));
    if (matrix_memory(root) == MatrixMemory::kLoad) {
      tiles_[{&root, nullptr}] =
          call_tile(b, TileCall::kLoad, root.getType()->getScalarType(), arguments);
      return;
    }
    Pair value{root.getArgOperand(4), nullptr};
    arguments.push_back(tile_of(normal(value), &root));
    call_tile(b, TileCall::kStore, value.element(), arguments);
  }

  // The tile of a pair, for use before `where`.
  Value* tile_of(Pair pair, Instruction* where) {
    IRBuilder<> b(where);
    if (pair.is_vector() && is_root(pair.x) && !is_made_together(pair)) return from_lanes(b, pair);
    auto known = tiles_.find(pair);
    if (known != tiles_.end()) return known->second;
    if (pair.is_vector() && is_root(pair.x)) {
      convert_root(*cast<CallInst>(pair.x));
      return tiles_[pair];
    }
    if (auto place = loaded_from(pair)) return tiles_[pair] = load_tile(pair, *place);
    std::set<Pair> seen;
    if (has_tile(pair, seen)) return tiles_[pair] = convert(pair);
    bool uniform = facts_.uniform(pair.x) && (pair.is_vector() || facts_.uniform(pair.y));
    return uniform ? repeat(b, pair) : from_lanes(b, pair);
  }

  static Value* vector(IRBuilder<>& b, Pair pair) {
    if (pair.is_vector()) return pair.x;
    Value* result = PoisonValue::get(FixedVectorType::get(pair.element(), 2));
    return b.CreateInsertElement(b.CreateInsertElement(result, pair.x, uint64_t(0)), pair.y,
                                 uint64_t(1));
  }

  static Value* repeat(IRBuilder<>& b, Pair pair) {
    SmallVector<int, 64> mask;
    for (int i = 0; i < 64; ++i) mask.push_back(i % 2);
    return b.CreateShuffleVector(vector(b, pair), mask);
  }

  // Collects a pair once in each block that needs it.
  Value* from_lanes(IRBuilder<>& b, Pair pair) {
    CallInst*& call = collected_[{pair, b.GetInsertBlock()}];
    if (!call || !call->comesBefore(&*b.GetInsertPoint()))
      call = call_tile(b, TileCall::kFromLanes, pair.element(), {vector(b, pair)});
    return call;
  }

  static Instruction* later(Pair pair) {
    auto* x = cast<Instruction>(pair.x);
    if (pair.is_vector()) return x;
    auto* y = cast<Instruction>(pair.y);
    return x->comesBefore(y) ? y : x;
  }

  Value* convert(Pair pair) {
    auto* x = cast<Instruction>(pair.x);
    converted_.push_back(pair);
    if (auto* phi = dyn_cast<PHINode>(x)) {
      IRBuilder<> b(phi);
      PHINode* tile = b.CreatePHI(tile_type(pair.element()), phi->getNumIncomingValues());
      phis_.push_back({pair, tile});
      return tile;
    }
    Instruction* where = later(pair)->getNextNode();
    SmallVector<Value*, 2> operands;
    for (Pair next : operands_of(pair)) operands.push_back(tile_of(next, where));
    IRBuilder<> b(where);
    if (isa<SelectInst>(x)) return b.CreateSelect(x->getOperand(0), operands[0], operands[1]);
    if (auto* cast = dyn_cast<CastInst>(x))
      return b.CreateCast(cast->getOpcode(), operands[0], tile_type(pair.element()));
    FastMathFlags flags = x->getFastMathFlags();
    if (!pair.is_vector()) flags &= cast<Instruction>(pair.y)->getFastMathFlags();
    b.setFastMathFlags(flags);
    if (auto* binary = dyn_cast<BinaryOperator>(x))
      return b.CreateBinOp(binary->getOpcode(), operands[0], operands[1]);
    return b.CreateFNeg(operands[0]);
  }

  // Gives the phis of tiles their values; doing so may find further phis.
  void fill_phis() {
    for (size_t i = 0; i < phis_.size(); ++i) {
      auto [pair, tile] = phis_[i];
      for (BasicBlock* from : cast<PHINode>(pair.x)->blocks()) {
        int index = tile->getBasicBlockIndex(from);
        tile->addIncoming(index >= 0 ? tile->getIncomingValue(unsigned(index))
                                     : tile_of(incoming(pair, from), from->getTerminator()),
                          from);
      }
    }
  }

  // Tiles that leave a loop or come from different ways join as tiles: else lanes would read them
  // in front of every such join, in each round of a loop.
  void follow_phis() {
    std::vector<Pair> todo;
    for (CallInst* root : roots_)
      if (root->getType()->isVectorTy()) todo.push_back({root, nullptr});
    todo.insert(todo.end(), converted_.begin(), converted_.end());
    while (!todo.empty()) {
      Pair from = todo.back();
      todo.pop_back();
      for (Pair joined : phis_of(from)) {
        if (tiles_.count(joined) || !is_convertible(joined)) continue;
        size_t known = converted_.size();
        tiles_[joined] = convert(joined);
        fill_phis();
        todo.insert(todo.end(), converted_.begin() + long(known), converted_.end());
      }
    }
  }

  // Pairs of phis that both elements of a pair flow into.
  static SmallVector<Pair, 2> phis_of(Pair pair) {
    SmallVector<Pair, 2> result;
    auto phis = [&](unsigned index) {
      SmallVector<PHINode*, 4> found;
      auto add_users = [&](Value* value) {
        for (User* user : value->users())
          if (auto* phi = dyn_cast<PHINode>(user)) found.push_back(phi);
      };
      if (!pair.is_vector()) {
        add_users(index ? pair.y : pair.x);
        return found;
      }
      for (User* user : pair.x->users())
        if (vector_of(user, index) == pair.x) add_users(user);
      return found;
    };
    if (pair.is_vector())
      for (User* user : pair.x->users())
        if (isa<PHINode>(user)) result.push_back({user, nullptr});
    for (PHINode* x : phis(0))
      for (PHINode* y : phis(1)) {
        bool together = x != y && x->getParent() == y->getParent() &&
                        any_of(x->blocks(), [&](BasicBlock* from) {
                          return incoming({x, y}, from) == normal(pair);
                        });
        if (together && !is_contained(result, Pair{x, y})) result.push_back({x, y});
      }
    return result;
  }

  // --- What is left of the lanes' code

  // Other code of a lane reads the pair out of the tile; the old instructions go.
  void remove_pairs() {
    for (CallInst* root : roots_) add_old(root, {root, nullptr}, 0);
    for (Pair pair : converted_) {
      add_old(pair.x, pair, 0);
      if (!pair.is_vector()) add_old(pair.y, pair, 1);
    }
    drop_glue();
    for (auto& [value, origin] : old_)
      for (Use& use : make_early_inc_range(value->uses()))
        if (!old_.count(use.getUser())) use.set(lane_value(use, value, origin));
    for (auto& [value, origin] : old_) cast<Instruction>(value)->dropAllReferences();
    for (auto& [value, origin] : old_) cast<Instruction>(value)->eraseFromParent();
    SmallVector<WeakTrackingVH, 32> dead;
    for (BasicBlock& block : entry_)
      for (Instruction& instruction : block)
        if (isInstructionTriviallyDead(&instruction)) dead.push_back(&instruction);
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
  }

  // What put pairs together for the roots goes first, so that it does not count as a use.
  void drop_glue() {
    SmallVector<WeakTrackingVH, 32> glue;
    for (CallInst* root : roots_)
      for (Use& use : root->args())
        if (isa<Instruction>(use) && use->getType()->isVectorTy()) {
          glue.push_back(use.get());
          use.set(PoisonValue::get(use->getType()));
        }
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(glue, nullptr, nullptr,
                                                         [&](Value* dead) { old_.erase(dead); });
  }

  struct Origin {
    Pair pair;
    unsigned index;
  };

  // Single elements taken out of the pair go with it, so that lanes read the tile where they use
  // them.
  void add_old(Value* value, Pair pair, unsigned index) {
    if (!old_.insert({value, {pair, index}}).second) return;
    if (!value->getType()->isVectorTy()) return;
    for (User* user : value->users())
      for (unsigned i = 0; i < 2; ++i)
        if (vector_of(user, i) == value) old_.insert({user, {pair, i}});
  }

  Value* lane_value(Use& use, Value* value, Origin origin) {
    auto* user = cast<Instruction>(use.getUser());
    BasicBlock* block = user->getParent();
    if (auto* phi = dyn_cast<PHINode>(user)) block = phi->getIncomingBlock(use);
    Value* tile = tiles_.at(origin.pair);
    if (!is_made_together(origin.pair)) block = cast<Instruction>(tile)->getParent();
    Value*& pair = lane_pairs_[{tile, block}];
    if (!pair) {
      IRBuilder<> b(first_place(block, tile));
      pair = call_tile(b, TileCall::kToLane, origin.pair.element(), {tile, lane_});
    }
    if (value->getType()->isVectorTy()) return pair;
    IRBuilder<> b(cast<Instruction>(pair)->getNextNode());
    return b.CreateExtractElement(pair, uint64_t(origin.index));
  }

  // The first place in the block where the tile exists.
  static Instruction* first_place(BasicBlock* block, Value* tile) {
    auto* made = dyn_cast<Instruction>(tile);
    if (made && made->getParent() == block && !isa<PHINode>(made)) return made->getNextNode();
    return &*block->getFirstInsertionPt();
  }

  Function& entry_;
  const TileFacts& facts_;
  LaneOffsets offsets_;
  Value* lane_;
  std::map<Pair, std::optional<LoadedMatrix>> loaded_;
  std::vector<CallInst*> roots_;  // products and accesses, in order
  std::map<Pair, Value*> tiles_;
  std::vector<Pair> converted_;
  std::vector<std::pair<Pair, PHINode*>> phis_;
  std::map<std::pair<Pair, BasicBlock*>, CallInst*> collected_;
  MapVector<Value*, Origin> old_;  // pairs that are tiles now
  std::map<std::pair<Value*, BasicBlock*>, Value*> lane_pairs_;
};

}  // namespace

bool promote_tiles(Function& entry, const TileFacts& facts) {
  return TilePromotion(entry, facts).run();
}

}  // namespace mlxn::msl
