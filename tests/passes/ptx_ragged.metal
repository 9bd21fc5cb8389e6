// On NVIDIA GPUs blocks are whole. A thread outside of the grid ends before it does anything.
// RUN-PTX: --emit ptx --target ptx --cpu sm_90
#include <metal_stdlib>
using namespace metal;

// PTX: .visible .entry
// PTX-COUNT-3: setp.lt.u32
// PTX: bra
// PTX: st.global
kernel void ragged(device float* out [[buffer(0)]], uint3 p [[thread_position_in_grid]],
                   uint3 grid [[threads_per_grid]]) {
  out[(p.z * grid.y + p.y) * grid.x + p.x] = 1;
}
