// Passes that prepare loops over threads for the vectoriser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "metal/msl/passes/bfloat.h"
#include "metal/msl/passes/trim_loops.h"
#include "metal/msl/passes/unroll.h"
#include "tests/passes/jit.h"

namespace mlxn::msl {
namespace {

using namespace llvm;
using ::testing::HasSubstr;
using ::testing::Not;

class LoopPasses : public ::testing::Test {
 protected:
  // Parses `void @test(ptr %in, ptr %out, i32 %word)` and runs passes on it.
  void run_passes(const std::string& body, FunctionPassManager passes) {
    SMDiagnostic problem;
    module_ = parseAssemblyString(
        "define void @test(ptr %in, ptr %out, i32 %word) {\n" + body + "}\n", problem, context_);
    ASSERT_TRUE(module_) << problem.getMessage().str() << " in line " << problem.getLineNo();
    PassBuilder builder;
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.registerCGSCCAnalyses(components);
    builder.crossRegisterProxies(loops, functions, components, modules);
    passes.run(*module_->getFunction("test"), functions);
    std::string broken;
    raw_string_ostream stream(broken);
    ASSERT_FALSE(verifyModule(*module_, &stream)) << broken << text();
  }

  std::string text() {
    std::string result;
    raw_string_ostream stream(result);
    module_->print(stream, nullptr);
    return result;
  }

  LLVMContext context_;
  std::unique_ptr<Module> module_;
};

// in[0]: first position, in[1]: bound, in[2]: length of the loop; out[position] += 1.
std::string guarded_loop(const std::string& test) {
  return R"(
entry:
  %start = load i64, ptr %in
  %p1 = getelementptr i64, ptr %in, i64 1
  %bound = load i64, ptr %p1
  %p2 = getelementptr i64, ptr %in, i64 2
  %count = load i64, ptr %p2
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = add nuw i64 %start, %i
)" + test +
         R"(
body:
  %address = getelementptr i32, ptr %out, i64 %at
  %old = load i32, ptr %address
  %new = add i32 %old, 1
  store i32 %new, ptr %address
  br label %latch
latch:
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %exit, label %loop
exit:
  ret void
)";
}

FunctionPassManager trim() {
  FunctionPassManager passes;
  passes.addPass(TrimLoops());
  return passes;
}

TEST_F(LoopPasses, AGuardBecomesTheLengthOfTheLoop) {
  const char* tests[] = {
      "  %c = icmp ult i64 %at, %bound\n  br i1 %c, label %body, label %latch\n",
      "  %c = icmp ugt i64 %bound, %at\n  br i1 %c, label %body, label %latch\n",
      "  %c = icmp uge i64 %at, %bound\n  br i1 %c, label %latch, label %body\n",
      ("  %o = icmp eq i32 %word, 0\n  %t = icmp ult i64 %at, %bound\n"
       "  %c = select i1 %o, i1 %t, i1 false\n  br i1 %c, label %body, label %latch\n")};
  for (const char* test : tests) {
    run_passes(guarded_loop(test), trim());
    EXPECT_THAT(text(), HasSubstr("@llvm.umin.i64")) << test;
    testing::Jit jit("", text());
    ASSERT_TRUE(jit.ok()) << jit.problem();
    for (uint64_t start : {0, 3, 20})
      for (uint64_t bound : {0, 3, 4, 12, 100})
        for (uint64_t count : {1, 5, 20}) {
          uint64_t in[] = {start, bound, count};
          std::vector<int> out(64), expected(64);
          for (uint64_t i = 0; i < count; ++i)
            if (start + i < bound) ++expected[start + i];
          jit.run(in, out.data(), 0);
          EXPECT_EQ(out, expected) << test << start << " " << bound << " " << count;
        }
  }
}

