// Loops with conversions between half and float become vectors as wide as the target has them, in
// loops over threads and over lanes; LLVM alone makes vectors of four.
// RUN-ZMM: --emit ir --cpu x86-64-v4 -e to_float -e to_half -e lanes
// RUN-YMM: --emit ir --cpu x86-64-v3 -e to_float -e to_half
// RUN-SSE: --emit ir --cpu x86-64 -e to_float
#include <metal_stdlib>
using namespace metal;

// ZMM-NOT: @__msl_{{half|float}}_to
// ZMM-LABEL: define void @k.{{.*}}0(
// ZMM: fpext <{{16|32}} x half>
// YMM-NOT: @__msl_{{half|float}}_to
// YMM-LABEL: define void @k.{{.*}}0(
// YMM: fpext <{{8|16}} x half>
// SSE-NOT: @__msl_{{half|float}}_to
// SSE: fpext
kernel void to_float(device const half* in, device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = fma(static_cast<float>(in[i]), 3.0f, 1.0f);
}

// ZMM-LABEL: define void @k.{{.*}}1(
// ZMM: fptrunc <{{16|32}} x float>
// YMM-LABEL: define void @k.{{.*}}1(
// YMM: fptrunc <{{8|16}} x float>
kernel void to_half(device const float* in, device half* out, uint i [[thread_position_in_grid]]) {
  out[i] = static_cast<half>(fma(in[i], 3.0f, 1.0f));
}

// ZMM-LABEL: define void @k.{{.*}}2(
// ZMM: fpext <{{16|32}} x half>
// ZMM-NOT: @__msl_{{half|float}}_to
kernel void lanes(device const half* in, device float* out, uint i [[thread_position_in_grid]]) {
  out[i] = simd_sum(static_cast<float>(in[i]) * 3.0f);
}
