// The contract between compiled kernels and the CPU executor. Plain C types only: the host compiles
// this file, and the MSL standard library includes it too, so both sides see one layout.
#pragma once

// Metal's limits for a compute function.
#define MSL_MAX_BUFFERS 31
#define MSL_MAX_THREADGROUP_BUFFERS 31
#define MSL_MAX_THREADS 1024
#define MSL_MAX_THREADGROUP_BYTES 32768
#define MSL_SIMD_WIDTH 32

// What is the same for all threadgroups of a dispatch.
struct MslDispatch {
  void* buffer[MSL_MAX_BUFFERS];  // address bound at each index, offset applied; null when unbound
  unsigned threads_per_grid[3];   // exact, also at ragged edges
  unsigned threadgroups_per_grid[3];
  unsigned threads_per_threadgroup[3];  // as dispatched; edge threadgroups may be smaller
};

// Cross-lane state of one simdgroup, used by the coroutine tier only. A thread that must wait
// writes its operation and operands into its column and suspends; the executor writes results over
// data.
struct MslSimdgroup {
  unsigned op[MSL_SIMD_WIDTH];    // an MSL_OP word, see below
  unsigned site[MSL_SIMD_WIDTH];  // call site; only lanes at the same site form one operation
  unsigned
      data[6][MSL_SIMD_WIDTH];  // operand and result words; 64-bit values take two rows, low first
};

// One threadgroup on one worker. Memory is zeroed by nobody: kernels must write before they read.
struct MslThreadgroup {
  unsigned position[3];   // threadgroup_position_in_grid
  unsigned size[3];       // threads present in this threadgroup
  unsigned char* memory;  // the kernel's static threadgroup variables
  unsigned char* threadgroup_buffer[MSL_MAX_THREADGROUP_BUFFERS];  // [[threadgroup(n)]] arguments
  unsigned char* frames;            // coroutine tier: frame_bytes for each thread
  struct MslSimdgroup* simdgroups;  // coroutine tier: one for each 32 threads
  unsigned char* context;           // tiers 1 and 2: values that outlive a region, 64-byte aligned
};

// An operation word: kind, element type and function packed in one integer.
#define MSL_OP(kind, type, function) ((kind) | (type) << 8 | (function) << 16)
#define MSL_OP_KIND(op) ((op) & 0xffu)
#define MSL_OP_TYPE(op) (((op) >> 8) & 0xffu)
#define MSL_OP_FUNCTION(op) (((op) >> 16) & 0xffu)

// Kinds. Every operation takes its operands from data[0..] and leaves its result in data[0..].
enum MslOpKind {
  MSL_OP_RUNNING = 0,  // not waiting
  MSL_OP_DONE = 1,     // the thread has returned
  MSL_OP_THREADGROUP_BARRIER = 2,
  MSL_OP_SIMDGROUP_BARRIER = 3,
  MSL_OP_SHUFFLE =
      4,  // data[0] value, data[1] source lane -> data[0]; own value if that lane is not active
  MSL_OP_BALLOT = 5,          // data[0] predicate (0 or 1) -> data[0] mask over active lanes
  MSL_OP_ACTIVE = 6,          // -> data[0] mask of active lanes
  MSL_OP_REDUCE = 7,          // data[0(,1)] value -> data[0(,1)]; type and function in the word
  MSL_OP_SCAN_INCLUSIVE = 8,  // as REDUCE; functions SUM and PRODUCT
  MSL_OP_SCAN_EXCLUSIVE = 9,
  MSL_OP_MATRIX_FMA =
      10,  // data[0,1]=a, [2,3]=b, [4,5]=c, f32 pairs in Apple's lane layout -> data[0,1] = a*b+c
};

enum MslOpType {
  MSL_TYPE_F32 = 0,
  MSL_TYPE_I32 = 1,
  MSL_TYPE_U32 = 2,
  MSL_TYPE_I64 = 3,
  MSL_TYPE_U64 = 4
};

enum MslOpFunction {
  MSL_FN_SUM = 0,
  MSL_FN_PRODUCT = 1,
  MSL_FN_MIN = 2,
  MSL_FN_MAX = 3,
  MSL_FN_AND = 4,
  MSL_FN_OR = 5,
  MSL_FN_XOR = 6,
};

// Order of evaluation, fixed for all tiers: a reduction combines lane i with lane i+d for d = 16,
// 8, 4, 2, 1 (a missing or inactive lane leaves the other operand unchanged); a scan goes from the
// lowest active lane to the highest. f32 min and max return the other operand when one is NaN.
//
// Divergence, fixed for all tiers: a simdgroup operation runs when no lane of the simdgroup can go
// on; the lanes waiting at the same site form its active mask. When lanes wait at several sites,
// the lowest site number goes first and the others wait on: with sites numbered in program order,
// lanes meet again after a branch. Lanes that are done or wait at a threadgroup barrier do not take
// part. A threadgroup barrier opens when every thread that is not done waits at one. If nothing can
// run and nothing can open, the kernel is deadlocked: an error.

// Entry points. Tiers 0 to 2 run all threads of one threadgroup and return.
typedef void (*MslThreadgroupEntry)(const struct MslDispatch*, struct MslThreadgroup*);
// Coroutine tier: starts thread `thread` (linear index, x fastest) and returns when it suspends or
// is done. Its frame is threadgroup->frames + thread * frame_bytes and begins with the address of a
// function void(void* frame) that resumes it. When the thread ends, its op becomes MSL_OP_DONE.
typedef void (*MslThreadEntry)(const struct MslDispatch*, struct MslThreadgroup*, unsigned thread);

// Entry points on NVIDIA GPUs (PTX): `.visible .entry k_N`, named by Kernel::symbol, with
// parameters
//   1. a 64-bit address for each buffer argument of the kernel, used or not, by ascending index,
//      offset applied;
//   2. threads_per_grid: three 32-bit numbers, exact;
//   3. for each threadgroup argument, by ascending index, its 32-bit offset in the dynamic shared
//      memory of the launch (msl_dynamic_threadgroup, aligned to 16; offsets are multiples of 16).
// The launch has threads_per_threadgroup threads in a block and threadgroups_per_grid blocks.
// Static threadgroup variables are shared memory of the module, beside the dynamic block. A
// simdgroup is a warp, with lanes numbered by the linear index in the block, x fastest; the last
// one of a block may be partial: lanes that are not there are not active.
// Where the grid is ragged, the blocks at its edges are whole: threads outside of the grid end at
// once, and lanes and indices in the threadgroup are numbered as in a whole one.
