// Which code a pipeline compiles and chooses for the threadgroup sizes of its dispatches.
#include "metal/exec/cpu/pipeline_code.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

using msl::Shape;
using testing::ElementsAre;
using testing::IsEmpty;

std::string text_of(const Shape& shape) {
  if (shape.kind == Shape::Kind::kFlat32) return "flat";
  if (shape.kind == Shape::Kind::kAny) return "any";
  return str(shape.size[0], "x", shape.size[1], "x", shape.size[2]);
}

class PipelineCodeTest : public testing::Test {
 protected:
  static std::shared_ptr<const CpuCode> pipeline(const Shape& shape) {
    auto out = std::make_shared<CpuCode>();
    out->kernel.shape = shape;
    return out;
  }
  PipelineCode::Make make() {
    return [this](const Shape& shape) -> Result<std::shared_ptr<const CpuCode>> {
      made.push_back(text_of(shape));
      if (fails) return Error(ErrorCode::kCompileFailed, "no code");
      return pipeline(falls_back ? Shape{Shape::Kind::kAny} : shape);
    };
  }
  // "code" or "code, edge" of what is chosen.
  std::string choose(PipelineCode& code, rt::Size3 grid, rt::Size3 group) {
    auto chosen = code.choose(grid, group, make());
    if (!chosen) return chosen.error().message();
    const std::string whole = text_of(chosen->code->kernel.shape);
    return chosen->edge ? str(whole, ", ", text_of(chosen->edge->kernel.shape)) : whole;
  }

  PipelineCode flat{pipeline({})};
  std::vector<std::string> made;
  bool fails = false, falls_back = false;
};

TEST_F(PipelineCodeTest, CodeForAnySizeNeedsNothingElse) {
  PipelineCode code(pipeline({Shape::Kind::kAny}));
  EXPECT_TRUE(code.covers_all());
  EXPECT_EQ(choose(code, {1000, 7, 3}, {33, 2, 1}), "any");
  EXPECT_THAT(made, IsEmpty());
}

TEST_F(PipelineCodeTest, FlatCodeRunsMultiplesOf32) {
  EXPECT_FALSE(flat.covers_all());
  EXPECT_EQ(choose(flat, {1024, 5, 5}, {256, 1, 1}), "flat");
  EXPECT_EQ(choose(flat, {160, 1, 1}, {64, 1, 1}), "flat");  // the last one has 32
  EXPECT_EQ(choose(flat, {32, 1, 1}, {1024, 1, 1}), "flat");
  EXPECT_THAT(made, IsEmpty());
}

TEST_F(PipelineCodeTest, OtherSizesAreMadeOnceEach) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(choose(flat, {64, 64, 1}, {8, 8, 1}), "8x8x1");
    EXPECT_EQ(choose(flat, {66, 1, 1}, {33, 1, 1}), "33x1x1");
    EXPECT_EQ(choose(flat, {64, 1, 1}, {64, 1, 1}), "flat");
  }
  EXPECT_THAT(made, ElementsAre("8x8x1", "33x1x1"));
}

TEST_F(PipelineCodeTest, TheFifthSizeGetsCodeForAll) {
  for (uint64_t n : {1, 2, 3, 4, 5, 6, 7, 3}) {
    EXPECT_EQ(choose(flat, {n, 1, 1}, {n, 1, 1}), n <= 4 ? str(n, "x1x1") : "any");
  }
  EXPECT_EQ(choose(flat, {96, 1, 1}, {96, 1, 1}), "flat");
  EXPECT_THAT(made, ElementsAre("1x1x1", "2x1x1", "3x1x1", "4x1x1", "any"));
}

TEST_F(PipelineCodeTest, EdgesShareCodeForAnySize) {
  EXPECT_EQ(choose(flat, {100, 1, 1}, {64, 1, 1}), "flat, any");
  EXPECT_EQ(choose(flat, {101, 3, 1}, {64, 1, 1}), "flat, any");
  EXPECT_EQ(choose(flat, {9, 8, 1}, {8, 8, 1}), "8x8x1, any");
  EXPECT_EQ(choose(flat, {8, 8, 3}, {8, 8, 2}), "8x8x2, any");
  EXPECT_THAT(made, ElementsAre("any", "8x8x1", "8x8x2"));
}

TEST_F(PipelineCodeTest, TheFirstCodeServesEdgesItCovers) {
  EXPECT_EQ(choose(flat, {128, 1, 1}, {48, 1, 1}), "48x1x1, flat");
  EXPECT_EQ(choose(flat, {64, 5, 1}, {32, 2, 1}), "32x2x1, flat");
  EXPECT_THAT(made, ElementsAre("48x1x1", "32x2x1"));
}

TEST_F(PipelineCodeTest, GridsSmallerThanAThreadgroupTakeNoPlace) {
  for (uint64_t n = 1; n < 20; ++n) EXPECT_EQ(choose(flat, {n, 1, 1}, {64, 1, 1}), "any");
  EXPECT_EQ(choose(flat, {4, 100, 1}, {16, 16, 1}), "any");
  EXPECT_EQ(choose(flat, {32, 1, 1}, {48, 1, 1}), "flat");
  EXPECT_THAT(made, ElementsAre("any"));
}

TEST_F(PipelineCodeTest, RequiredSizesStandAlone) {
  PipelineCode code(pipeline({Shape::Kind::kExact, {8, 4, 1}}));
  EXPECT_EQ(choose(code, {80, 40, 7}, {8, 4, 1}), "8x4x1");
  EXPECT_EQ(choose(code, {81, 40, 7}, {8, 4, 1}), "8x4x1, any");
  EXPECT_THAT(made, ElementsAre("any"));
}

TEST_F(PipelineCodeTest, CodeTheCompilerMadeForAllIsUsedForAll) {
  falls_back = true;
  EXPECT_EQ(choose(flat, {33, 1, 1}, {33, 1, 1}), "any");
  EXPECT_EQ(choose(flat, {34, 1, 1}, {34, 1, 1}), "any");
  EXPECT_EQ(choose(flat, {35, 1, 1}, {34, 1, 1}), "any");
  EXPECT_THAT(made, ElementsAre("33x1x1"));
}

TEST_F(PipelineCodeTest, FailuresAreNotKept) {
  fails = true;
  EXPECT_EQ(choose(flat, {33, 1, 1}, {33, 1, 1}), "no code");
  EXPECT_EQ(choose(flat, {65, 1, 1}, {64, 1, 1}), "no code");
  fails = false;
  EXPECT_EQ(choose(flat, {33, 1, 1}, {33, 1, 1}), "33x1x1");
  EXPECT_EQ(choose(flat, {65, 1, 1}, {64, 1, 1}), "flat, any");
}

TEST_F(PipelineCodeTest, ThreadsThatAskAtOnceMakeItOnce) {
  constexpr int kThreads = 8;
  std::atomic<int> waiting{0}, count{0};
  std::vector<std::thread> threads;
  std::array<const CpuCode*, kThreads> seen{};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ++waiting;
      while (waiting < kThreads) std::this_thread::yield();
      auto chosen = flat.choose({40, 1, 1}, {40, 1, 1}, [&](const Shape& shape) {
        ++count;
        std::this_thread::yield();
        return Result<std::shared_ptr<const CpuCode>>(pipeline(shape));
      });
      if (chosen) seen[t] = chosen->code;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 1);
  for (const CpuCode* code : seen) {
    ASSERT_TRUE(code);
    EXPECT_EQ(code, seen[0]);
  }
}

}  // namespace
}  // namespace mlxn::cpu
