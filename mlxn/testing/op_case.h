// The case tables of ops: one table for each op, from which come its test on every executor, its
// benchmark and its row in docs/ops.md.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "mlxn/core/encode/encoder.h"

namespace mlxn::cases {

using Random = std::mt19937_64;
using Fill = std::function<void(Random&, std::span<double>)>;

Fill uniform(double low, double high);
Fill integers(uint64_t low, uint64_t high);  // both included
Fill exactly(std::vector<double> values);    // repeated as often as needed
// `count` times `large`, then `small`: what a sum with few bits no longer takes in once it has seen
// a large one.
Fill large_then_small(uint64_t count, double large, double small);

enum class Role {
  kIn,     // must be the same afterwards
  kOut,    // full of NaN before
  kInOut,  // filled, and compared with the reference
};

// What an op accepts of a tensor beyond the case itself, so that broken_calls leaves it out.
struct Accepts {
  std::vector<size_t> sizes = {};  // dimensions that may be larger or smaller: rows of a table
  bool dtype = false;              // bytes are bytes
  bool overlap = false;            // of outputs with this one
  bool all = false;                // the case does not hand it over
};

// An argument of an op. Block formats are quantised from what `fill` gives.
struct Tensor {
  Dtype dtype;
  Shape shape;
  Role role = Role::kIn;
  Fill fill = uniform(-2, 2);
  Accepts accepts = {};
};

// What a case runs with: a buffer for each of its tensors, in their order.
struct Call {
  ComputeEncoder& encoder;
  std::span<const Buffer> buffers;
  const Buffer& operator[](size_t i) const { return buffers[i]; }
};

// The values that the tensors hold, as exact doubles; outputs are zeros to be filled in.
using Values = std::vector<std::vector<double>>;

// How far a result may be from the reference. `nmse` bounds sum(error^2) / sum(expected^2) of a
// tensor; every element obeys |error| <= relative * |expected| + absolute. All zero: the result is
// the reference rounded once to the dtype, bit for bit.
struct Tolerance {
  double nmse = 0, relative = 0, absolute = 0;
  bool exact() const { return nmse == 0 && relative == 0 && absolute == 0; }
};

enum class Use { kTest, kBench };

struct OpCase {
  std::string variant;  // "f32", "q4_0": a column of docs/ops.md
  std::string shape;    // "512x4096": what else tells cases apart
  std::vector<Tensor> tensors;
  std::function<Status(const Call&)> encode;
  std::function<void(Values&)> reference;
  Tolerance tolerance = {};
  uint64_t flops = 0;
  uint64_t bytes = 0;  // moved; 0: all tensors once, those in place twice
  Use use = Use::kTest;
  std::string ledger = {};  // entries of the original's defect lists that the case is about: "D15"

  std::string name() const { return variant + " " + shape; }
  uint64_t bytes_moved() const;
};

// A call that must be refused, with zero-filled buffers. For what broken_calls does not make of the
// cases: parameters, and texts of errors.
struct WrongCall {
  std::string what;  // "weight of another length"
  std::vector<std::pair<Dtype, Shape>> arguments;
  std::function<Status(const Call&)> call;
  ErrorCode code;
  std::string message;      // a part of the error's text, with the actual and the expected value
  std::string ledger = {};  // as in OpCase
};

// All about an op.
struct OpCases {
  std::string op;       // "rms_norm"
  std::string header;   // "mlxn/ops/norm/rms_norm.h"
  std::string formula;  // "y = x / rms(x) * w"
  std::vector<OpCase> cases;
  std::vector<WrongCall> wrong_calls;
};

// Every table below mlxn/ops. The build makes this list from the files *_cases.cpp, each of which
// defines std::vector<OpCases> <stem>_cases().
std::vector<OpCases> all_op_cases();

// What ops on floats are for.
inline constexpr Dtype kFloats[] = {Dtype::kF32, Dtype::kF16, Dtype::kBf16};

// A tensor's rounding: one unit in the last place of a float type, relative.
double precision(Dtype dtype);
// "f32": the dtype's name as a string of its own.
std::string text(Dtype dtype);

}  // namespace mlxn::cases
