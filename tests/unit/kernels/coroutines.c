// Kernels of the coroutine tier, written by hand: each thread is a state machine whose frame begins
// with its resume function, as compiled kernels lay it out.
#include "metal/msl/kernel_abi.h"

struct Frame {
  void (*resume)(void*);
  const struct MslDispatch* d;
  struct MslThreadgroup* g;
  unsigned thread;
  int state;
  unsigned a, b;
};

_Static_assert(sizeof(struct Frame) <= 64, "frame_bytes of the tests");

#define LANE(f) ((f)->thread % 32)
#define GROUP(f) (&(f)->g->simdgroups[(f)->thread / 32])
#define GLOBAL(f) ((f)->g->position[0] * (f)->d->threads_per_threadgroup[0] + (f)->thread)

// Suspends the thread at `site`; execution continues after it on resume.
#define WAIT(f, word, at)           \
  do {                              \
    GROUP(f)->op[LANE(f)] = (word); \
    GROUP(f)->site[LANE(f)] = (at); \
    (f)->state = __LINE__;          \
    return;                         \
    case __LINE__:;                 \
  } while (0)

#define KERNEL(name)                                                                  \
  static void name##_resume(void* frame);                                             \
  void name(const struct MslDispatch* d, struct MslThreadgroup* g, unsigned thread) { \
    struct Frame* f = (struct Frame*)(g->frames + (unsigned long)thread * 64);        \
    f->resume = name##_resume;                                                        \
    f->d = d;                                                                         \
    f->g = g;                                                                         \
    f->thread = thread;                                                               \
    f->state = 0;                                                                     \
    name##_resume(f);                                                                 \
  }                                                                                   \
  static void name##_resume(void* frame) {                                            \
    struct Frame* f = frame;                                                          \
    switch (f->state) {                                                               \
      case 0:

#define END(f)                         \
  }                                    \
  GROUP(f)->op[LANE(f)] = MSL_OP_DONE; \
  }

// Any operation: word in buffer[0], six operand rows [6][threads] in buffer[1], results there too.
KERNEL(operate) {
  const unsigned* rows = f->d->buffer[1];
  for (int r = 0; r < 6; ++r) {
    GROUP(f)->data[r][LANE(f)] = rows[r * f->d->threads_per_grid[0] + GLOBAL(f)];
  }
}
WAIT(f, *(unsigned*)f->d->buffer[0], 1);
{
  unsigned* rows = f->d->buffer[1];
  for (int r = 0; r < 6; ++r) {
    rows[r * f->d->threads_per_grid[0] + GLOBAL(f)] = GROUP(f)->data[r][LANE(f)];
  }
}
END(f)

#define SUM_F32 MSL_OP(MSL_OP_REDUCE, MSL_TYPE_F32, MSL_FN_SUM)

// buffer[1][group] = sum over the threadgroup of buffer[0]: simdgroup sums, then threadgroup
// memory.
KERNEL(group_sum)
GROUP(f)->data[0][LANE(f)] = ((unsigned*)f->d->buffer[0])[GLOBAL(f)];
WAIT(f, SUM_F32, 1);
if (LANE(f) == 0) ((unsigned*)f->g->memory)[f->thread / 32] = GROUP(f)->data[0][LANE(f)];
WAIT(f, MSL_OP_THREADGROUP_BARRIER, 2);
if (f->thread == 0) {
  float total = 0;
  for (unsigned i = 0; i < (f->g->size[0] + 31) / 32; ++i) total += ((float*)f->g->memory)[i];
  ((float*)f->d->buffer[1])[f->g->position[0]] = total;
}
END(f)

// Divergence: every third thread returns at once; even lanes vote at site 1, then all at site 2;
// one barrier in between that only some threads of each simdgroup reach late. buffer[0]: two words
// each.
KERNEL(diverge)
if (GLOBAL(f) % 3 == 2) goto end;
if (LANE(f) % 2 == 0) {
  WAIT(f, MSL_OP_ACTIVE, 1);
  ((unsigned*)f->d->buffer[0])[2 * GLOBAL(f)] = GROUP(f)->data[0][LANE(f)];
}
WAIT(f, MSL_OP_ACTIVE, 2);
((unsigned*)f->d->buffer[0])[2 * GLOBAL(f) + 1] = GROUP(f)->data[0][LANE(f)];
WAIT(f, MSL_OP_THREADGROUP_BARRIER, 3);
end :;
END(f)

// A barrier in a loop: threads pass a token along through threadgroup memory, `size` rounds.
KERNEL(rotate)
((unsigned*)f->g->memory)[f->thread] = f->thread;
for (f->a = 0; f->a < f->g->size[0]; ++f->a) {
  WAIT(f, MSL_OP_THREADGROUP_BARRIER, 1);
  f->b = ((unsigned*)f->g->memory)[(f->thread + 1) % f->g->size[0]];
  WAIT(f, MSL_OP_THREADGROUP_BARRIER, 2);
  ((unsigned*)f->g->memory)[f->thread] = f->b;
}
((unsigned*)f->d->buffer[0])[GLOBAL(f)] = ((unsigned*)f->g->memory)[f->thread];
END(f)
