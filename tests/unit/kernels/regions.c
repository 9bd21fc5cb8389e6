// Kernels as the region tiers make them: one call runs a threadgroup, and values that outlive a
// region lie in its context.
#include "metal/msl/kernel_abi.h"

#define ENTRY(name) void name(const struct MslDispatch* d, struct MslThreadgroup* g)

static unsigned threads_of(const struct MslThreadgroup* g) {
  return g->size[0] * g->size[1] * g->size[2];
}

// buffer[0][t] = buffer[0][n - 1 - t] + 1 within a threadgroup of a one-dimensional grid: a first
// region reads all values, a second one writes. The context has 128 bytes for each simdgroup after
// 64 bytes of its own.
ENTRY(reverse_in_context) {
  unsigned* values = (unsigned*)d->buffer[0] + g->position[0] * d->threads_per_threadgroup[0];
  const unsigned threads = threads_of(g);
  unsigned* count = (unsigned*)g->context;
  unsigned* slots = (unsigned*)(g->context + 64);
  *count = threads;
  for (unsigned t = 0; t < threads; ++t) slots[t] = values[t];
  for (unsigned t = 0; t < threads; ++t) values[t] = slots[*count - 1 - t] + 1;
  // Compiled code relies on the alignment.
  if (((unsigned long)g->context & 63) != 0) values[0] = 0;
}

static void note(const struct MslDispatch* d, struct MslThreadgroup* g, unsigned who) {
  const unsigned* counts = d->threadgroups_per_grid;
  const unsigned at = (g->position[2] * counts[1] + g->position[1]) * counts[0] + g->position[0];
  ((unsigned*)d->buffer[0])[at] = who * 10000 + threads_of(g);
}

// buffer[0][threadgroup] = threads, and which of the two kernels ran it.
ENTRY(note_main) {
  note(d, g, 1);
}
ENTRY(note_edge) {
  note(d, g, 2);
}
