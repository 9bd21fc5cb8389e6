#include "mlxn/text/stop_strings.h"

#include <algorithm>
#include <utility>

#include "mlxn/base/strings.h"

namespace mlxn::text {
namespace {

// Knuth, Morris and Pratt: fallback[i] is the length of the longest proper prefix of text that ends
// at byte i.
std::vector<uint32_t> fallback_of(std::string_view text) {
  std::vector<uint32_t> fallback(text.size(), 0);
  uint32_t length = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = fallback[length - 1];
    if (text[i] == text[length]) ++length;
    fallback[i] = length;
  }
  return fallback;
}

}  // namespace

Result<StopStrings> StopStrings::create(std::vector<std::string> strings) {
  constexpr size_t kMaxBytes = 1 << 20;
  StopStrings out;
  for (size_t i = 0; i < strings.size(); ++i) {
    if (strings[i].empty() || strings[i].size() > kMaxBytes)
      return Error(ErrorCode::kInvalidArgument, str("stop string ", i, " has ", strings[i].size(),
                                                    " bytes, expected 1 to ", kMaxBytes));
    std::vector<uint32_t> fallback = fallback_of(strings[i]);
    out.patterns_.push_back({std::move(strings[i]), std::move(fallback), 0});
  }
  return out;
}

const StopStrings::Pattern* StopStrings::advance(char byte) {
  const Pattern* complete = nullptr;
  for (Pattern& one : patterns_) {
    uint32_t& length = one.length_matched;
    while (length > 0 && one.text[length] != byte) length = one.fallback[length - 1];
    if (one.text[length] == byte) ++length;
    if (length < one.text.size()) continue;
    if (!complete || one.text.size() > complete->text.size()) complete = &one;
  }
  return complete;
}

StopStrings::Step StopStrings::push(std::string_view bytes) {
  if (!matched_.empty()) return {{}, true};
  for (const char byte : bytes) {
    held_ += byte;
    if (const Pattern* complete = advance(byte)) {
      matched_ = complete->text;
      held_.resize(held_.size() - matched_.size());
      return {std::exchange(held_, {}), true};
    }
  }
  size_t keep = 0;
  for (const Pattern& one : patterns_) keep = std::max<size_t>(keep, one.length_matched);
  std::string text = held_.substr(0, held_.size() - keep);
  held_.erase(0, text.size());
  return {std::move(text), false};
}

std::string StopStrings::finish() {
  for (Pattern& one : patterns_) one.length_matched = 0;
  return std::exchange(held_, {});
}

void StopStrings::reset() {
  finish();
  matched_.clear();
}

}  // namespace mlxn::text
