// Loops that read rows from end to end prefetch what they will read 8 KiB further on.
// RUN-DENSE: --emit ir --cpu x86-64-v4 -e dense
// RUN-SPARSE: --emit ir --cpu x86-64-v4 -e sparse
// RUN-WORK: --emit ir --cpu x86-64-v4 -e much_work
#include <metal_stdlib>
using namespace metal;

// 16 threads read 16 rows of 16 numbers in a round: 1024 bytes, 16 lines.
// DENSE: getelementptr i8, ptr %{{.*}}, i64 8192
// DENSE-COUNT-16: call void @llvm.prefetch.p0(ptr %{{.*}}, i32 0, i32 3, i32 1)
// DENSE-NOT: call void @llvm.prefetch
// DENSE: ret void
kernel void dense(device const int* x, device int* out, constant uint& n,
                  uint group [[threadgroup_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
  device const int* own = x + ulong(group) * n * 256 + t;
  int sum = 0;
  for (uint i = 0; i < n; ++i) {
#pragma unroll
    for (uint k = 0; k < 16; ++k) sum = sum * 3 + own[16 * k];
    own += 256;
  }
  out[group * 16 + t] = sum;
}

// Of each 1024 bytes it reads 256.
// SPARSE-NOT: @llvm.prefetch
// SPARSE: ret void
kernel void sparse(device const int* x, device int* out, constant uint& n,
                   uint group [[threadgroup_position_in_grid]],
                   uint t [[thread_index_in_threadgroup]]) {
  device const int* own = x + ulong(group) * n * 256 + t;
  int sum = 0;
  for (uint i = 0; i < n; ++i) {
#pragma unroll
    for (uint k = 0; k < 4; ++k) sum = sum * 3 + own[64 * k];
    own += 256;
  }
  out[group * 16 + t] = sum;
}

// What is read is used 40 times each.
// WORK-NOT: @llvm.prefetch
// WORK: ret void
kernel void much_work(device const int* x, device int* out, constant uint& n,
                      uint group [[threadgroup_position_in_grid]],
                      uint t [[thread_index_in_threadgroup]]) {
  device const int* own = x + ulong(group) * n * 256 + t;
  int sum = 0;
  for (uint i = 0; i < n; ++i) {
#pragma unroll
    for (uint k = 0; k < 16; ++k) {
      const int value = own[16 * k];
#pragma unroll
      for (uint j = 0; j < 40; ++j) sum = (sum ^ value) * 3;
    }
    own += 256;
  }
  out[group * 16 + t] = sum;
}
