// Vectors that go to the stack lie there aligned, whatever the stack is when the kernel is called.
// RUN-V4: --emit asm --cpu x86-64-v4 -e many_sums
// RUN-V3: --emit asm --cpu x86-64-v3 -e many_sums
// RUN-SCALAR: --emit asm --cpu x86-64-v4 -e one_number
#include <metal_stdlib>
using namespace metal;

// V4: andq $-64, %rsp
// V4: vmovaps %zmm{{[0-9]+}}, {{.*}}(%rsp)
// V3: andq $-32, %rsp
// V3: vmovaps %ymm{{[0-9]+}}, {{.*}}(%rsp)
kernel void many_sums(device const float* x, device float* out, constant uint& n,
                      uint t [[thread_index_in_simdgroup]]) {
  float sums[24];
  for (uint m = 0; m < 24; ++m) sums[m] = 0;
  for (uint i = 0; i < n; ++i) {
    const float value = x[32 * i + t];
#pragma unroll
    for (uint m = 0; m < 24; ++m) sums[m] = fma(value, x[n + 24 * i + m], sums[m]);
  }
  for (uint m = 0; m < 24; ++m) out[m] = simd_sum(sums[m]);
}

// What has no vectors leaves the stack as it is.
// SCALAR-NOT: andq $-{{[0-9]+}}, %rsp
// SCALAR: retq
kernel void one_number(device int* out) {
  out[0] = 1;
}
