// Random programs of dispatches over overlapping views, and the ways to run them. Whatever way is
// taken, the bytes must be those of the program run in order.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/graph_session.h"
#include "tests/core/core_test.h"

namespace mlxn::test {

inline constexpr uint32_t kArrays = 4, kArrayLength = 256;    // of uint32, mostly seen in part
inline constexpr uint32_t kTables = 3, kRows = 4, kDim = 32;  // of float, for the norm

struct View {
  uint32_t array = 0, offset = 0, count = 1;
  bool overlaps(const View& other) const {
    return array == other.array && offset < other.offset + other.count &&
           other.offset < offset + count;
  }
  friend bool operator==(const View&, const View&) = default;
};

struct Step {
  enum Kind { kFill, kCombine, kReverse, kInPlace, kNormMul, kTableMul, kTableAdd } kind = kFill;
  View in[2], out;         // of arrays
  uint32_t table[3] = {};  // in, scale, out
  uint32_t constant = 0;
  bool ends_stage = false;  // where sessions fence and change over
  // What comes in front of it and must leave no trace: Machine::interrupt.
  enum Interruption { kNone, kCapture, kRefused, kReplay, kMove } interruption = kNone;
};

using Program = std::vector<Step>;
// Contents of everything a program can see.
struct Memory {
  std::vector<std::vector<uint32_t>> arrays;
  std::vector<std::vector<uint32_t>> tables;  // bits of floats: a NaN equals itself
  friend bool operator==(const Memory&, const Memory&) = default;
};

Program random_program(std::mt19937_64& random);
Memory random_memory(std::mt19937_64& random);
std::string to_string(const Program& program);
// The arrays after the program, computed by the host. Tables are left alone.
std::vector<std::vector<uint32_t>> interpret(const Program& program, const Memory& memory);

// A device with buffers for programs.
class Machine {
 public:
  Machine(MTL::Device* metal, const RuntimeOptions& options);

  void load(const Memory& memory);
  Memory store() const;
  const Device& device() const { return device_; }

  enum class Form { kDeclared, kReflected };  // who says what a dispatch reads and writes
  Status encode(ComputeEncoder& encoder, const Step& step, Form form);
  // Does what the step's interruption says; the program's memory and order are not concerned.
  Status interrupt(CommandEncoder& encoder, const Step& step);

 private:
  Status encode_array_step(ComputeEncoder& encoder, const Step& step, Form form);
  Buffer view(const View& view) const;

  Device device_;
  std::vector<Buffer> arrays_, tables_;
  Buffer weight_, elsewhere_;
};

}  // namespace mlxn::test