// A value that may wrap around, one that falls, and a test that lets iterations pass after it has
// failed: the loop stays.
TEST_F(LoopPasses, OtherGuardsStay) {
  for (const char* test :
       {"  %w = add i64 %at, 7\n  %c = icmp ult i64 %w, %bound\n"
        "  br i1 %c, label %body, label %latch\n",
        "  %c = icmp ugt i64 %at, %bound\n  br i1 %c, label %body, label %latch\n",
        "  %c = icmp ne i64 %at, %bound\n  br i1 %c, label %body, label %latch\n",
        "  %t = icmp ult i64 %at, %bound\n  %o = icmp ugt i64 %at, 40\n"
        "  %c = or i1 %t, %o\n  br i1 %c, label %body, label %latch\n"}) {
    run_passes(guarded_loop(test), trim());
    EXPECT_THAT(text(), Not(HasSubstr("@llvm.umin"))) << test;
  }
}

TEST_F(LoopPasses, LoopsOverPrivateArraysAreUnrolled) {
  const std::string body = R"(
entry:
  %array = alloca [8 x float]
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %from
  %to = getelementptr [8 x float], ptr %array, i64 0, i64 %i
  store float %v, ptr %to
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, COUNT
  br i1 %done, label %exit, label %loop
exit:
  %last = getelementptr [8 x float], ptr %array, i64 0, i64 5
  %r = load float, ptr %last
  store float %r, ptr %out
  ret void
)";
  auto passes = [] {
    FunctionPassManager result;
    LoopPassManager loops;
    loops.addPass(UnrollPrivateArrays());
    loops.addPass(LoopFullUnrollPass(2, /*OnlyWhenForced=*/true));
    result.addPass(createFunctionToLoopPassAdaptor(std::move(loops)));
    result.addPass(SROAPass(SROAOptions::ModifyCFG));
    return result;
  };
  std::string known = body, unknown = body;
  known.replace(known.find("COUNT"), 5, "8");
  unknown.replace(unknown.find("COUNT"), 5, "%n");
  unknown.replace(unknown.find("br label"), 0, "%n = zext i32 %word to i64\n  ");
  run_passes(known, passes());
  EXPECT_THAT(text(), Not(HasSubstr("alloca")));
  run_passes(unknown, passes());
  EXPECT_THAT(text(), HasSubstr("alloca"));
}

TEST_F(LoopPasses, BfloatWithoutInstructionsIsIntegerArithmetic) {
  run_passes(R"(
  %x = load float, ptr %in
  %b = fptrunc float %x to bfloat
  store bfloat %b, ptr %out
  %p = getelementptr float, ptr %out, i64 1
  %y = load bfloat, ptr %out
  %w = fpext bfloat %y to float
  store float %w, ptr %p
  ret void
)",
             FunctionPassManager());
  lower_bfloat(*module_->getFunction("test"));
  EXPECT_THAT(text(), Not(HasSubstr("fptrunc")));
  EXPECT_THAT(text(), Not(HasSubstr("load bfloat")));
  testing::Jit jit("", text());
  ASSERT_TRUE(jit.ok()) << jit.problem();
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    uint32_t bits = round % 3 == 0 ? random() & 0xffff8000u : random();
    if (round < 8) bits = 0x7f800000u + uint32_t(round) * 0x1000u;  // infinity, NaNs
    uint32_t out[2] = {};
    jit.run(&bits, out, 0);
    uint16_t result = uint16_t(out[0]);
    float x = std::bit_cast<float>(bits), back = std::bit_cast<float>(uint32_t(result) << 16);
    EXPECT_EQ(out[1], uint32_t(result) << 16);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(back));
      continue;
    }
    // The nearest of the neighbours; the even one when both are as near.
    uint16_t low = uint16_t(bits >> 16);
    uint32_t rest = bits & 0xffff;
    uint16_t expected = rest > 0x8000 || (rest == 0x8000 && low % 2 == 1) ? low + 1 : low;
    EXPECT_EQ(result, expected) << std::hex << bits;
  }
}

}  // namespace
}  // namespace mlxn::msl
