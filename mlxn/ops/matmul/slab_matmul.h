// What products with slabs of weights share on the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/matmul/slab_matmul_args.h"

namespace mlxn {

// Rows of the output that choose their slab by ids.
struct SlabRouting {
  const Buffer& input;    // [tokens, depth], or [tokens, slots, depth]: a row for each slot
  const Buffer& ids;      // u32 [tokens, slots]
  const Buffer& output;   // [tokens, slots, columns]
  const Buffer* up;       // as the input
  const Buffer* scratch;  // u32 [tokens, slots]
};
// Checks all of it but what the weights say, columns and slabs, which the caller fills in before.
Status check_routing(std::string_view op, const SlabRouting& routing, SlabMatmulArgs& args);

// The tensors besides the weights; null where an op has none.
struct SlabTensors {
  const Buffer& input;
  const Buffer& output;
  const Buffer* up = nullptr;
  const Buffer* ids = nullptr;
  const Buffer* scratch = nullptr;  // for an order of rows by ids
  const Buffer* bias = nullptr;
};
// That the output shares no memory with anything, nor does the scratch.
Status check_slab_memory(std::string_view op, const SlabTensors& tensors,
                         const std::vector<const Buffer*>& weights);

// How weights are read: the stem of a kernel's name, what comes behind the number of rows in it,
// and what is bound from slot 7 on.
struct SlabWeights {
  std::string_view kernel, format;
  std::vector<const Buffer*> buffers;
  uint32_t columns_of_group = kSlabColumns;
};
// Orders the rows if that is of use, then multiplies.
Status dispatch_slab_matmul(ComputeEncoder& encoder, SlabMatmulArgs args,
                            const SlabTensors& tensors, const SlabWeights& weights);

}  // namespace mlxn
