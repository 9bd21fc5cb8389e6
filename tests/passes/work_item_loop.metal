// Kernels without cross-lane operations: a loop over threads that LLVM vectorises.
// RUN-LOOP: --emit lowered -e math
// RUN-MATH: --emit ir -e math
// RUN-WIDE: --emit ir --cpu x86-64-v4 -e math
// RUN-GUARD: --emit ir -e guarded
// RUN-CONVERT: --emit ir -e converts
// RUN-WHY: --explain -e math
#include <metal_stdlib>
using namespace metal;

// Accesses to shared memory do not depend on each other.
// LOOP: load float, ptr %{{.+}}, !llvm.access.group
// LOOP: "llvm.loop.parallel_accesses"
// Math functions are code of ours on vectors: no call is left but LLVM's own operations.
// MATH: load <8 x float>
// MATH: call <8 x float> @llvm.fma.v8f32
// MATH-NOT: {{call .* @[^l]}}
// WIDE: call <16 x float> @llvm.fma.v16f32
// WHY: math: tier 0 (work-item loop), threadgroups: any
kernel void math(device float* x, uint i [[thread_position_in_grid]]) {
  x[i] = exp(x[i]);
}

// The test for the end of the grid is the length of the loop: plain loads, no mask.
// GUARD: load <8 x float>, ptr
// GUARD-NOT: masked.load
// GUARD: store <8 x float>
// GUARD-NOT: masked.store
kernel void guarded(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n) x[i] = x[i] * 2;
}

// Saturating conversions stay vectors: LLVM 19 takes its own intrinsic apart.
// CONVERT: fptosi <8 x float> %{{.+}} to <8 x i32>
// CONVERT-NOT: llvm.fptosi.sat
kernel void converts(device const float* x, device int* out, uint i [[thread_position_in_grid]]) {
  out[i] = int(x[i]);
}
