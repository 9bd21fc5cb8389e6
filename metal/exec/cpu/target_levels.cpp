#include "metal/exec/cpu/target_levels.h"

#include <algorithm>
#include <ranges>

#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

struct Level {
  const char* name;
  int number;
  const char* features;  // beyond the number's
};
constexpr Level kLevels[] = {{"x86-64", 1, ""},
                             {"x86-64-v2", 2, ""},
                             {"x86-64-v3", 3, ""},
                             {"x86-64-v3-vnni", 3, "+avxvnni"},
                             {"x86-64-v4", 4, ""},
                             {"x86-64-v4-vnni", 4, "+avx512vnni"},
                             {"x86-64-v4-dot", 4, "+avx512bf16,+avx512vnni"}};

msl::Target target_of(const Level& level) {
  return {msl::Target::Kind::kCpu, level_name(level.number), level.features};
}

bool has_features(const std::string& machine, std::string_view wanted) {
  const std::string all = str(",", machine, ",");
  while (!wanted.empty()) {
    const size_t end = std::min(wanted.find(','), wanted.size());
    if (all.find(str(",", wanted.substr(0, end), ",")) == std::string::npos) return false;
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
  }
  return true;
}

bool runs(const msl::Target& machine, const Level& level) {
  return machine.kind == msl::Target::Kind::kCpu && level_of(machine.cpu) >= level.number &&
         has_features(machine.features, level.features);
}

}  // namespace

int level_of(std::string_view cpu) {
  for (const Level& level : kLevels) {
    if (*level.features == 0 && cpu == level.name) return level.number;
  }
  return 0;
}

std::string level_name(int level) {
  for (const Level& known : kLevels) {
    if (known.number == level) return known.name;
  }
  return {};
}

msl::Target target_of(const std::string& name) {
  for (const Level& level : kLevels) {
    if (name == level.name) return target_of(level);
  }
  return {msl::Target::Kind::kCpu, name, ""};
}

std::vector<msl::Target> plain_levels(const msl::Target& target) {
  std::vector<msl::Target> levels;
  for (const Level& level : std::views::reverse(kLevels)) {
    if (runs(target, level)) levels.push_back(target_of(level));
  }
  return levels;
}

Status check_level(const std::string& wanted, const msl::Target& machine) {
  const Level* most = nullptr;
  for (const Level& level : kLevels) {
    if (!runs(machine, level)) continue;
    if (wanted == level.name) return {};
    most = &level;
  }
  return Error(ErrorCode::kUnsupported,
               str("cpu_target '", wanted, "', expected a level up to ",
                   most ? most->name : machine.cpu.c_str(),
                   ", which this machine has: x86-64, x86-64-v2 to -v4, x86-64-v3-vnni, "
                   "x86-64-v4-vnni or x86-64-v4-dot"));
}

}  // namespace mlxn::cpu
