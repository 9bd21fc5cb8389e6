// Matrices as tiles: code written for one lane, promoted and then run as it stands.
#include "metal/msl/passes/promote_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "metal/msl/passes/tiles.h"
#include "tests/passes/jit.h"

namespace mlxn::msl {
namespace {

using namespace llvm;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDeclarations = R"(
declare <2 x float> @__msl_matrix_load_f32(ptr, i64, i64, i32)
declare <2 x half> @__msl_matrix_load_f16(ptr, i64, i64, i32)
declare void @__msl_matrix_store_f32(ptr, i64, i64, i32, <2 x float>)
declare void @__msl_matrix_store_f16(ptr, i64, i64, i32, <2 x half>)
declare <2 x float> @__msl_simd_matrix_fma(<2 x float>, <2 x float>, <2 x float>, i32)
)";

// Uniform: whatever does not depend on the lane (the third argument) or on another lane's values.
bool uniform(const Value* value, std::set<const Value*>& seen) {
  if (auto* argument = dyn_cast<Argument>(value)) return argument->getArgNo() != 2;
  auto* instruction = dyn_cast<Instruction>(value);
  if (!instruction || !seen.insert(value).second) return true;
  if (isa<CallInst>(instruction)) return false;
  return all_of(instruction->operands(), [&](const Use& use) { return uniform(use, seen); });
}

class PromoteTiles : public ::testing::Test {
 protected:
  // Parses `void @test(ptr %in, ptr %out, i32 %lane)`, promotes its matrices.
  void promote(const std::string& body) {
    SMDiagnostic problem;
    module_ = parseAssemblyString(std::string(kDeclarations) +
                                      "define void @test(ptr %in, ptr %out, i32 %lane) {\n" + body +
                                      "}\n",
                                  problem, context_);
    ASSERT_TRUE(module_) << problem.getMessage().str() << " in line " << problem.getLineNo();
    Function& test = *module_->getFunction("test");
    TileFacts facts;
    facts.uniform = [](const Value* value) {
      std::set<const Value*> seen;
      return uniform(value, seen);
    };
    facts.uniform_control = [](const BasicBlock* block) {
      return !block->getName().starts_with("divergent");
    };
    facts.thread = test.getArg(2);
    facts.threads = 32;
    promoted_ = promote_tiles(test, facts);
    check();
  }

  void check() {
    std::string problem;
    raw_string_ostream stream(problem);
    ASSERT_FALSE(verifyModule(*module_, &stream)) << problem << text();
  }

  std::string text() {
    std::string result;
    raw_string_ostream stream(result);
    module_->getFunction("test")->print(stream);
    return result;
  }

  size_t count(const std::string& name) {
    size_t found = 0;
    std::string all = text();
    for (size_t at = all.find("@" + name); at != std::string::npos;
         at = all.find("@" + name, at + 1))
      ++found;
    return found;
  }

  // Runs the function for each lane in turn.
  void run(void* in, void* out) {
    expand_tiles(*module_->getFunction("test"));
    check();
    std::string ir;
    raw_string_ostream stream(ir);
    module_->print(stream, nullptr);
    testing::Jit jit(testing::host_features(), ir);
    ASSERT_TRUE(jit.ok()) << jit.problem();
    for (unsigned lane = 0; lane < 32; ++lane) jit.run(in, out, lane);
  }

