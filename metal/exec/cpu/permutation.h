#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace mlxn::cpu {

// A well-mixed hash of two numbers.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a + 0x9e3779b97f4a7c15 * (b + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// A pseudo-random order of 0 … count-1 that needs no memory: each number comes exactly once. The
// rounds are bijections of the next power of two; results past the end are mapped again until they
// fall inside, which keeps the whole a bijection.
class Permutation {
 public:
  Permutation() = default;
  Permutation(uint64_t count, uint64_t seed)
      : count_(count),
        bits_(std::max(1, static_cast<int>(std::bit_width(std::max<uint64_t>(count, 1) - 1)))),
        mask_(~uint64_t{0} >> (64 - bits_)) {
    for (uint64_t i = 0; i < kRounds; ++i) {
      factor_[i] = mix(seed, 2 * i) | 1;
      offset_[i] = mix(seed, 2 * i + 1);
    }
  }

  // `position` is below the count.
  uint64_t operator()(uint64_t position) const {
    do {
      for (int i = 0; i < kRounds; ++i) {
        position = (position * factor_[i] + offset_[i]) & mask_;
        position ^= position >> (bits_ + 1) / 2;
      }
    } while (position >= count_);
    return position;
  }

 private:
  static constexpr int kRounds = 4;
  uint64_t count_ = 0;
  int bits_ = 1;
  uint64_t mask_ = 1;
  uint64_t factor_[kRounds] = {}, offset_[kRounds] = {};
};

}  // namespace mlxn::cpu
