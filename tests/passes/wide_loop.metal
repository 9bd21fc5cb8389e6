// Kernels with loops that all threads run alike: 16 threads at a time, as vectors of 16.
// RUN-LOOP: --emit lowered --cpu x86-64-v4 -e sums
// RUN-ASM: --emit asm --cpu x86-64-v4 --features +avx512vnni -e sums
// RUN-MASK: --emit lowered --cpu x86-64-v4 -e guarded
// RUN-PLACE: --emit lowered --cpu x86-64-v4 -e places
// RUN-ALIKE: --emit lowered --cpu x86-64-v4 -e alike
// RUN-WHY: --explain --cpu x86-64-v4
#include <metal_stdlib>
using namespace metal;

// Sums are values of the loop, what is the same for all threads is loaded once.
// LOOP-LABEL: define internal void @__msl_entry_0.wide(
// LOOP: phi <16 x i32>
// LOOP-DAG: load i32, ptr
// LOOP-DAG: load <16 x i32>, ptr
// LOOP-NOT: masked
// LOOP: store <16 x i32>
// In machine code the broadcast is part of the product.
// ASM: vpdpbusd (%{{.*}}){1to16}, %zmm{{[0-9]+}}, %zmm
// WHY: sums: tier 0
// WHY-NEXT: why: no cross-lane operation: rows of 16 n threads run 16 at a time, as vectors
kernel void sums(device const uint* w, device const int* x, device int* out, constant uint& n,
                 uint i [[thread_position_in_grid]]) {
  int sum = 0;
  w += i;
  for (uint k = 0; k < n; ++k) {
    sum = __msl_dot4(*w, x[k], sum);
    w += 4096;
  }
  out[i] = sum;
}

// What some threads leave out is done under a mask, and not at all if all do.
// MASK-LABEL: define internal void @__msl_entry_0.wide(
// MASK: bitcast <16 x i1> %{{.+}} to i16
// MASK: br i1
// MASK: call <16 x float> @llvm.masked.load.v16f32.p0
// MASK: select <16 x i1>
// MASK: call void @llvm.masked.store.v16f32.p0
// WHY: guarded: tier 0
// WHY-NEXT: 16 at a time
kernel void guarded(device const float* x, device float* out, constant uint& n,
                    uint i [[thread_position_in_grid]]) {
  if (i >= n) return;
  float sum = 0;
  device const float* at = x + i;
  for (uint k = 0; k < n; ++k) {
    const float value = *at;
    if (value > 0) sum += value;
    at += n;
  }
  out[i] = sum;
}

// The outer branch stays one, though a branch in it does not: its number is in no vector.
// ALIKE-LABEL: define internal void @__msl_entry_0.wide(
// ALIKE: %[[#STATE:]] = phi i32 [ 5,
// ALIKE: %[[#BIT:]] = and i32 %[[#STATE]], 1
// ALIKE: %[[#EVEN:]] = icmp eq i32 %[[#BIT]], 0
// ALIKE: br i1 %[[#EVEN]]
// ALIKE: bitcast <16 x i1>
kernel void alike(device uint* out, constant uint& n, uint i [[thread_position_in_grid]]) {
  uint state = 5, a = i, b = i * 3, c = 0, k = 0;
  do {
    if (state & 1) {
      state = n + k;
      if (i > 9) {
        a = i / 3;
      } else {
        b += 2;
        c = 7 * i;
      }
    }
  } while (++k < n);
  out[i] = a + b + c + state;
}

// Positions begin at multiples of 16: their upper bits are the same for all threads.
// PLACE-LABEL: define internal void @__msl_entry_0.wide(
// PLACE-NOT: gather
// PLACE: ret void
kernel void places(device const float* x, device float* out, constant uint& n,
                   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  device const float* own = x + (t & 15);
  device const float* shared = x + n * (i / 16);
  float sum = 0;
  for (uint k = 0; k < n; ++k) {
    sum = fma(*own, shared[k], sum);
    own += 16;
  }
  out[i] = sum;
}

// WHY: leaves: tier 0
// WHY-NEXT: not 16 at a time: threads leave a loop at different times at wide_loop.metal:[[#@LINE+5]]
// WHY: loops that LLVM's vectoriser leaves as they are: 1
// WHY-NEXT: wide_loop.metal:[[#@LINE+3]] value that could not be identified as reduction
kernel void leaves(device float* out, uint i [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < i; ++k) sum = sum * 0.5f + out[k + 1000];
  out[i] = sum;
}

// WHY: scattered: tier 0
// WHY-NEXT: not 16 at a time: threads of a loop use memory that is not side by side
kernel void scattered(device const float* x, device float* out, constant uint& n,
                      uint i [[thread_position_in_grid]]) {
  for (uint k = 0; k < n; ++k) out[i * n + k] = x[i * n + k] * 2;
}

// WHY: plain: tier 0
// WHY-NEXT: not 16 at a time: no loop: LLVM's vectoriser does as well
// WHY: loops that LLVM's vectoriser leaves as they are: 0
kernel void plain(device float* out, uint i [[thread_position_in_grid]]) {
  out[i] *= 2;
}
