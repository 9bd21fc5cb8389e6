// Strings that end an answer, found in a stream of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::text {

// Watches bytes as they come and lets through what can't be part of a stop string. The stream ends
// at the first byte that completes a stop string; if that byte completes several, the longest
// counts. The division of the stream into parts makes no difference.
class StopStrings {
 public:
  // kInvalidArgument for an empty string. No strings at all: everything passes.
  static Result<StopStrings> create(std::vector<std::string> strings);

  struct Step {
    std::string text;      // may be shown now; never holds bytes of the stop string
    bool stopped = false;  // later bytes are ignored
  };
  Step push(std::string_view bytes);
  // At the end of the stream: what was held back because a stop string might have begun.
  std::string finish();

  // Which string ended the stream; empty before.
  const std::string& matched() const { return matched_; }
  // Forgets the stream and keeps the strings.
  void reset();

 private:
  struct Pattern {
    std::string text;
    std::vector<uint32_t> fallback;  // length of the longest own prefix that ends at each byte
    uint32_t length_matched = 0;
  };
  // The patterns after one more byte; returns the longest that is complete, or null.
  const Pattern* advance(char byte);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::string matched_;
};

}  // namespace mlxn::text
