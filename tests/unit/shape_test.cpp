// Code made for certain threadgroup sizes: contexts, the checks of sizes, and edge threadgroups.
#include <gmock/gmock.h>

#include "tests/unit/cpu_fixture.h"

namespace mlxn::cpu {
namespace {

using msl::Shape;
using msl::Tier;
using testing::ElementsAre;
using testing::HasSubstr;

class ShapeTest : public CpuTest {
 protected:
  static Shape exact(uint32_t x, uint32_t y, uint32_t z) {
    return {Shape::Kind::kExact, {x, y, z}};
  }
  msl::Image image(const std::string& kernel, Tier tier, const Shape& shape) {
    msl::Image out = make_image(*executor_, "regions", kernel, tier);
    out.kernels[0].shape = shape;
    return out;
  }
  std::shared_ptr<const rt::Pipeline> load_shape(const std::string& kernel, const Shape& shape) {
    auto loaded = load_image(*executor_, image(kernel, Tier::kRegions, shape), kernel);
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return loaded ? *loaded : nullptr;
  }
  // note_main, made for `shape`, with note_edge as its code for `edge_shape`.
  std::shared_ptr<const rt::Pipeline> load_both(const Shape& shape, const Shape& edge_shape) {
    auto main = std::make_shared<msl::Image>(image("note_main", Tier::kRegions, shape));
    auto edge = std::make_shared<msl::Image>(image("note_main", Tier::kRegions, edge_shape));
    edge->kernels[0].symbol = "note_edge";
    auto loaded = executor_->load(
        "note_main", {0, 0, 0},
        [=](const msl::CompileRequest& request) -> Result<std::shared_ptr<const msl::Image>> {
          return request.shape.kind == Shape::Kind::kAny ? edge : main;
        });
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return loaded ? *loaded : nullptr;
  }
  // What note_main, made for `shape`, and note_edge did to a grid; or the error.
  std::vector<uint32_t> run_notes(const Shape& shape, rt::Size3 grid, rt::Size3 group) {
    auto main = load_both(shape, {Shape::Kind::kAny});
    auto count = [](uint64_t n, uint64_t size) { return (n + size - 1) / size; };
    auto memory =
        allocate(4 * count(grid.x, group.x) * count(grid.y, group.y) * count(grid.z, group.z));
    TestDispatch command = dispatch(main, grid, group, {memory});
    Status status = run({command});
    EXPECT_TRUE(status) << status.error().to_string();
    auto values = view<uint32_t>(memory);
    return {values.begin(), values.end()};
  }
  std::string error_of(const TestDispatch& command) {
    Status status = run({command});
    return status ? "no error" : status.error().message();
  }
};

TEST_F(ShapeTest, ContextsHoldWhatThreadgroupsNeed) {
  for (Tier tier : {Tier::kRegions, Tier::kMaskedRegions}) {
    msl::Image made = image("reverse_in_context", tier, {Shape::Kind::kAny});
    made.kernels[0].context_bytes = 64;
    made.kernels[0].context_bytes_per_simdgroup = 128;
    made.kernels[0].static_threadgroup_bytes = 1;
    auto pipeline = load_image(*executor_, made, "reverse_in_context");
    ASSERT_TRUE(pipeline) << pipeline.error().to_string();
    for (uint64_t size : {1, 31, 32, 33, 1024}) {
      constexpr uint64_t kGroups = 50;
      auto memory = allocate(kGroups * size * 4);
      auto values = view<uint32_t>(memory);
      for (uint32_t i = 0; i < values.size(); ++i) values[i] = i;
      ASSERT_TRUE(run({dispatch(*pipeline, {kGroups * size, 1, 1}, {size, 1, 1}, {memory})}));
      for (uint64_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(values[i], i / size * size + (size - 1 - i % size) + 1) << size << " at " << i;
      }
    }
  }
}

TEST_F(ShapeTest, ImpossibleContextsAreRefused) {
  auto problem = [&](uint64_t own, uint64_t each) {
    msl::Image made = image("note_main", Tier::kRegions, {Shape::Kind::kAny});
    made.kernels[0].context_bytes = own;
    made.kernels[0].context_bytes_per_simdgroup = each;
    auto pipeline = load_image(*executor_, made, "note_main");
    if (!pipeline) return pipeline.error().message();
    auto memory = allocate(4);
    return error_of(dispatch(*pipeline, {1024, 1, 1}, {1024, 1, 1}, {memory}));
  };
  EXPECT_EQ(problem(64, 64), "no error");
  EXPECT_THAT(problem(100, 64), HasSubstr("context of 100 bytes, expected a multiple of 64"));
  EXPECT_THAT(problem(64, ~uint64_t{63}), HasSubstr("context of 18446744073709551552 bytes"));
  EXPECT_THAT(problem(0, uint64_t{1} << 28),
              HasSubstr("8589934592 bytes of context after 4096 others for each worker, expected "
                        "at most 1073741824"));
}

TEST_F(ShapeTest, UnknownTiersAreRefused) {
  auto pipeline =
      load_image(*executor_, image("note_main", Tier{4}, {Shape::Kind::kAny}), "note_main");
  ASSERT_FALSE(pipeline);
  EXPECT_THAT(pipeline.error().message(), HasSubstr("tier 4, expected 0 to 3"));
}

TEST_F(ShapeTest, SizesTheCodeIsNotMadeForAreRefused) {
  auto memory = allocate(4096);
  auto flat = load_shape("note_main", {});
  auto tile = load_shape("note_main", exact(8, 8, 1));
  EXPECT_EQ(error_of(dispatch(flat, {96, 1, 1}, {96, 1, 1}, {memory})), "no error");
  EXPECT_EQ(error_of(dispatch(flat, {96, 1, 1}, {64, 1, 1}, {memory})), "no error");
  EXPECT_EQ(error_of(dispatch(tile, {64, 64, 3}, {8, 8, 1}, {memory})), "no error");
  EXPECT_THAT(error_of(dispatch(flat, {99, 1, 1}, {33, 1, 1}, {memory})),
              HasSubstr("threadgroup of 33 x 1 x 1 threads, the code is for n x 1 x 1 threads, n a "
                        "multiple of 32"));
  EXPECT_THAT(error_of(dispatch(flat, {100, 1, 1}, {32, 1, 1}, {memory})),
              HasSubstr("threadgroup of 4 x 1 x 1 threads"));
  EXPECT_THAT(error_of(dispatch(flat, {32, 2, 1}, {32, 2, 1}, {memory})), HasSubstr("32 x 2 x 1"));
  EXPECT_THAT(error_of(dispatch(tile, {8, 9, 1}, {8, 8, 1}, {memory})),
              HasSubstr("threadgroup of 8 x 1 x 1 threads, the code is for 8 x 8 x 1 threads"));
  auto both = load_both({}, exact(8, 8, 1));
  EXPECT_THAT(error_of(dispatch(both, {65, 1, 1}, {32, 1, 1}, {memory})),
              HasSubstr("multiple of 32 and 8 x 8 x 1 threads"));
}

TEST_F(ShapeTest, EdgeThreadgroupsRunTheirOwnCode) {
  EXPECT_THAT(run_notes({}, {200, 1, 1}, {64, 1, 1}), ElementsAre(10064, 10064, 10064, 20008));
  EXPECT_THAT(run_notes({}, {160, 1, 1}, {64, 1, 1}), ElementsAre(10064, 10064, 10032));
  EXPECT_THAT(run_notes({}, {5, 1, 1}, {64, 1, 1}), ElementsAre(20005));
  EXPECT_THAT(run_notes(exact(4, 2, 1), {6, 3, 1}, {4, 2, 1}),
              ElementsAre(10008, 20004, 20004, 20002));
  EXPECT_THAT(run_notes(exact(4, 2, 2), {4, 2, 3}, {4, 2, 2}), ElementsAre(10016, 20008));
}

}  // namespace
}  // namespace mlxn::cpu
