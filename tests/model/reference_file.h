// What the scripts beside this file wrote, and how logits are compared with it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace mlxn::model {

class ReferenceReader {
 public:
  explicit ReferenceReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  template <class T>
  std::vector<T> take(size_t count) {
    std::vector<T> out(count);
    if (at_ + count * sizeof(T) > bytes_.size()) return {};
    std::memcpy(out.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return out;
  }
  int32_t number() { return take<int32_t>(1).at(0); }
  std::vector<int32_t> list() { return take<int32_t>(static_cast<size_t>(number())); }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// A text and the logits of each of its tokens.
struct ReferenceLogits {
  explicit ReferenceLogits(ReferenceReader& reader) : tokens(reader.list()) {
    const auto rows = static_cast<size_t>(reader.number());
    width = static_cast<size_t>(reader.number());
    logits = reader.take<float>(rows * width);
  }
  std::span<const float> row(size_t i) const { return std::span(logits).subspan(i * width, width); }

  std::vector<int32_t> tokens;
  size_t width = 0;
  std::vector<float> logits;
};

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " must be set: run this test through ctest";
  return value ? value : "";
}

inline double nmse(std::span<const float> actual, std::span<const float> expected) {
  double error = 0, scale = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(actual[i]) - static_cast<double>(expected[i]);
    error += difference * difference;
    scale += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return error / scale;
}

}  // namespace mlxn::model
