// Kernels of the work-item-loop tier, written by hand against kernel_abi.h.
#include "metal/msl/kernel_abi.h"

float sinf(float);
float fmodf(float, float);
void* memcpy(void*, const void*, unsigned long);

#define ENTRY(name) void name(const struct MslDispatch* d, struct MslThreadgroup* g)

static unsigned long linear(const struct MslDispatch* d, const struct MslThreadgroup* g, unsigned x,
                            unsigned y, unsigned z) {
  unsigned long gx = (unsigned long)g->position[0] * d->threads_per_threadgroup[0] + x;
  unsigned long gy = (unsigned long)g->position[1] * d->threads_per_threadgroup[1] + y;
  unsigned long gz = (unsigned long)g->position[2] * d->threads_per_threadgroup[2] + z;
  return (gz * d->threads_per_grid[1] + gy) * d->threads_per_grid[0] + gx;
}

#define FOR_THREADS                           \
  for (unsigned z = 0; z < g->size[2]; ++z)   \
    for (unsigned y = 0; y < g->size[1]; ++y) \
      for (unsigned x = 0; x < g->size[0]; ++x)

ENTRY(empty) {
  (void)d, (void)g;
}

// buffer[0][i] += 1 for each thread of the grid
ENTRY(increment) {
  unsigned* out = d->buffer[0];
  FOR_THREADS __atomic_fetch_add(&out[linear(d, g, x, y, z)], 1, __ATOMIC_RELAXED);
}

// The same, with the number of calls and the largest threadgroup after the grid.
ENTRY(increment_and_count) {
  increment(d, g);
  unsigned* out = (unsigned*)d->buffer[0] + (unsigned long)d->threads_per_grid[0] *
                                                d->threads_per_grid[1] * d->threads_per_grid[2];
  __atomic_fetch_add(&out[0], 1, __ATOMIC_RELAXED);
  if (g->size[0] > __atomic_load_n(&out[1], __ATOMIC_RELAXED))
    __atomic_store_n(&out[1], g->size[0], __ATOMIC_RELAXED);
}

// buffer[1][i] = buffer[0][i] * 2
ENTRY(twice) {
  const float* in = d->buffer[0];
  float* out = d->buffer[1];
  FOR_THREADS {
    unsigned long i = linear(d, g, x, y, z);
    out[i] = in[i] * 2;
  }
}

// buffer[1][n - 1 - i] = buffer[0][i] * 2: what one dispatch writes last, the next one reads first.
ENTRY(mirror) {
  const float* in = d->buffer[0];
  float* out = d->buffer[1];
  FOR_THREADS {
    unsigned long i = linear(d, g, x, y, z);
    out[d->threads_per_grid[0] - 1 - i] = in[i] * 2;
  }
}

static const float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
static float scale = 3;
static float zeroed[16];

__attribute__((noinline)) static int choose(unsigned i) {
  switch (i % 7) {
    case 0: return 5;
    case 1: return 11;
    case 2: return -3;
    case 3: return 8 + (int)i;
    case 4: return 99;
    case 5: return (int)(i * i);
    default: return 0;
  }
}

// Everything an object may hold: constants, data, zeroed data, a jump table, external calls,
// pointers.
typedef float (*Function)(float, float);
Function volatile indirect = fmodf;
ENTRY(mixed) {
  float* out = d->buffer[0];
  FOR_THREADS {
    unsigned i = (unsigned)linear(d, g, x, y, z);
    float value = 0;
    memcpy(&value, &table[i % 8], sizeof(value));
    out[i] = value * scale + zeroed[i % 16] + (float)choose(i) + sinf((float)i) +
             indirect((float)i, 3.0f);
  }
}

// Uses static threadgroup memory and [[threadgroup(3)]].
ENTRY(reverse) {
  float* out = d->buffer[0];
  float* own = (float*)g->memory;
  float* given = (float*)g->threadgroup_buffer[3];
  unsigned n = g->size[0];
  for (unsigned x = 0; x < n; ++x) own[x] = given[x] = (float)x;
  for (unsigned x = 0; x < n; ++x) {
    out[g->position[0] * d->threads_per_threadgroup[0] + x] = own[n - 1 - x] * 1000 + given[x];
  }
}

// Rounds through a subnormal: 0 when the thread flushes subnormals.
ENTRY(subnormal) {
  volatile float tiny = 1e-38f;
  float* out = d->buffer[0];
  FOR_THREADS out[linear(d, g, x, y, z)] = tiny / 16;
}
