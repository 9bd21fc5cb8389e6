// A small generator of random numbers whose sequence is the same on every machine, so that a seed
// names a program.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mlxn::tiers {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  // 0 … count-1
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(next() >> 16) % count; }
  bool percent(uint32_t chance) { return below(100) < chance; }
  // -1 … 1 in steps that any float type holds exactly enough
  float unit() { return static_cast<float>(static_cast<int>(below(2049)) - 1024) / 1024.0f; }

  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<uint32_t>(choices.size()))];
  }
  template <class T>
  const T& pick(const std::vector<T>& choices) {
    return choices[below(static_cast<uint32_t>(choices.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace mlxn::tiers
