#include "tests/tiers/scrub.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>

namespace {
unsigned char fill_byte = 0;
}

// The executor takes its workers' scratch blocks from here.
extern "C" void* aligned_alloc(size_t alignment, size_t size) {
  void* block = memalign(alignment, size);
  if (block) std::memset(block, fill_byte, size);
  return block;
}

namespace mlxn::tiers {

[[gnu::noinline]] void scrub(uint8_t byte) {
  fill_byte = byte;
  unsigned char stack[1 << 20];
  std::memset(stack, byte, sizeof(stack));
  asm volatile("" ::"r"(stack) : "memory");
}

}  // namespace mlxn::tiers