  LLVMContext context_;
  std::unique_ptr<Module> module_;
  bool promoted_ = false;
};

constexpr unsigned row_of(unsigned lane) {
  return lane / 16 * 4 + lane / 2 % 4;
}
constexpr unsigned column_of(unsigned lane) {
  return lane / 8 % 2 * 4 + lane % 2 * 2;
}

std::vector<float> random_floats(size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  for (float& value : values) value = float(int(random() % 2001) - 1000) / 64.0f;
  return values;
}

// out = sum over t of half(in[t * 8 ..]) * transpose(in[500 + t * 64 ..]); in has 100 elements in a
// row of the left operand, 9 of the right one. Accumulators are scalars in phis, as the optimiser
// leaves them.
constexpr const char* kLoop = R"(
entry:
  br label %loop
loop:
  %t = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = phi float [ 0.0, %entry ], [ %sx, %loop ]
  %y = phi float [ 0.0, %entry ], [ %sy, %loop ]
  %column = mul i64 %t, 8
  %block = mul i64 %t, 72
  %pa = getelementptr float, ptr %in, i64 %column
  %right = getelementptr float, ptr %in, i64 1000
  %pb = getelementptr float, ptr %right, i64 %block
  %a = call <2 x float> @__msl_matrix_load_f32(ptr %pa, i64 100, i64 1, i32 %lane)
  %b = call <2 x float> @__msl_matrix_load_f32(ptr %pb, i64 1, i64 9, i32 %lane)
  %ax = extractelement <2 x float> %a, i64 0
  %ay = extractelement <2 x float> %a, i64 1
  %hx = fptrunc float %ax to half
  %hy = fptrunc float %ay to half
  %wx = fpext half %hx to float
  %wy = fpext half %hy to float
  %a0 = insertelement <2 x float> poison, float %wx, i64 0
  %a1 = insertelement <2 x float> %a0, float %wy, i64 1
  %c0 = insertelement <2 x float> poison, float %x, i64 0
  %c1 = insertelement <2 x float> %c0, float %y, i64 1
  %s = call <2 x float> @__msl_simd_matrix_fma(<2 x float> %a1, <2 x float> %b, <2 x float> %c1, i32 0)
  %sx = extractelement <2 x float> %s, i64 0
  %sy = extractelement <2 x float> %s, i64 1
  %next = add i64 %t, 1
  %more = icmp ult i64 %next, 5
  br i1 %more, label %loop, label %done
done:
)";

std::vector<float> loop_result(const std::vector<float>& in) {
  std::vector<float> out(64);
  for (unsigned t = 0; t < 5; ++t)
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned k = 0; k < 8; ++k)
        for (unsigned c = 0; c < 8; ++c) {
          float left = float(_Float16(in[t * 8 + r * 100 + k]));
          out[r * 8 + c] = std::fmaf(left, in[1000 + t * 72 + c * 9 + k], out[r * 8 + c]);
        }
  return out;
}

TEST_F(PromoteTiles, AccumulatorsStayTilesInALoop) {
  promote(std::string(kLoop) + R"(
  %o0 = insertelement <2 x float> poison, float %sx, i64 0
  %o1 = insertelement <2 x float> %o0, float %sy, i64 1
  call void @__msl_matrix_store_f32(ptr %out, i64 8, i64 1, i32 %lane, <2 x float> %o1)
  ret void
)");
  EXPECT_TRUE(promoted_);
  EXPECT_THAT(text(), HasSubstr("phi <64 x float> [ zeroinitializer, %entry ]"));
  EXPECT_EQ(count("__msl_tile_load_f32"), 2u);
  EXPECT_EQ(count("__msl_tile_fma"), 1u);
  EXPECT_EQ(count("__msl_tile_store_f32"), 1u);
  EXPECT_EQ(count("__msl_tile_from_lanes"), 0u);
  EXPECT_EQ(count("__msl_tile_to_lane"), 0u);
  EXPECT_THAT(text(), Not(HasSubstr("phi float")));
  std::vector<float> in = random_floats(2000), out(64);
  run(in.data(), out.data());
  EXPECT_EQ(out, loop_result(in));
}

// Every lane scales its elements by its number and stores them on its own.
TEST_F(PromoteTiles, LanesReadTheirElements) {
  promote(std::string(kLoop) + R"(
  %f = uitofp i32 %lane to float
  %fx = fmul float %sx, %f
  %place = shl i32 %lane, 1
  %px = getelementptr float, ptr %out, i32 %place
  %py = getelementptr float, ptr %px, i64 1
  store float %fx, ptr %px
  store float %sy, ptr %py
  ret void
)");
  EXPECT_EQ(count("__msl_tile_to_lane_f32"), 1u);
  EXPECT_EQ(count("__msl_tile_from_lanes"), 0u);
  std::vector<float> in = random_floats(2000), out(64);
  run(in.data(), out.data());
  std::vector<float> expected = loop_result(in);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned first = row_of(lane) * 8 + column_of(lane);
    EXPECT_EQ(out[lane * 2], expected[first] * float(lane));
    EXPECT_EQ(out[lane * 2 + 1], expected[first + 1]);
  }
}

