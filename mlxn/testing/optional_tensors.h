// For cases whose tensors may be missing, but for the order of those that are there.
#pragma once

#include <cstddef>

namespace mlxn::cases {

// How many of the tensors before `tensor` are there: its place among them.
template <class Has>
size_t place_among(int tensor, Has&& has) {
  size_t place = 0;
  for (int i = 0; i < tensor; ++i) place += has(i) ? 1 : 0;
  return place;
}

}  // namespace mlxn::cases
