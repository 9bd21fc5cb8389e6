// The tools of the proof: generator, judge and shrinker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "metal/msl/module.h"
#include "tests/tiers/expression_maker.h"
#include "tests/tiers/fuzz.h"
#include "tests/tiers/shrink.h"

namespace mlxn::tiers {
namespace {

using testing::HasSubstr;

TEST(KernelGenerator, IsDeterministic) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(print(generate_kernel("k", seed, {})), print(generate_kernel("k", seed, {})));
  }
}

TEST(KernelGenerator, CoversTheLanguage) {
  std::string all;
  std::set<std::string> different;
  constexpr uint64_t kPrograms = 1000;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const std::string text = print(generate_kernel("k", seed, {.flat = seed % 2 == 0}));
    different.insert(text);
    all += text;
  }
  EXPECT_EQ(different.size(), kPrograms);
  for (const char* part : {"threadgroup_barrier",
                           "simdgroup_barrier",
                           "simd_sum(",
                           "simd_min(",
                           "simd_max(",
                           "simd_product(",
                           "simd_and(",
                           "simd_or(",
                           "simd_xor(",
                           "simd_prefix_inclusive_sum(",
                           "simd_prefix_exclusive_product(",
                           "simd_shuffle(",
                           "simd_shuffle_xor(",
                           "simd_shuffle_up(",
                           "simd_shuffle_down(",
                           "simd_broadcast(",
                           "simd_broadcast_first(",
                           "simd_ballot(",
                           "simd_all(",
                           "simd_any(",
                           "simd_active_threads_mask(",
                           "simd_is_first(",
                           "quad_sum(",
                           "simdgroup_multiply_accumulate(",
                           "atomic_fetch_add",
                           "atomic_fetch_min",
                           "switch (",
                           "do {",
                           "for (int L",
                           "break;",
                           "continue;",
                           "return;",
                           "return (",
                           "k_h1(",
                           "half h0",
                           "long l0",
                           "float2 w0",
                           "float4 v0",
                           "pi[",
                           "pf[",
                           " ? pi : pj)",
                           " ? &i0 : &i1)",
                           " ? in : (const device int*)out",
                           " ? si : si + n)",
                           " ? &sc[tid].v : &si[tid])",
                           "thread int* q[3]",
                           "threadgroup Cell sc",
                           "Cell c;",
                           "pick(",
                           "mark(",
                           "fixed<1>(",
                           "ms[i][j], ma, mb",
                           "((const device float2*)fin)",
                           "while (a < b)",
                           "q += 3",
                           "int k = 0, last;",
                           "if (last & 1)",
                           "w[i] & 3840u",
                           "__msl_dot4(",
                           "__msl_dot2(",
                           "kFlag ? ",
                           "is_function_constant_defined(kUnset)"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part;
  }
}

TEST(KernelGenerator, PlainKernelsHaveNoCrossLaneOperation) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = print(generate_kernel("k", seed, {.cross_lane = false}));
    EXPECT_THAT(text, testing::Not(HasSubstr("barrier")));
    EXPECT_THAT(text, testing::Not(HasSubstr("simd_")));
    EXPECT_THAT(text, testing::Not(HasSubstr("quad_")));
  }
}

TEST(KernelGenerator, WideKernelsRunSixteenThreadsAtATime) {
  auto compiler = msl::compiler();
  ASSERT_TRUE(compiler);
  std::string text = prologue();
  for (int i = 0; i < 30; ++i) {
    const GeneratorOptions options = {.cross_lane = false, .flat = true, .wide = true};
    text += print(generate_kernel(Text{"k", i}, static_cast<uint64_t>(i), options));
  }
  auto library = (*compiler)->create_library(text, {});
  ASSERT_TRUE(library) << library.error().to_string();
  msl::CompileRequest request;
  request.constants = constants();
  request.emit = msl::Emit::kExplanation;
  request.target = {msl::Target::Kind::kCpu, "x86-64-v4", ""};
  auto image = (*library)->compile(request);
  ASSERT_TRUE(image) << image.error().to_string();
  const std::string told(image->code.begin(), image->code.end());
  int wide = 0;
  for (size_t at = 0; (at = told.find("run 16 at a time", at)) != std::string::npos; ++at) ++wide;
  EXPECT_GE(wide, 20) << told;
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  Program program = generate_kernel("k", 11, {});
  program.body.insert(program.body.begin() + 1,
                      Node::block("if (lane < 3u)", {Node::line("i0 = 5;"), Node::line("MARK;")}));
  const Program small = shrink(
      program, [](const Program& p) { return print(p).find("MARK;") != std::string::npos; }, 1000);
  EXPECT_EQ(count_nodes(small), 1u);
  EXPECT_THAT(print(small), HasSubstr("MARK;"));
}

class JudgeTest : public testing::Test {
 protected:
  Verdict verdict_of(const std::vector<std::string>& lines) {
    Case one{generate_kernel("k", 1, {.flat = true}), {kOracleTier}, {{64, 1, 1}, {64, 1, 1}}, 5};
    one.program.body.clear();
    for (const std::string& line : lines) one.program.body.push_back(Node::line(line));
    auto compiler = msl::compiler();
    EXPECT_TRUE(compiler);
    return judge(machine_, **compiler, one, detail_);
  }
  Machine machine_;
  std::string detail_;
};

TEST_F(JudgeTest, TellsRacesFromOrderedPrograms) {
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  EXPECT_EQ(verdict_of({"si[tid] = int(tid);", barrier, "i0 = si[(tid + 7u) % n];"}),
            Verdict::kSame)
      << detail_;
  EXPECT_EQ(verdict_of({"si[tid] = int(tid);", "i0 = si[(tid + 7u) % n];"}), Verdict::kRacy);
  EXPECT_THAT(detail_, HasSubstr("out word 0"));
  EXPECT_EQ(verdict_of({"this is no statement"}), Verdict::kRefused);
}

TEST(Fuzz, FindsADifferenceOfMemory) {
  const Launch launch{{4, 1, 1}, {4, 1, 1}};
  const Memory expected = make_memory(3, launch);
  Memory actual = expected;
  EXPECT_EQ(first_difference(expected, actual), "");
  actual.out[9] ^= 1;
  EXPECT_THAT(first_difference(expected, actual), HasSubstr("thread 1, out word 1"));
  actual = expected;
  actual.fout[0] = -actual.fout[0];
  EXPECT_THAT(first_difference(expected, actual), HasSubstr("thread 0, fout 0"));
  actual = expected;
  actual.counters[3] = 77;
  EXPECT_THAT(first_difference(expected, actual), HasSubstr("counter 3"));
}

}  // namespace
}  // namespace mlxn::tiers
