#include "metal/exec/cpu/target_levels.h"

#include "mlxn/base/strings.h"

namespace mlxn::cpu {

constexpr std::string_view kBaseline = "x86-64";

int level_of(std::string_view cpu) {
  if (cpu == kBaseline) return 1;
  for (int level = 2; level <= kHighestLevel; ++level) {
    if (cpu == level_name(level)) return level;
  }
  return 0;
}

std::string level_name(int level) {
  return level == 1 ? std::string(kBaseline) : str(kBaseline, "-v", level);
}

std::vector<msl::Target> plain_levels(const msl::Target& target) {
  std::vector<msl::Target> levels;
  if (target.kind != msl::Target::Kind::kCpu) return levels;
  for (int level = level_of(target.cpu); level >= 1; --level) {
    levels.push_back({msl::Target::Kind::kCpu, level_name(level), ""});
  }
  return levels;
}

Status check_level(const std::string& wanted, const msl::Target& machine) {
  const int level = level_of(wanted), most = level_of(machine.cpu);
  if (level >= 1 && level <= most) return {};
  return Error(ErrorCode::kUnsupported,
               str("cpu_target '", wanted, "', expected a level up to ", machine.cpu,
                   ", which this machine has: x86-64 or x86-64-v2 to -v", kHighestLevel));
}

}  // namespace mlxn::cpu
