// Seed 002: the table of GPU time for each command-buffer label.
#include "mlxn/core/profile/profile.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

TEST(Seed002, RecordDumpResetCycle) {
  Profile profile;
  profile.reset();
  profile.record("A", 100);
  profile.record("A", 200);
  profile.record("B", 50);
  const auto dump = profile.dump();
  ASSERT_EQ(dump.size(), 2u);
  EXPECT_EQ(dump[0].first, "A") << "by total, largest first";
  EXPECT_EQ(dump[0].second.count, 2u);
  EXPECT_EQ(dump[0].second.total_ns, 300u);
  EXPECT_EQ(dump[0].second.min_ns, 100u);
  EXPECT_EQ(dump[0].second.max_ns, 200u);
  EXPECT_EQ(dump[1].first, "B");
  EXPECT_EQ(dump[1].second.count, 1u);
  EXPECT_EQ(dump[1].second.total_ns, 50u);
  EXPECT_EQ(dump[1].second.min_ns, 50u);
  EXPECT_EQ(dump[1].second.max_ns, 50u);
  EXPECT_EQ(profile.dump().size(), 2u) << "a dump does not clear";
  profile.reset();
  EXPECT_TRUE(profile.dump().empty());
}

TEST(Seed002, OrderIsByTotalNotByLabelOrCount) {
  Profile profile;
  profile.record("a", 1);
  profile.record("a", 1);
  profile.record("a", 1);
  profile.record("m", 7);
  profile.record("z", 1000);
  const auto dump = profile.dump();
  ASSERT_EQ(dump.size(), 3u);
  EXPECT_EQ(dump[0].first, "z");
  EXPECT_EQ(dump[1].first, "m");
  EXPECT_EQ(dump[2].first, "a");
}

TEST(Seed002, TheFirstTimeIsTheMinimumEvenWhenZeroFollowsOrPrecedes) {
  Profile profile;
  profile.record("zero first", 0);
  profile.record("zero first", 9);
  profile.record("falls", 9);
  profile.record("falls", 4);
  profile.record("falls", 6);
  const auto dump = profile.dump();
  ASSERT_EQ(dump.size(), 2u);
  EXPECT_EQ(dump[0].first, "falls");
  EXPECT_EQ(dump[0].second.min_ns, 4u);
  EXPECT_EQ(dump[0].second.max_ns, 9u);
  EXPECT_EQ(dump[1].second.min_ns, 0u);
  EXPECT_EQ(dump[1].second.max_ns, 9u);
}

TEST(Seed002, CountAndTotalSaturate) {
  Profile profile;
  profile.record("A", UINT64_MAX - 1);
  profile.record("A", 7);
  EXPECT_EQ(profile.dump()[0].second.total_ns, UINT64_MAX);
}

}  // namespace
}  // namespace mlxn::test
