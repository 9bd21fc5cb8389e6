// Ops that work on the rows of a tensor, one threadgroup for each.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// A tensor as rows of its last dimension.
struct Rows {
  uint32_t count, dim;
};
// kOutOfRange when a number does not fit into 32 bits, kInvalidArgument for an empty buffer.
Result<Rows> rows_of(std::string_view op, std::string_view name, const Buffer& buffer);

// Fills in the grid, the threads (a power of two, at most 256, on a processor 32), a float of
// threadgroup memory for each thread at index 0, and that the accesses are declared; then
// dispatches.
Status dispatch_rows(ComputeEncoder& encoder, const Rows& rows, Dispatch dispatch);

}  // namespace mlxn
