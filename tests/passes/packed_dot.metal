// Dot products of packed numbers become the target's instruction, for one thread and in loops over
// threads or lanes.
// RUN-VNNI: --emit ir --cpu x86-64-v4 --features +avx512vnni,+avx512bf16 -e loop -e lanes -e floats
// RUN-YMM: --emit ir --cpu x86-64-v3 --features +avxvnni -e loop
// RUN-WORDS: --emit ir --cpu x86-64-v4 -e loop
// RUN-SSE: --emit ir --cpu x86-64 -e loop
// RUN-PTX: --emit ptx --target ptx -e loop -e floats
#include <metal_stdlib>
using namespace metal;

// VNNI-LABEL: define void @k.{{.*}}0(
// VNNI: <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
// YMM: <8 x i32> @llvm.x86.avx512.vpdpbusd.256(
// Never vpmaddubsw, whose sums saturate.
// WORDS-NOT: pmaddubs
// WORDS: @llvm.x86.avx512.pmaddw.d.512(<32 x i16>
// SSE-NOT: pmadd.ub
// SSE: @llvm.x86.sse2.pmadd.wd(<8 x i16>
// PTX: dp4a.u32.s32
kernel void loop(device const uint* a, device const int* b, device int* out,
                 uint i [[thread_position_in_grid]]) {
  out[i] = __msl_dot4(a[i], b[i], out[i]);
}

// VNNI-LABEL: define void @k.{{.*}}1(
// VNNI: <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
kernel void lanes(device const uint* a, device const int* b, device int* out,
                  uint i [[thread_position_in_grid]]) {
  out[i] = simd_sum(__msl_dot4(a[i], b[i], 0));
}

// VNNI-LABEL: define void @k.{{.*}}2(
// VNNI: <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(
// PTX: fma.rn.f32
kernel void floats(device const uint* a, device const uint* b, device float* out,
                   uint i [[thread_position_in_grid]]) {
  out[i] = __msl_dot2(a[i], b[i], out[i]);
}
