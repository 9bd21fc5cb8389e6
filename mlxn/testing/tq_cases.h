// What cases of the tq ops share: the codec, in doubles.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mlxn/ops/turboquant/codebooks.h"
#include "mlxn/ops/turboquant/signs.h"

namespace mlxn::cases {

// All values of a codebook, in rising order.
inline std::vector<double> tq_book(uint32_t bits) {
  const float* positive = bits == 4   ? kTurboQuant4
                          : bits == 5 ? kTurboQuant5
                          : bits == 6 ? kTurboQuant6
                                      : kTurboQuant8;
  std::vector<double> out;
  for (int i = (1 << (bits - 1)) - 1; i >= 0; --i) out.push_back(-double(positive[i]));
  for (int i = 0; i < 1 << (bits - 1); ++i) out.push_back(double(positive[i]));
  return out;
}

// H (sigma x) by the elements of the matrix; signs from 256 elements on.
inline std::vector<double> tq_rotated(const std::vector<double>& x) {
  std::vector<double> out(x.size());
  for (uint64_t i = 0; i < x.size(); ++i) {
    for (uint64_t j = 0; j < x.size(); ++j) {
      const bool flip = x.size() >= 256 && (kTurboQuantSigns[j / 8] >> (j % 8) & 1);
      out[i] += (std::popcount(i & j) % 2 != int(flip)) ? -x[j] : x[j];
    }
    out[i] /= std::sqrt(double(x.size()));
  }
  return out;
}

// A value of a row of codes in bytes.
inline double tq_value(const std::vector<double>& codes, const std::vector<double>& norms,
                       uint64_t row, uint64_t element, uint64_t dim, uint32_t bits,
                       double scale_factor) {
  static const std::vector<double> books[] = {tq_book(4), tq_book(5), tq_book(6), tq_book(8)};
  uint64_t code = 0;
  if (bits == 4) {
    const auto byte = static_cast<uint64_t>(codes[row * dim / 2 + element / 2]);
    code = element % 2 ? byte >> 4 : byte & 15;
  } else {
    code = static_cast<uint64_t>(codes[row * dim + element]) & ((1u << bits) - 1);
  }
  const double value = books[bits == 8 ? 3 : bits - 4][code];
  if (dim == 512) return value * norms[row * 2 + element / 256] / scale_factor;
  return value * norms[row] / std::sqrt(double(dim));
}

}  // namespace mlxn::cases
