// triple_norm_{f32,f16,bf16}: outputs[j] = x / rms(x) * weights[j] for three j, row by row, where x
// is the input or sum = hidden + input / rms(input) * hidden_weight.
// Buffers: 0 input, 1 hidden, 2 hidden weight, 3 to 5 weights, 6 sum, 7 to 9 outputs,
// 10 TripleNormArgs. Grid: one threadgroup for each row. Threadgroup memory 0: a float for each
// thread. Outputs may be input or hidden. Weights of f16 are f32. Computed in float, rounded once
// for each output.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/norm/norm_arithmetic.h"
#include "mlxn/ops/norm/triple_norm_args.h"

template <typename T, typename W>
struct AddNormed {
  device const T* x;
  device const T* hidden;
  device const W* weight;
  device T* total;
  float inverse;
  void operator()(ulong i) {
    const float normed = static_cast<float>(x[i]) * inverse;
    total[i] =
        static_cast<T>(static_cast<float>(hidden[i]) + normed * static_cast<float>(weight[i]));
  }
};

template <typename T, typename W>
struct StoreNormed {
  device const T* x;
  device const W* a;
  device const W* b;
  device const W* c;
  device T* output_a;
  device T* output_b;
  device T* output_c;
  float inverse;
  void operator()(ulong i) {
    const float normed = static_cast<float>(x[i]) * inverse;
    const float by_a = static_cast<float>(a[i]), by_b = static_cast<float>(b[i]),
                by_c = static_cast<float>(c[i]);
    output_a[i] = static_cast<T>(normed * by_a);
    output_b[i] = static_cast<T>(normed * by_b);
    output_c[i] = static_cast<T>(normed * by_c);
  }
};

template <typename T, typename W>
[[kernel]] void triple_norm(device const T* input [[buffer(0)]],
                            device const T* hidden [[buffer(1)]],
                            device const W* hidden_weight [[buffer(2)]],
                            device const W* a [[buffer(3)]], device const W* b [[buffer(4)]],
                            device const W* c [[buffer(5)]], device T* total [[buffer(6)]],
                            device T* output_a [[buffer(7)]], device T* output_b [[buffer(8)]],
                            device T* output_c [[buffer(9)]],
                            constant TripleNormArgs& args [[buffer(10)]], MLXN_ROW_ARGUMENTS) {
  constexpr mlxn::NormKind kRms = mlxn::NormKind::kRms;
  const Place place = MLXN_ROW_PLACE;
  const uint dim = args.dim;
  const ulong begin = static_cast<ulong>(group) * dim;
  device const T* x = input + begin;
  if (args.has_hidden) {
    const Moments own =
        moments_of(Elements<T>{x}, dim, first, step, kRms, args.eps, scratch, place);
    device T* added = total + begin;
    AddNormed<T, W> add = {x, hidden + begin, hidden_weight, added, own.inverse};
    for_each(dim, first, step, add);
    x = added;  // of which every thread reads what it wrote
  }
  const Moments moments =
      moments_of(Elements<T>{x}, dim, first, step, kRms, args.eps, scratch, place);
  StoreNormed<T, W> store = {
      x, a, b, c, output_a + begin, output_b + begin, output_c + begin, moments.inverse};
  for_each(dim, first, step, store);
}

MLXN_KERNEL("triple_norm_f32", triple_norm, float, float);
MLXN_KERNEL("triple_norm_f16", triple_norm, half, float);
MLXN_KERNEL("triple_norm_bf16", triple_norm, bfloat, bfloat);
