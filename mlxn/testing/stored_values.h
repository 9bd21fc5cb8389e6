// Values as tensors store them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"

namespace mlxn::cases {

// The nearest stored form of each value (ties to even; integers as they are), block formats by
// their quantiser. kUnsupported for a dtype that has none.
Status store(Dtype dtype, std::span<const double> values, std::span<std::byte> bytes);
// What stored bytes mean, exactly. `values` holds a number for each element.
Status load(Dtype dtype, std::span<const std::byte> bytes, std::span<double> values);
// A value after it was stored in a float type and read again.
double rounded(Dtype dtype, double value);

}  // namespace mlxn::cases
