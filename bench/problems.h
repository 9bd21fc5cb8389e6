// What is measured: inputs, sizes and the plain loop, one description for all implementations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/huge_pages.h"

namespace mlxn::bench {

struct Params {
  uint32_t rows = 0, columns = 0;
  float epsilon = 0;
};

struct Problem {
  std::string name;    // shown
  std::string kernel;  // in kernels.metal and kernels.cl
  Params params;
  std::vector<Bytes> inputs;      // bound at 0 and 1; output at 2; params at 3
  size_t outputs = 0;             // floats
  size_t threads = 0, group = 0;  // of the kernel's grid
  double bytes = 0;               // read and written once
  // The plain C++ loop over items [begin, end) of all.
  size_t items = 0;
  std::function<void(const Problem&, float* out, size_t begin, size_t end)> plain;

  const float* floats(size_t input) const {
    return reinterpret_cast<const float*>(inputs[input].data());
  }
};

std::vector<Problem> make_problems();

// plain_loops.cpp, compiled with -O3 -march=native.
void plain_elementwise(const Problem& problem, float* out, size_t begin, size_t end);
void plain_rms_norm(const Problem& problem, float* out, size_t begin, size_t end);
void plain_matvec_q4_0(const Problem& problem, float* out, size_t begin, size_t end);

}  // namespace mlxn::bench
