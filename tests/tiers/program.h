// A kernel as a tree of statements: what the generator makes, prints and shrinks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::tiers {

// One statement. A compound one prints as `head { body } tail` or `head { body } else { otherwise
// }`.
struct Node {
  std::string head;
  bool compound = false;
  std::vector<Node> body, otherwise;
  std::string tail;

  static Node line(std::string text) { return {std::move(text), false, {}, {}, {}}; }
  static Node block(std::string head, std::vector<Node> body, std::vector<Node> otherwise = {},
                    std::string tail = {}) {
    return {std::move(head), true, std::move(body), std::move(otherwise), std::move(tail)};
  }
};

struct Helper {
  std::string signature, setup;
  std::vector<Node> body;
  std::string result;  // the last statement; setup and result stay when others are dropped
};

// All variables are declared in `setup`, so that any node of `body` may be dropped.
struct Program {
  std::string name;  // of the kernel; helpers begin with it
  uint64_t seed = 0;
  bool flat = false;  // sees a one-dimensional grid only
  std::vector<Helper> helpers;
  std::string signature;
  std::vector<std::string> setup;
  std::vector<Node> body;
  std::vector<std::string> finish;
};

// What a library of programs begins with.
std::string prologue();
// The values its function constants are compiled with.
std::vector<msl::ConstantValue> constants();
// Helpers and kernel as MSL.
std::string print(const Program& program);
// Statements, compound ones and those within them.
uint32_t count_nodes(const Program& program);

// Buffers of every program, by index.
inline constexpr uint32_t kOutWords = 8, kOutFloats = 8;  // for each thread, in buffers 0 and 1
inline constexpr uint32_t kCounters = 16;                 // atomic words in buffer 2
inline constexpr uint32_t kInputs = 1024;                 // ints in buffer 3, floats in buffer 4
// Buffer 5 of a program: small numbers, the same for all threads.
struct Parameters {
  int32_t n[8];  // 0 … 3
  float s[4];
};
// Bytes of the [[threadgroup(0)]] argument.
inline constexpr uint32_t kThreadgroupBytes = 1024 * 4;

}  // namespace mlxn::tiers
