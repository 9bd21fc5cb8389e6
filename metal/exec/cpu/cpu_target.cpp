#include "metal/exec/cpu/cpu_target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <cstdint>
#include <cstring>

#include "metal/exec/cpu/target_levels.h"

namespace mlxn::cpu {

#if defined(__x86_64__)
namespace {

enum Register { kEax, kEbx, kEcx, kEdx };

struct Leaf {
  std::array<uint32_t, 4> reg{};
  bool bit(Register r, unsigned index) const { return reg[r] >> index & 1; }
  bool all(Register r, std::initializer_list<unsigned> indices) const {
    for (unsigned index : indices) {
      if (!bit(r, index)) return false;
    }
    return true;
  }
};

// All zero when the processor has no such leaf.
Leaf cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Leaf out;
  __get_cpuid_count(leaf, subleaf, &out.reg[0], &out.reg[1], &out.reg[2], &out.reg[3]);
  return out;
}

// Register state the operating system saves; 0 when it does not say.
uint64_t saved_state(const Leaf& leaf1) {
  if (!leaf1.bit(kEcx, 27)) return 0;  // OSXSAVE
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

constexpr uint64_t kAvxState = 0x6;      // xmm, ymm
constexpr uint64_t kAvx512State = 0xe6;  // and opmask, both halves of zmm

int level(const Leaf& leaf1, const Leaf& leaf7, const Leaf& extended, uint64_t state) {
  const bool v2 = leaf1.all(kEcx, {0, 9, 13, 19, 20, 23}) && extended.bit(kEcx, 0);
  if (!v2) return 1;
  const bool v3 = (state & kAvxState) == kAvxState && leaf1.all(kEcx, {12, 22, 28, 29}) &&
                  leaf7.all(kEbx, {3, 5, 8}) && extended.bit(kEcx, 5);
  if (!v3) return 2;
  const bool v4 = (state & kAvx512State) == kAvx512State && leaf7.all(kEbx, {16, 17, 28, 30, 31});
  return v4 ? 4 : 3;
}

}  // namespace

msl::Target detect_target() {
  const Leaf leaf1 = cpuid(1), leaf7 = cpuid(7), leaf7_1 = cpuid(7, 1),
             extended = cpuid(0x80000001);
  const uint64_t state = saved_state(leaf1);
  const int found = level(leaf1, leaf7, extended, state);

  struct Extension {
    const char* name;
    int from_level;  // levels below lack the registers it works on
    bool present;
  };
  const Extension extensions[] = {
      {"f16c", 2, found == 2 && (state & kAvxState) == kAvxState && leaf1.all(kEcx, {28, 29})},
      {"fma", 2, found == 2 && (state & kAvxState) == kAvxState && leaf1.all(kEcx, {12, 28})},
      {"gfni", 3, leaf7.bit(kEcx, 8)},
      {"avxvnni", 3, leaf7_1.bit(kEax, 4)},
      {"avx512ifma", 4, leaf7.bit(kEbx, 21)},
      {"avx512vbmi", 4, leaf7.bit(kEcx, 1)},
      {"avx512vbmi2", 4, leaf7.bit(kEcx, 6)},
      {"avx512vnni", 4, leaf7.bit(kEcx, 11)},
      {"avx512bitalg", 4, leaf7.bit(kEcx, 12)},
      {"avx512vpopcntdq", 4, leaf7.bit(kEcx, 14)},
      {"avx512bf16", 4, leaf7_1.bit(kEax, 5)},
      {"avx512fp16", 4, leaf7.bit(kEdx, 23)},
  };
  msl::Target target;
  target.cpu = level_name(found);
  for (const Extension& extension : extensions) {
    if (found < extension.from_level || !extension.present) continue;
    target.features += (target.features.empty() ? "+" : ",+") + std::string(extension.name);
  }
  return target;
}

std::string processor_name() {
  char text[49] = {};
  if (cpuid(0x80000000).reg[kEax] < 0x80000004) return "CPU";
  for (uint32_t i = 0; i < 3; ++i) {
    const Leaf part = cpuid(0x80000002 + i);
    std::memcpy(text + 16 * i, part.reg.data(), 16);
  }
  std::string name(text);
  const size_t first = name.find_first_not_of(' '), last = name.find_last_not_of(' ');
  return first == std::string::npos ? "CPU" : name.substr(first, last - first + 1);
}

#else

msl::Target detect_target() {
  return {msl::Target::Kind::kCpu, "generic", ""};
}
std::string processor_name() {
  return "CPU";
}

#endif

}  // namespace mlxn::cpu
