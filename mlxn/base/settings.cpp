#include "mlxn/base/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <sstream>
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
    {Setting::kSaveMsl, "save_msl", SettingType::kString, "",
     "folder that gets a copy of the MSL text of every library made from source; empty: none"},
    {Setting::kExecutor, "executor", SettingType::kString, "",
     "executor behind the default Metal device: cpu, null, discrete; empty: the best there is"},
    {Setting::kCpuWorkers, "cpu_workers", SettingType::kInt, "0",
     "threads that run kernels on the CPU; 0: one for each core"},
    {Setting::kCpuTarget, "cpu_target", SettingType::kString, "",
     "level kernels are compiled for, x86-64, x86-64-v2 to -v4, x86-64-v3-vnni, x86-64-v4-vnni or "
     "x86-64-v4-dot; empty: what the machine has"},
    {Setting::kCpuSpinUs, "cpu_spin_us", SettingType::kInt, "50",
     "how long an idle CPU worker spins before it sleeps, in microseconds"},
    {Setting::kCpuTier, "cpu_tier", SettingType::kInt, "-1",
     "lowest tier, 0 to 3, in which kernels run on the CPU; -1: the compiler chooses"},
    {Setting::kScheduleSeed, "schedule_seed", SettingType::kInt, "0",
     "not 0: the CPU executor shuffles what barriers leave unordered, so that races show"},
    {Setting::kValidation, "validation", SettingType::kBool, "0",
     "Metal calls that Apple's validation layer refuses fail their command buffer"},
    {Setting::kWatchdogMs, "watchdog_ms", SettingType::kInt, "0",
     "milliseconds after which a command buffer is stopped and fails; 0: never"},
    {Setting::kGuardMemory, "guard_memory", SettingType::kInt, "0",
     "1: stores outside of buffers and threadgroup memory fail their command buffer; 2: loads too"},
    {Setting::kAutoBarrier, "auto_barrier", SettingType::kBool, "0",
     "check every dispatch for hazards and put barriers where they are needed",
     "HF2Q_AUTO_BARRIER"},
    {Setting::kEncoderSession, "encoder_session", SettingType::kBool, "0",
     "policy for callers that choose between encoders and sessions", "HF2Q_ENCODER_SESSION"},
    {Setting::kSerialDispatch, "serial_dispatch", SettingType::kBool, "0",
     "serial passes: every dispatch sees all earlier ones", "HF2Q_FORCE_SERIAL_DISPATCH"},
    {Setting::kResidency, "residency", SettingType::kBool, "1",
     "keep allocations in a residency set, where the system has them", "!HF2Q_NO_RESIDENCY"},
    {Setting::kUnretainedReferences, "unretained_references", SettingType::kBool, "0",
     "command buffers leave it to this library to retain what they use", "MLX_UNRETAINED_REFS"},
    {Setting::kProfileCb, "profile_cb", SettingType::kBool, "0",
     "record the GPU time of every command buffer", "MLX_PROFILE_CB"},
    {Setting::kProfileDispatch, "profile_dispatch", SettingType::kBool, "0",
     "record the GPU time of every dispatch, which then run one by one", "MLX_PROFILE_DISPATCH"},
    {Setting::kProfileBarriers, "profile_barriers", SettingType::kBool, "0",
     "count the host time spent in emitting barriers", "MLX_PROFILE_BARRIERS"},
    {Setting::kCheckHostAccess, "check_host_access", SettingType::kBool, "0",
     "refuse host views of memory that the GPU may be using"},
    {Setting::kMetalCapture, "metal_capture", SettingType::kString, "",
     "write a frame capture of the first graph session to this path", "MLX_METAL_CAPTURE"},
    {Setting::kTrace, "trace", SettingType::kString, "",
     "write a trace of every device's command buffers to this path (path.2, path.3 for further "
     "devices) when the device ends; with profile_dispatch, of its dispatches too"},
    {Setting::kLogInit, "log_init", SettingType::kBool, "0",
     "a line about the residency decision of each device", "MLX_NATIVE_LOG_INIT"},
    {Setting::kLogResidency, "log_residency", SettingType::kBool, "0",
     "a line for each registration by a pool", "HF2Q_PROFILE_RESIDENCY_ABORT"},
    {Setting::kLogReorder, "log_reorder", SettingType::kBool, "0",
     "a line for each reorder pass over a graph", "HF2Q_REORDER_DUMP"},
    {Setting::kLogGraph, "log_graph", SettingType::kBool, "0",
     "phases and barrier counts of each finished graph session", "HF2Q_MLX_TIMING HF2Q_GRAPH_DIAG"},
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
  std::string word;
  for (char c : text) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::string_view on : {"1", "true", "on", "yes"}) {
    if (word == on) return true;
  }
  for (std::string_view off : {"0", "false", "off", "no"}) {
    if (word == off) return false;
  }
  return std::nullopt;
}

