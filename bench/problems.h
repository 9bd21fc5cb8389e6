// What is measured: inputs, sizes and the plain loop, one description for all implementations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/huge_pages.h"

namespace mlxn::bench {

struct Params {
  uint32_t rows = 0, columns = 0, width = 0;
  float epsilon = 0;
};

struct Extent {
  size_t x = 1, y = 1, z = 1;
};

struct Problem {
  std::string name;    // shown
  std::string kernel;  // in kernels.metal and kernels.cl
  Params params;
  std::vector<Bytes> inputs;  // bound at 0 and 1; output at 2; params at 3
  size_t outputs = 0;         // floats
  Extent groups, group;       // the kernel's grid: threadgroups, and threads of each
  double bytes = 0;           // read and written once
  double flops = 0;           // multiplications and additions; 0: no figure worth giving
  // The plain C++ loop over items [begin, end) of all.
  size_t items = 0;
  std::function<void(const Problem&, float* out, size_t begin, size_t end)> plain;

  Extent threads() const { return {groups.x * group.x, groups.y * group.y, groups.z * group.z}; }
  const float* floats(size_t input) const {
    return reinterpret_cast<const float*>(inputs[input].data());
  }
};

std::vector<Problem> make_problems();

// Rows that an item of a plain matrix product has.
inline constexpr uint32_t kPlainRows = 16;

// plain_loops.cpp, compiled with -O3 -march=native.
void plain_elementwise(const Problem& problem, float* out, size_t begin, size_t end);
void plain_rms_norm(const Problem& problem, float* out, size_t begin, size_t end);
void plain_softmax(const Problem& problem, float* out, size_t begin, size_t end);
void plain_matvec_q4_0(const Problem& problem, float* out, size_t begin, size_t end);
void plain_matmul_f32(const Problem& problem, float* out, size_t begin, size_t end);
void plain_matmul_q4_0(const Problem& problem, float* out, size_t begin, size_t end);

}  // namespace mlxn::bench
