// MSL: products of rows with slabs of weights, each row with a slab of its own choice.
//
// A threadgroup takes rows that follow each other and makes four columns of them, a simdgroup each.
// Rows with the same slab are taken together. Chunk by chunk the rows are brought into threadgroup
// memory as floats, whatever they are stored as, and each simdgroup unpacks its weights. The order
// of a sum is that of column_product.h: its bits depend neither on other rows nor on how many rows
// are taken at once.
#pragma once

#include "mlxn/ops/common/float_access.h"
#include "mlxn/ops/matmul/slab_matmul_args.h"

constant constexpr uint kLanes = kSlabLanes, kStep = 2 * kLanes, kChunk = 512;

struct SlabBuffers {
  device const uchar* input;
  device const uchar* up;    // where inputs are gated
  device const uint* ids;    // of each row: its slab
  device const uint* order;  // rows in the order in which they are taken
  device const uchar* bias;
  device uchar* output;

  uint row(constant SlabMatmulArgs& args, uint i) const { return args.ordered != 0 ? order[i] : i; }
  uint slab(constant SlabMatmulArgs& args, uint row) const {
    return args.rows_of_slab != 0 ? row / args.rows_of_slab : ids[row];
  }
};

// The arguments of all kernels, behind those with the weights.
#define MLXN_SLAB_ARGUMENTS                                                                      \
  device const uchar *input [[buffer(0)]], device const uchar *up [[buffer(1)]],                 \
      device const uint *ids [[buffer(2)]], device const uint *order [[buffer(3)]],              \
      device const uchar *bias [[buffer(4)]], device uchar *output [[buffer(5)]],                \
      constant SlabMatmulArgs &args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]], \
      uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]

// Rows of the input that are taken together. Past the last one it is taken again.
template <uint M>
struct SlabRows {
  ulong at[M];  // element 0 of head 0

  SlabRows(thread const SlabBuffers& buffers, constant SlabMatmulArgs& args, uint begin, uint end) {
    for (uint m = 0; m < M; ++m) {
      const uint source = buffers.row(args, min(begin + m, end - 1)) / args.share;
      const uint batch = source / args.batch_rows, row = source % args.batch_rows;
      at[m] = static_cast<ulong>(batch) * args.batch_rows * args.depth +
              static_cast<ulong>(row) * args.head_dim;
    }
  }
};

inline float gated(float gate, float up) {
  return gate / (1.0f + exp(-gate)) * up;
}

// Brings `length` elements from `begin` on into the rows of `values`, zeros up to a whole step. A
// group of 32 by each simdgroup at a time.
template <typename T, uint M, uint Chunk>
inline void stage_as(device const T* input, device const T* up, thread const SlabRows<M>& rows,
                     constant SlabMatmulArgs& args, uint begin, threadgroup float* values,
                     uint lane, uint simdgroup) {
  const uint length = min(Chunk, args.depth - begin);
  for (uint g = simdgroup * kLanes; g < (length + kStep - 1) / kStep * kStep;
       g += kSlabColumns * kLanes) {
    const uint k = begin + g;
    const ulong from =
        static_cast<ulong>(k / args.head_dim) * args.batch_rows * args.head_dim + k % args.head_dim;
    const bool inside = g + lane < length;
#pragma unroll
    for (uint m = 0; m < M; ++m) {
      float value = 0;
      if (inside) value = static_cast<float>((input + rows.at[m] + from)[lane]);
      (values + m * Chunk + g)[lane] = value;
    }
    if (args.gated == 0) continue;
    simdgroup_barrier(mem_flags::mem_none);
    for (uint m = 0; m < M; ++m) {
      threadgroup float* own = values + m * Chunk + g;
      if (inside) own[lane] = gated(own[lane], static_cast<float>((up + rows.at[m] + from)[lane]));
    }
  }
}

template <uint M, uint Chunk>
inline void stage(thread const SlabBuffers& buffers, thread const SlabRows<M>& rows,
                  constant SlabMatmulArgs& args, uint begin, threadgroup float* values, uint lane,
                  uint simdgroup) {
  if (args.input_type == 0) {
    stage_as<float, M, Chunk>(reinterpret_cast<device const float*>(buffers.input),
                              reinterpret_cast<device const float*>(buffers.up), rows, args, begin,
                              values, lane, simdgroup);
  } else if (args.input_type == 1) {
    stage_as<half, M, Chunk>(reinterpret_cast<device const half*>(buffers.input),
                             reinterpret_cast<device const half*>(buffers.up), rows, args, begin,
                             values, lane, simdgroup);
  } else {
    stage_as<bfloat, M, Chunk>(reinterpret_cast<device const bfloat*>(buffers.input),
                               reinterpret_cast<device const bfloat*>(buffers.up), rows, args,
                               begin, values, lane, simdgroup);
  }
}

