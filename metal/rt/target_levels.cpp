#include "metal/rt/target_levels.h"

#include "mlxn/base/strings.h"

namespace mlxn::rt {

std::vector<msl::Target> plain_levels(const msl::Target& target) {
  constexpr std::string_view kLevel = "x86-64-v";
  std::vector<msl::Target> levels;
  if (target.kind != msl::Target::Kind::kCpu || !target.cpu.starts_with(kLevel) ||
      target.cpu.size() != kLevel.size() + 1)
    return levels;
  for (char level = target.cpu.back(); level >= '2' && level <= '4'; --level)
    levels.push_back({msl::Target::Kind::kCpu, str(kLevel, level), ""});
  return levels;
}

}  // namespace mlxn::rt