// The text in the form it is kept in; nothing when it does not parse.
std::optional<std::string> normalize(SettingType type, std::string_view text) {
  bool good = true;
  switch (type) {
    case SettingType::kBool: {
      std::optional<bool> value = parse_bool(text);
      if (!value) return std::nullopt;
      return *value ? "1" : "0";
    }
    case SettingType::kInt: good = parse_int(text, false).has_value(); break;
    case SettingType::kBytes: good = parse_int(text, true).has_value(); break;
    case SettingType::kString: break;
  }
  return good ? std::optional<std::string>(text) : std::nullopt;
}

// An empty variable is how shells and services leave one out.
bool counts_as_unset(const char* text) {
  return !text || !*text;
}

const SettingInfo& info_of(Setting id) {
  return kTable[static_cast<size_t>(id)];
}

std::string parse_problem(std::string_view what, const SettingInfo& info, std::string_view text) {
  return str(what, " = \"", text, "\": expected ", to_string(info.type));
}

class Values {
 public:
  SettingValue get(Setting id) {
    std::vector<std::string> problems;
    SettingValue value;
    {
      std::lock_guard lock(mutex_);
      if (!loaded_) problems = load();
      value = values_[static_cast<size_t>(id)];
    }
    // Outside the lock: the log asks for its own setting.
    for (const std::string& problem : problems) log(LogLevel::kWarning, problem);
    return value;
  }

  SettingValue exchange(Setting id, SettingValue value) {
    SettingValue old = get(id);
    std::lock_guard lock(mutex_);
    values_[static_cast<size_t>(id)] = std::move(value);
    return old;
  }

 private:
  std::vector<std::string> load() {
    std::vector<std::string> problems;
    auto lookup = [](const char* variable) -> const char* { return std::getenv(variable); };
    for (const SettingInfo& info : kTable) {
      values_[static_cast<size_t>(info.id)] = read_setting(info, lookup, problems);
    }
    loaded_ = true;
    return problems;
  }

  std::mutex mutex_;
  bool loaded_ = false;
  std::array<SettingValue, kSettingCount> values_;
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

std::vector<SettingAlias> aliases_of(const SettingInfo& setting) {
  std::vector<SettingAlias> out;
  std::istringstream words{std::string(setting.aliases)};
  for (std::string word; words >> word;) {
    const bool inverted = word[0] == '!';
    out.push_back({word.substr(inverted), inverted});
  }
  return out;
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

std::string to_string(const SettingOrigin& origin) {
  switch (origin.source) {
    case SettingOrigin::Source::kDefault: return "default";
    case SettingOrigin::Source::kEnvironment: return origin.variable;
    case SettingOrigin::Source::kCode: return "code";
  }
  return "unknown";
}

SettingValue read_setting(const SettingInfo& setting, const EnvironmentLookup& lookup,
                          std::vector<std::string>& problems) {
  std::vector<SettingAlias> names = aliases_of(setting);
  names.insert(names.begin(), {environment_name(setting), false});
  for (const auto& [variable, inverted] : names) {
    const char* text = lookup(variable.c_str());
    if (counts_as_unset(text)) continue;
    std::optional<std::string> value = normalize(setting.type, text);
    if (!value) {
      problems.push_back(parse_problem(variable, setting, text) + "; using the default");
      break;
    }
    if (inverted) value = *value == "1" ? "0" : "1";
    return {std::move(*value), {SettingOrigin::Source::kEnvironment, variable}};
  }
  return {std::string(setting.default_value), {}};
}

std::string setting_string(Setting id) {
  return values().get(id).text;
}

int64_t setting_int(Setting id) {
  return parse_int(values().get(id).text, info_of(id).type == SettingType::kBytes).value_or(0);
}

bool setting_bool(Setting id) {
  return parse_bool(values().get(id).text).value_or(false);
}

SettingOrigin setting_origin(Setting id) {
  return values().get(id).origin;
}

Status set_setting(Setting id, const std::string& value) {
  const SettingInfo& info = info_of(id);
  std::optional<std::string> text = normalize(info.type, value);
  if (!text) {
    return Error(ErrorCode::kInvalidArgument,
                 parse_problem(str("setting ", info.name), info, value));
  }
  values().exchange(id, {std::move(*text), {SettingOrigin::Source::kCode, ""}});
  return {};
}

ScopedSetting::ScopedSetting(Setting id, const std::string& value)
    : id_(id), old_(values().get(id)) {
  status_ = set_setting(id, value);
}

ScopedSetting::~ScopedSetting() {
  values().exchange(id_, std::move(old_));
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