// Unpacks up to kChunk weights of a row from `begin` on, 32 by each thread; zeros up to a whole
// step.
template <typename Weights>
inline void unpack_in_groups(thread const Weights& weights, uint begin, uint depth,
                             threadgroup float* chunk, uint lane) {
  const uint length = min(kChunk, depth - begin);
  if (32 * lane < length) {
    weights.unpack(begin / 32 + lane, depth, chunk + 32 * lane);
  } else if (32 * lane < (length + kStep - 1) / kStep * kStep) {
    for (uint j = 0; j < 32; ++j) chunk[32 * lane + j] = 0;
  }
}

template <uint M>
struct SlabSums {
  Accumulator even[M], odd[M];

  SlabSums() {
    for (uint m = 0; m < M; ++m) even[m] = odd[m] = 0.0f;
  }
  template <uint N>
  void add(threadgroup const float* weights, threadgroup const float* rows) {
#pragma unroll
    for (uint i = 0; i < N * kStep; i += kStep) {
#pragma unroll
      for (uint m = 0; m < M; ++m) {
        even[m] = fma(weights[i], rows[m * kChunk + i], even[m]);
        odd[m] = fma(weights[i + kLanes], rows[m * kChunk + i + kLanes], odd[m]);
      }
    }
  }
};

// Rounds a result once and stores it.
inline void store_product(thread const SlabBuffers& buffers, constant SlabMatmulArgs& args,
                          float sum, uint row, uint slab, uint column) {
  float result = 0;
  if (slab < args.slabs) {
    float bias = -0.0f;
    if (args.has_bias != 0) {
      bias = load_float(buffers.bias, static_cast<ulong>(slab) * args.bias_stride + column,
                        args.bias_type);
    }
    result = fma(args.alpha, sum, bias);
  }
  store_float(buffers.output, static_cast<ulong>(row) * args.columns + column, args.output_type,
              result);
}

// tensor.row(i, args) is row i of all slabs' weights; its unpack_chunk puts up to kChunk of them
// into threadgroup memory, zeros up to a whole step.
template <uint M, typename Tensor>
inline void slab_product(thread const SlabBuffers& buffers, thread const Tensor& tensor,
                         constant SlabMatmulArgs& args, threadgroup float* values,
                         threadgroup float* chunks, uint2 group, uint lane, uint simdgroup) {
  const uint first = group.y * M, last = min(first + M, args.rows);
  const uint column = group.x * kSlabColumns + simdgroup;
  threadgroup float* chunk = chunks + simdgroup * kChunk;
  for (uint begin = first; begin < last;) {
    const uint slab = buffers.slab(args, buffers.row(args, begin));
    uint end = begin + 1;
    while (end < last && buffers.slab(args, buffers.row(args, end)) == slab) ++end;
    const SlabRows<M> rows(buffers, args, begin, end);
    const ulong weights_row = static_cast<ulong>(min(slab, args.slabs - 1)) * args.columns +
                              min(column, args.columns - 1);
    const auto weights = tensor.row(weights_row, args);
    SlabSums<M> sums;
    for (uint from = 0; from < args.depth && slab < args.slabs; from += kChunk) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      stage<M, kChunk>(buffers, rows, args, from, values, lane, simdgroup);
      weights.unpack_chunk(from, args.depth, chunk, lane);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (from + kChunk <= args.depth) {
        sums.template add<kChunk / kStep>(chunk + lane, values + lane);
        continue;
      }
      for (uint i = 0; from + i < args.depth; i += kStep) {
        sums.template add<1>(chunk + lane + i, values + lane + i);
      }
    }
    float result = 0;
    for (uint m = 0; m < M; ++m) {
      const float total =
          simd_sum(static_cast<float>(sums.even[m]) + static_cast<float>(sums.odd[m]));
      result = lane == m ? total : result;
    }
    if (lane < end - begin && column < args.columns) {
      store_product(buffers, args, result, buffers.row(args, begin + lane), slab, column);
    }
    begin = end;
  }
}
