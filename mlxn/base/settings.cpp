#include "mlxn/base/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

constexpr size_t kSettingCount = static_cast<size_t>(Setting::kCount);

constexpr SettingInfo kTable[] = {
    {Setting::kLog, "log", SettingType::kString, "warning",
     "lowest level that is logged: error, warning, info, debug, or off"},
    {Setting::kMslModule, "msl_module", SettingType::kString, "",
     "path of the MSL compiler module; empty: beside the library, then ../lib"},
    {Setting::kCache, "cache", SettingType::kBool, "1", "keep compiled kernels on disk"},
    {Setting::kCacheDir, "cache_dir", SettingType::kString, "",
     "folder of compiled kernels; empty: $XDG_CACHE_HOME/mlxn or ~/.cache/mlxn"},
    {Setting::kCacheMaxBytes, "cache_max_bytes", SettingType::kBytes, "1G",
     "bound on the size of that folder"},
    {Setting::kCpuWorkers, "cpu_workers", SettingType::kInt, "0",
     "threads that run kernels on the CPU; 0: one for each core"},
    {Setting::kCpuTarget, "cpu_target", SettingType::kString, "",
     "CPU level kernels are compiled for, e.g. x86-64-v3; empty: what the machine has"},
    {Setting::kCpuSpinUs, "cpu_spin_us", SettingType::kInt, "50",
     "how long an idle CPU worker spins before it sleeps, in microseconds"},
    {Setting::kExecutor, "executor", SettingType::kString, "",
     "executor behind the default Metal device: cpu, null; empty: the best there is"},
};
static_assert(std::size(kTable) == kSettingCount);

// "512M" -> bytes; plain integers for any SettingType but kBytes.
std::optional<int64_t> parse_int(std::string_view text, bool allow_unit) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.empty()) return value;
  if (!allow_unit || unit.size() != 1) return std::nullopt;
  constexpr std::string_view kUnits = "KMGT";
  size_t power = kUnits.find(static_cast<char>(unit[0] & ~0x20));
  if (power == std::string_view::npos) return std::nullopt;
  int64_t factor = int64_t{1} << (10 * (power + 1));
  if (value < 0 || value > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
  return value * factor;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (std::string_view word : {"1", "true", "on", "yes"}) {
    if (text == word) return true;
  }
  for (std::string_view word : {"0", "false", "off", "no"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

bool parses(SettingType type, std::string_view text) {
  switch (type) {
    case SettingType::kBool: return parse_bool(text).has_value();
    case SettingType::kInt: return parse_int(text, false).has_value();
    case SettingType::kBytes: return parse_int(text, true).has_value();
    case SettingType::kString: return true;
  }
  return false;
}

const SettingInfo& info_of(Setting id) {
  return kTable[static_cast<size_t>(id)];
}

std::string parse_problem(const SettingInfo& info, std::string_view text) {
  return str("setting ", info.name, " = \"", text, "\": expected ", to_string(info.type));
}

class Values {
 public:
  std::string get(Setting id) {
    std::vector<std::string> problems;
    std::string value;
    {
      std::lock_guard lock(mutex_);
      if (!loaded_) problems = load();
      value = values_[static_cast<size_t>(id)];
    }
    // Outside the lock: the log asks for its own setting.
    for (const std::string& problem : problems) log(LogLevel::kWarning, problem);
    return value;
  }

  void set(Setting id, std::string value) {
    get(id);
    std::lock_guard lock(mutex_);
    values_[static_cast<size_t>(id)] = std::move(value);
  }

 private:
  std::vector<std::string> load() {
    std::vector<std::string> problems;
    for (const SettingInfo& info : kTable) {
      std::string& value = values_[static_cast<size_t>(info.id)];
      value = info.default_value;
      const char* text = std::getenv(environment_name(info).c_str());
      if (!text) continue;
      if (parses(info.type, text)) {
        value = text;
      } else {
        problems.push_back(parse_problem(info, text) + "; using the default");
      }
    }
    loaded_ = true;
    return problems;
  }

  std::mutex mutex_;
  bool loaded_ = false;
  std::array<std::string, kSettingCount> values_;
};

Values& values() {
  static Values* instance = new Values;  // never destroyed: threads may log while the process ends
  return *instance;
}

}  // namespace

std::span<const SettingInfo> settings() {
  return kTable;
}

std::string environment_name(const SettingInfo& setting) {
  std::string name = "MLXN_";
  for (char c : setting.name) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string_view to_string(SettingType type) {
  switch (type) {
    case SettingType::kBool: return "a truth value (1 or 0)";
    case SettingType::kInt: return "an integer";
    case SettingType::kBytes: return "a size such as 4096, 512M or 1G";
    case SettingType::kString: return "text";
  }
  return "unknown";
}

std::string setting_string(Setting id) {
  return values().get(id);
}

int64_t setting_int(Setting id) {
  return parse_int(values().get(id), info_of(id).type == SettingType::kBytes).value_or(0);
}

bool setting_bool(Setting id) {
  return parse_bool(values().get(id)).value_or(false);
}

Status set_setting(Setting id, std::string value) {
  if (!parses(info_of(id).type, value)) {
    return Error(ErrorCode::kInvalidArgument, parse_problem(info_of(id), value));
  }
  values().set(id, std::move(value));
  return {};
}

std::string user_cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && folder[0] == '/') return folder;
  if (const char* home = std::getenv("HOME"); home && home[0] == '/') return str(home, "/.cache");
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(getuid(), &entry, buffer, sizeof(buffer), &found) == 0 && found && found->pw_dir) {
    return str(found->pw_dir, "/.cache");
  }
  return {};
}

}  // namespace mlxn
