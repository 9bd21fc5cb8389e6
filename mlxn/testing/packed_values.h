// References of what is packed or rounded for products on CPUs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mlxn/ops/matmul/packed_matmul.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {

// A tensor of packed weights [rows, depth], with values as they are stored in the format.
Tensor packed_weights(Dtype format, uint64_t rows, uint64_t depth, Fill fill = uniform(-1, 1));
// What its words mean.
std::vector<double> unpacked(Dtype format, uint64_t rows, uint64_t depth,
                             std::span<const double> words);
// The op's argument around that tensor's buffer.
PackedWeights packed_argument(const Buffer& words, Dtype format, uint64_t rows, uint64_t depth);

// The words of quantise_rows for floats [rows, depth].
std::vector<double> rounded_words(std::span<const double> values, uint64_t rows, uint64_t depth);
// A tensor of such words.
Tensor rounded_rows(uint64_t rows, uint64_t depth, Fill fill = uniform(-2, 2));
// The rounded values, [rows, depth].
std::vector<double> rounded_values(std::span<const double> words, uint64_t rows, uint64_t depth);

}  // namespace mlxn::cases