TEST_F(PromoteTiles, StoresAnyWay) {
  for (const char* strides : {"i64 8, i64 1", "i64 1, i64 8", "i64 17, i64 2"}) {
    promote(std::string(R"(
  %a = call <2 x half> @__msl_matrix_load_f16(ptr %in, i64 9, i64 1, i32 %lane)
  call void @__msl_matrix_store_f16(ptr %out, )") +
            strides + R"(, i32 %lane, <2 x half> %a)
  ret void
)");
    EXPECT_EQ(count("__msl_tile_load_f16"), 1u);
    EXPECT_EQ(count("__msl_tile_store_f16"), 1u);
    std::vector<uint16_t> in(100), out(200);
    for (size_t i = 0; i < in.size(); ++i) in[i] = uint16_t(i + 1);
    run(in.data(), out.data());
    unsigned down = 0, across = 0;
    ASSERT_EQ(sscanf(strides, "i64 %u, i64 %u", &down, &across), 2);
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 8; ++c) EXPECT_EQ(out[r * down + c * across], in[r * 9 + c]);
  }
}

TEST_F(PromoteTiles, OperandsOfLanesAreCollected) {
  promote(R"(
  %f = uitofp i32 %lane to float
  %a0 = insertelement <2 x float> poison, float %f, i64 0
  %a1 = insertelement <2 x float> %a0, float 1.0, i64 1
  %s = call <2 x float> @__msl_simd_matrix_fma(<2 x float> %a1, <2 x float> %a1, <2 x float> <float 2.0, float 2.0>, i32 0)
  call void @__msl_matrix_store_f32(ptr %out, i64 8, i64 1, i32 %lane, <2 x float> %s)
  ret void
)");
  EXPECT_EQ(count("__msl_tile_from_lanes_f32"), 1u);
  EXPECT_THAT(text(), HasSubstr("<64 x float> <float 2.0"));
}

// An address of the lane's own, or a place that only some lanes reach: no tile.
TEST_F(PromoteTiles, LanesThatDifferKeepTheirOwnAccesses) {
  promote(R"(
entry:
  %p = getelementptr float, ptr %in, i32 %lane
  %a = call <2 x float> @__msl_matrix_load_f32(ptr %p, i64 8, i64 1, i32 %lane)
  %some = icmp ult i32 %lane, 5
  br i1 %some, label %divergent, label %join
divergent:
  %b = call <2 x float> @__msl_matrix_load_f32(ptr %in, i64 8, i64 1, i32 %lane)
  br label %join
join:
  %m = phi <2 x float> [ %a, %entry ], [ %b, %divergent ]
  %s = call <2 x float> @__msl_simd_matrix_fma(<2 x float> %m, <2 x float> %a, <2 x float> zeroinitializer, i32 0)
  call void @__msl_matrix_store_f32(ptr %out, i64 8, i64 1, i32 %lane, <2 x float> %s)
  ret void
)");
  EXPECT_EQ(count("__msl_tile_load"), 0u);
  EXPECT_EQ(count("__msl_matrix_load"), 0u);
  EXPECT_EQ(count("__msl_tile_from_lanes_f32"), 2u);
  EXPECT_EQ(count("__msl_tile_store_f32"), 1u);
}

// Every lane for itself, as tiers without tiles run it.
TEST_F(PromoteTiles, LoweredAccessesGiveTheSame) {
  SMDiagnostic problem;
  module_ = parseAssemblyString(std::string(kDeclarations) + R"(
define void @test(ptr %in, ptr %out, i32 %lane) {
  %a = call <2 x float> @__msl_matrix_load_f32(ptr %in, i64 9, i64 1, i32 %lane)
  call void @__msl_matrix_store_f32(ptr %out, i64 1, i64 8, i32 %lane, <2 x float> %a)
  ret void
})",
                                problem, context_);
  ASSERT_TRUE(module_);
  lower_matrix_memory(*module_->getFunction("test"));
  std::vector<float> in = random_floats(100), out(64);
  run(in.data(), out.data());
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 8; ++c) EXPECT_EQ(out[c * 8 + r], in[r * 9 + c]);
}

}  // namespace
}  // namespace mlxn::msl
