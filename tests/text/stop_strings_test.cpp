#include "mlxn/text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace mlxn::text {
namespace {

struct Outcome {
  std::string text;
  std::string matched;
  bool operator==(const Outcome&) const = default;
};

Outcome stream(StopStrings stops, std::string_view bytes, size_t part) {
  Outcome out;
  for (size_t at = 0; at < bytes.size(); at += part) {
    const StopStrings::Step step = stops.push(bytes.substr(at, part));
    out.text += step.text;
    EXPECT_EQ(step.stopped, !stops.matched().empty());
    if (step.stopped) break;
  }
  if (stops.matched().empty()) out.text += stops.finish();
  out.matched = stops.matched();
  return out;
}

// By definition: the first end of any string, the longest of those that end there.
Outcome search(const std::vector<std::string>& strings, std::string_view bytes) {
  for (size_t end = 1; end <= bytes.size(); ++end) {
    std::string best;
    for (const std::string& one : strings) {
      if (bytes.substr(0, end).ends_with(one) && one.size() > best.size()) best = one;
    }
    if (!best.empty()) return {std::string(bytes.substr(0, end - best.size())), best};
  }
  return {std::string(bytes), ""};
}

TEST(StopStrings, RefusesEmptyStrings) {
  const auto made = StopStrings::create({"a", ""});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(made.error().message().find("stop string 1 has 0 bytes"), std::string::npos);
}

TEST(StopStrings, PassesEverythingWithoutStrings) {
  StopStrings stops = *StopStrings::create({});
  EXPECT_EQ(stops.push("abc").text, "abc");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, HoldsBackWhatMayBegin) {
  StopStrings stops = *StopStrings::create({"<end>", "\n\n"});
  EXPECT_EQ(stops.push("hi <e").text, "hi ");
  EXPECT_EQ(stops.push("n").text, "");
  EXPECT_EQ(stops.push("ergy\n").text, "<energy");
  EXPECT_EQ(stops.push("<end").text, "\n");
  const StopStrings::Step last = stops.push("> more");
  EXPECT_TRUE(last.stopped);
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(stops.matched(), "<end>");
  EXPECT_EQ(stops.push("later").text, "");
  EXPECT_EQ(stops.finish(), "");
  stops.reset();
  EXPECT_EQ(stops.push("again").text, "again");
}

TEST(StopStrings, AgreesWithSearchForAnyDivision) {
  std::mt19937 random(7);
  const auto word = [&](size_t most) {
    std::string out;
    for (size_t i = 1 + random() % most; i > 0; --i) out += static_cast<char>('a' + random() % 2);
    return out;
  };
  int matches = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> strings;
    for (size_t i = random() % 4; i > 0; --i) strings.push_back(word(6));
    const std::string bytes = word(30);
    const Outcome expected = search(strings, bytes);
    matches += expected.matched.empty() ? 0 : 1;
    for (size_t part : {size_t{1}, size_t{2}, size_t{5}, bytes.size()})
      ASSERT_EQ(stream(*StopStrings::create(strings), bytes, part), expected) << bytes;
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace mlxn::text
