#include "mlxn/core/encode/interval_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace mlxn {
namespace {

// One flag for each address.
class Flags {
 public:
  explicit Flags(size_t space) : flags_(space) {}
  void add(size_t begin, size_t end) { std::fill(at(begin), at(std::max(begin, end)), true); }
  bool overlaps(size_t begin, size_t end) const {
    return std::find(at(begin), at(std::max(begin, end)), true) != at(std::max(begin, end));
  }
  size_t intervals() const {
    size_t count = 0;
    for (size_t i = 0; i < flags_.size(); ++i) count += flags_[i] && (i == 0 || !flags_[i - 1]);
    return count;
  }

 private:
  std::vector<bool>::iterator at(size_t i) { return flags_.begin() + static_cast<ptrdiff_t>(i); }
  std::vector<bool>::const_iterator at(size_t i) const {
    return flags_.begin() + static_cast<ptrdiff_t>(i);
  }
  std::vector<bool> flags_;
};

TEST(IntervalSet, TouchingOnesMeltFromBothSides) {
  IntervalSet set;
  set.add(10, 20);
  set.add(20, 30);
  EXPECT_EQ(set.size(), 1u);
  set.add(5, 10);
  EXPECT_EQ(set.size(), 1u);
  set.add(31, 40);
  EXPECT_EQ(set.size(), 2u);
  EXPECT_FALSE(set.overlaps(30, 31));
  set.add(30, 31);
  EXPECT_EQ(set.size(), 1u);
  EXPECT_FALSE(set.overlaps(0, 5));
  EXPECT_TRUE(set.overlaps(39, 100));
  EXPECT_FALSE(set.overlaps(40, 100));
  set.add(50, 50);
  EXPECT_EQ(set.size(), 1u) << "an empty one adds nothing";
  set.clear();
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.overlaps(0, 100));
}

// Many short ones fill many blocks; then ever longer ones melt them over the ends of blocks.
TEST(IntervalSet, EqualsAFlagForEachAddress) {
  constexpr size_t kSpace = 4096;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    IntervalSet set;
    Flags flags(kSpace);
    for (size_t i = 0; i < 900; ++i) {
      const size_t longest = i < 700 ? 2 : i < 850 ? 30 : 600;
      const size_t begin = random() % kSpace;
      const size_t end = std::min<size_t>(kSpace, begin + random() % (longest + 1));
      ASSERT_EQ(set.overlaps(begin, end), flags.overlaps(begin, end)) << begin << " to " << end;
      set.add(begin, end);
      flags.add(begin, end);
      ASSERT_EQ(set.size(), flags.intervals()) << begin << " to " << end;
    }
    for (size_t i = 0; i < kSpace; ++i) {
      ASSERT_EQ(set.overlaps(i, i + 1), flags.overlaps(i, i + 1)) << i;
    }
  }
}

}  // namespace
}  // namespace mlxn
