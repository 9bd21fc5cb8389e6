#include "mlxn/text/utf8.h"

#include <gtest/gtest.h>

namespace mlxn::text {
namespace {

std::string stream(std::string_view bytes, size_t part, Utf8Stream::Invalid invalid) {
  Utf8Stream stream(invalid);
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += part) out += stream.push(bytes.substr(at, part));
  return out + stream.finish();
}

TEST(Utf8, StepsThroughEveryCodePoint) {
  for (uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, code);
    const Utf8Step step = utf8_step(text + "x");
    ASSERT_TRUE(step.valid) << code;
    ASSERT_EQ(step.code_point, code);
    ASSERT_EQ(step.size, text.size()) << code;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Step partial = utf8_step(std::string_view(text).substr(0, cut));
      ASSERT_TRUE(partial.incomplete && !partial.valid && partial.size == cut) << code;
    }
  }
}

// The examples of the Unicode standard, section 3.9, tables 3-8 to 3-11.
TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\xEF\xBF\xBD";
  const std::pair<std::string_view, std::string> cases[] = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", r + r + r + r + r + "A" + r + r + "B"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"},
  };
  for (const auto& [bytes, expected] : cases) {
    for (size_t part = 1; part <= bytes.size(); ++part) {
      EXPECT_EQ(stream(bytes, part, Utf8Stream::Invalid::kReplace), expected) << part;
      EXPECT_EQ(stream(bytes, part, Utf8Stream::Invalid::kKeep), bytes) << part;
    }
  }
}

TEST(Utf8, HoldsBackIncompleteSequences) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x91"), "");
  EXPECT_EQ(stream.push("\x8D!"), "\xF0\x9F\x91\x8D!");
  EXPECT_EQ(stream.push("\xE4\xB8"), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push("b"), "b");
}

TEST(Utf8, CountsInvalidSequencesAsOne) {
  EXPECT_EQ(utf8_length(""), 0u);
  EXPECT_EQ(utf8_length("a\xC3\xA9\xE4\xB8\xAD"), 3u);
  EXPECT_EQ(utf8_length("\xFF\xFF\xE4\xB8"), 3u);
}

}  // namespace
}  // namespace mlxn::text
