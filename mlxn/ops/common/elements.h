// Ops that work on each element alone, and checks of arguments that may be missing.
#pragma once

#include <cstdint>
#include <string_view>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Fills in a grid of one thread for each element and that the accesses are declared; then
// dispatches.
Status dispatch_elements(ComputeEncoder& encoder, uint32_t count, Dispatch dispatch);

// The same with threadgroups that each take `run` elements for every thread, side by side: for
// kernels with something to do before the elements.
struct Runs {
  uint32_t count, run;
  uint32_t rows = 1;  // of as many elements, along y
};
Status dispatch_runs(ComputeEncoder& encoder, const Runs& runs, Dispatch dispatch);
// Few elements on a GPU want many threads; a processor has enough to do in any case.
uint32_t run_of(const ComputeEncoder& encoder, uint64_t elements);

// An argument of an op. nullptr: one that the caller left out.
struct NamedBuffer {
  std::string_view name;
  const Buffer* buffer;
};

// check_overlap and check_apart with each of the inputs that are there.
Status check_overlaps(std::string_view op, const Buffer& output, ArrayRef<NamedBuffer> inputs);
Status check_aparts(std::string_view op, const Buffer& output, ArrayRef<NamedBuffer> inputs);

// Each that is there has this dtype and so many elements.
Status check_arguments(std::string_view op, ArrayRef<NamedBuffer> arguments, Dtype dtype,
                       uint64_t elements);

// What is bound to a slot: the argument, or `other` where it is missing.
inline const Buffer& present_or(const Buffer* argument, const Buffer& other) {
  return argument != nullptr ? *argument : other;
}

// kInvalidArgument unless the number is finite and at least `least`.
struct ExpectedNumber {
  std::string_view op, name;
  double least;
};
Status check_number(double value, const ExpectedNumber& expected);

}  // namespace mlxn
