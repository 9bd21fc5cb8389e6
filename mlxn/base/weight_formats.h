// What weights may be: the one list, for host and kernels. Calls
//   entry(name, type, dtype, elements, bytes)
// for each format: its name everywhere, how kernels and mlxn/quant store it, the enumerator of
// Dtype without its k, and the elements and bytes of a block. Entries bring their own separators.
#pragma once

// clang-format off
#define MLXN_EACH_FLOAT_FORMAT(entry) \
  entry(f32, float, F32, 1, 4)        \
  entry(f16, half, F16, 1, 2)         \
  entry(bf16, bfloat, Bf16, 1, 2)

#define MLXN_EACH_BLOCK_FORMAT(entry)                       \
  entry(q4_0, mlxn::quant::BlockQ4_0, Q4_0, 32, 18)         \
  entry(q4_1, mlxn::quant::BlockQ4_1, Q4_1, 32, 20)         \
  entry(q5_0, mlxn::quant::BlockQ5_0, Q5_0, 32, 22)         \
  entry(q5_1, mlxn::quant::BlockQ5_1, Q5_1, 32, 24)         \
  entry(q8_0, mlxn::quant::BlockQ8_0, Q8_0, 32, 34)         \
  entry(q2_k, mlxn::quant::BlockQ2_K, Q2_K, 256, 84)        \
  entry(q3_k, mlxn::quant::BlockQ3_K, Q3_K, 256, 110)       \
  entry(q4_k, mlxn::quant::BlockQ4_K, Q4_K, 256, 144)       \
  entry(q5_k, mlxn::quant::BlockQ5_K, Q5_K, 256, 176)       \
  entry(q6_k, mlxn::quant::BlockQ6_K, Q6_K, 256, 210)       \
  entry(iq4_nl, mlxn::quant::BlockIq4_Nl, Iq4_Nl, 32, 18)   \
  entry(iq4_xs, mlxn::quant::BlockIq4_Xs, Iq4_Xs, 256, 136) \
  entry(mxfp4, mlxn::quant::BlockMxfp4, Mxfp4, 32, 17)
// clang-format on

#define MLXN_EACH_WEIGHT_FORMAT(entry) \
  MLXN_EACH_FLOAT_FORMAT(entry)        \
  MLXN_EACH_BLOCK_FORMAT(entry)
