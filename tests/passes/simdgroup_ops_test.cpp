// Every cross-lane operation as vector code, against the executor's own implementation.
#include "metal/msl/passes/simdgroup_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "metal/exec/cpu/simd_operations.h"
#include "tests/passes/jit.h"

namespace mlxn::msl {
namespace {

using namespace llvm;
using testing::Jit;

constexpr unsigned kLanes = MSL_SIMD_WIDTH;

struct OperationCase {
  std::string name;       // of the runtime function
  unsigned function = 0;  // reductions and scans
};

// How an operation's operands look: words of one lane value, and its LLVM type.
struct Layout {
  unsigned words = 1;
  bool is_float = false;
  Type* lane_type(LLVMContext& context) const {
    if (is_float && words == 2) return FixedVectorType::get(Type::getFloatTy(context), 2);
    if (is_float) return Type::getFloatTy(context);
    return Type::getIntNTy(context, words * 32);
  }
  Type* vector_type(LLVMContext& context) const {
    if (is_float) return FixedVectorType::get(Type::getFloatTy(context), kLanes * words);
    return FixedVectorType::get(Type::getIntNTy(context, words * 32), kLanes);
  }
};

Layout layout_of(const std::string& name) {
  if (name == "__msl_simd_matrix_fma") return {2, true};
  if (name.ends_with("f32")) return {1, true};
  return {name.ends_with("64") ? 2u : 1u, false};
}

// A call of the operation, for emit_lane_operation to read; it is not executed.
CallInst* make_call(Function& function, const OperationCase& test, Layout layout) {
  Module& module = *function.getParent();
  IRBuilder<> b(module.getContext());
  Type* lane = layout.lane_type(module.getContext());
  std::vector<Type*> types;
  if (test.name == "__msl_simd_shuffle")
    types = {lane, lane, b.getInt32Ty()};
  else if (test.name == "__msl_simd_ballot")
    types = {lane, b.getInt32Ty()};
  else if (test.name == "__msl_simd_active")
    types = {b.getInt32Ty()};
  else if (test.name == "__msl_simd_matrix_fma")
    types = {lane, lane, lane, b.getInt32Ty()};
  else
    types = {lane, b.getInt32Ty(), b.getInt32Ty()};
  FunctionCallee callee =
      module.getOrInsertFunction(test.name, FunctionType::get(lane, types, false));
  std::vector<Value*> arguments;
  for (Type* type : types) arguments.push_back(Constant::getNullValue(type));
  if (types.size() == 3 && test.name != "__msl_simd_shuffle")
    arguments[1] = b.getInt32(test.function);
  arguments.back() = b.getInt32(7);
  return CallInst::Create(callee, arguments);
}

// Operand i of lane l, word w: row i * words + w of the executor's exchange area; the vector code
// has the words of one lane together.
struct Operands {
  unsigned count, words;
  MslSimdgroup group = {};
  alignas(64) uint32_t lanes[3][kLanes * 2] = {};

  void gather() {
    for (unsigned i = 0; i < count; ++i)
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned w = 0; w < words; ++w)
          lanes[i][lane * words + w] = group.data[i * words + w][lane];
  }
};

class Values {
 public:
  uint32_t word() {
    switch (random_() % 6) {
      case 0: return random_() % 3;
      case 1: return ~0u;
      default: return random_();
    }
  }
  uint32_t number() {
    switch (random_() % (special_ ? 5 : 24)) {
      case 0: return std::bit_cast<uint32_t>(0.0f);
      case 1: return std::bit_cast<uint32_t>(-0.0f);
      case 2: return std::bit_cast<uint32_t>(INFINITY);
      case 3: return 0x7fc00000u;
      case 4: return 0x00000012u;  // denormal
      default: return std::bit_cast<uint32_t>(float(int32_t(random_())) * 0x1p-29f);
    }
  }
  uint32_t lane() { return random_() % 8 == 0 ? random_() : random_() % (kLanes + 2); }
  uint32_t mask() {
    uint32_t bits = random_();
    switch (random_() % 4) {
      case 0: return 1u << bits % 32;
      case 1: return ~0u >> bits % 32;
      default: return bits == 0 ? 1 : bits;
    }
  }

  // From now on only zeros, infinities and the like, or mostly ordinary numbers.
  void set_special(bool special) { special_ = special; }

 private:
  std::mt19937 random_{20};
  bool special_ = false;
};

bool same(uint32_t a, uint32_t b, bool is_float) {
  if (a == b) return true;
  return is_float && std::isnan(std::bit_cast<float>(a)) && std::isnan(std::bit_cast<float>(b));
}

// How the shuffle's index is given.
enum class Index { kVariable, kConstant, kSplat };

struct Setting {
  std::string features;
  bool masked;
  Index index = Index::kVariable;
};

uint32_t constant_index(unsigned lane) {
  return lane % 5 == 0 ? lane + 40 : lane ^ 5;
}

void emit(IRBuilder<>& b, Function& function, const OperationCase& test, Layout layout,
          const Setting& setting) {
  CallInst* call = make_call(function, test, layout);
  EXPECT_EQ(site_of(*call), 7u);
  LaneOperation operation = lane_operation(*call);
  Type* type = layout.vector_type(b.getContext());
  std::vector<Value*> operands;
  for (unsigned i = 0; i < operation.operands; ++i)
    operands.push_back(b.CreateLoad(
        type, b.CreateConstGEP1_64(b.getInt8Ty(), function.getArg(0), i * kLanes * 8)));
  if (setting.index == Index::kConstant) {
    std::vector<Constant*> lanes;
    for (unsigned i = 0; i < kLanes; ++i) lanes.push_back(b.getInt32(constant_index(i)));
    operands[1] = ConstantVector::get(lanes);
  } else if (setting.index == Index::kSplat) {
    operands[1] = b.CreateVectorSplat(kLanes, b.CreateExtractElement(operands[1], uint64_t(0)));
  }
  Value* active = nullptr;
  if (setting.masked)
    active = b.CreateBitCast(function.getArg(2), FixedVectorType::get(b.getInt1Ty(), kLanes));
  Value* result = emit_lane_operation(b, *call, operands, active);
  if (result && operation.uniform_result) result = b.CreateVectorSplat(kLanes, result);
  if (result) b.CreateStore(result, function.getArg(1));
  b.CreateRetVoid();
  call->deleteValue();
}

void check(const OperationCase& test, const Setting& setting) {
  SCOPED_TRACE(test.name + " function " + std::to_string(test.function) +
               (setting.masked ? " masked" : "") + (setting.features.empty() ? "" : " host") +
               " index " + std::to_string(int(setting.index)));
  Layout layout = layout_of(test.name);
  unsigned word = 0, count = 0;
  Jit jit(setting.features, [&](IRBuilder<>& b, Function& function) {
    CallInst* call = make_call(function, test, layout);
    word = lane_operation(*call).word;
    count = lane_operation(*call).operands;
    call->deleteValue();
    emit(b, function, test, layout, setting);
  });
  ASSERT_TRUE(jit.ok()) << jit.problem();
  Values values;
  for (int round = 0; round < 200; ++round) {
    Operands operands{count, layout.words};
    values.set_special(round % 4 == 0);
    for (auto& row : operands.group.data)
      for (uint32_t& element : row) element = layout.is_float ? values.number() : values.word();
    if (MSL_OP_KIND(word) == MSL_OP_SHUFFLE)
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        uint32_t& index = operands.group.data[1][lane];
        index = setting.index == Index::kConstant ? constant_index(lane) : values.lane();
        if (setting.index == Index::kSplat) index = operands.group.data[1][0];
      }
    operands.gather();
    uint32_t mask = setting.masked ? values.mask() : ~0u;
    alignas(256) uint32_t result[kLanes * 2] = {};
    jit.run(operands.lanes, result, mask);
    ASSERT_TRUE(cpu::run_simd_operation(operands.group, word, mask));
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned w = 0; w < layout.words; ++w) {
        if (!(mask >> lane & 1)) continue;
        uint32_t expected = operands.group.data[w][lane], actual = result[lane * layout.words + w];
        ASSERT_TRUE(same(expected, actual, layout.is_float))
            << "round " << round << " lane " << lane << " mask " << mask << ": " << std::hex
            << actual << " instead of " << expected;
      }
  }
}

void check_everywhere(const OperationCase& test, Index index = Index::kVariable) {
  for (const std::string& features : {std::string(), testing::host_features()})
    for (bool masked : {false, true}) check(test, {features, masked, index});
}

TEST(SimdgroupOps, Reductions) {
  for (const char* type : {"f32", "i32", "u32", "i64", "u64"})
    for (unsigned function = MSL_FN_SUM; function <= MSL_FN_XOR; ++function)
      if (std::string(type) != "f32" || function <= MSL_FN_MAX)
        check_everywhere({std::string("__msl_simd_reduce_") + type, function});
}

TEST(SimdgroupOps, Scans) {
  for (const char* kind : {"inclusive_", "exclusive_"})
    for (const char* type : {"f32", "i32", "u32", "i64", "u64"})
      for (unsigned function : {MSL_FN_SUM, MSL_FN_PRODUCT})
        check_everywhere({std::string("__msl_simd_scan_") + kind + type, function});
}

TEST(SimdgroupOps, Shuffles) {
  for (Index index : {Index::kVariable, Index::kConstant, Index::kSplat})
    check_everywhere({"__msl_simd_shuffle"}, index);
}

TEST(SimdgroupOps, Votes) {
  check_everywhere({"__msl_simd_ballot"});
  check_everywhere({"__msl_simd_active"});
}

TEST(SimdgroupOps, MatrixProducts) {
  check_everywhere({"__msl_simd_matrix_fma"});
}

}  // namespace
}  // namespace mlxn::msl
