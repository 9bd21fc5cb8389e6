// All settings of the library, in one table. This is the only place that reads the environment:
// setting `cache_dir` comes from MLXN_CACHE_DIR. None is needed for correct results.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn {

enum class Setting {
  kLog,
  kMslModule,
  kCache,
  kCacheDir,
  kCacheMaxBytes,
  kSaveMsl,
  kExecutor,
  kCpuWorkers,
  kCpuTarget,
  kCpuSpinUs,
  kCpuTier,
  kScheduleSeed,
  kValidation,
  kWatchdogMs,
  kGuardMemory,
  kAutoBarrier,
  kEncoderSession,
  kSerialDispatch,
  kResidency,
  kUnretainedReferences,
  kProfileCb,
  kProfileDispatch,
  kProfileBarriers,
  kCheckHostAccess,
  kMetalCapture,
  kTrace,
  kLogInit,
  kLogResidency,
  kLogReorder,
  kLogGraph,
  kCount,
};

enum class SettingType { kBool, kInt, kBytes, kString };

struct SettingInfo {
  Setting id;
  std::string_view name;  // in lower case; the environment name is MLXN_ + upper case
  SettingType type;
  std::string_view default_value;
  std::string_view meaning;
  // Variables that set the same thing in mlx-native, separated by spaces; "!NAME" means the
  // opposite.
  std::string_view aliases = {};
};

// Every setting, in the order of the enum.
std::span<const SettingInfo> settings();
std::string environment_name(const SettingInfo& setting);
std::string_view to_string(SettingType type);

struct SettingAlias {
  std::string variable;
  bool inverted = false;
};
std::vector<SettingAlias> aliases_of(const SettingInfo& setting);

// Where a value comes from.
struct SettingOrigin {
  enum class Source { kDefault, kEnvironment, kCode };
  Source source = Source::kDefault;
  std::string variable;  // kEnvironment: the one that was set
};
std::string to_string(const SettingOrigin& origin);  // "default", "MLXN_LOG", "code"

struct SettingValue {
  std::string text;  // truth values are "1" or "0"
  SettingOrigin origin;
};

// What an environment says about a setting. `lookup` returns the value of a variable, null when it
// is not set. The setting's own variable wins over its aliases. A truth value is off when empty,
// 0, false, off or no, and on when 1, true, on or yes, in any case; an empty number counts as not
// set. A value that does not parse gives the default and a line in `problems`.
using EnvironmentLookup = std::function<const char*(const char* variable)>;
SettingValue read_setting(const SettingInfo& setting, const EnvironmentLookup& lookup,
                          std::vector<std::string>& problems);

// Current values. The environment is read once, at the first call, and what does not parse gives a
// warning in the log. All functions are thread-safe.
std::string setting_string(Setting id);
int64_t setting_int(Setting id);  // kInt and kBytes ("512M", "1G" are understood)
bool setting_bool(Setting id);
SettingOrigin setting_origin(Setting id);

// Replaces a value for the rest of the process. Fails with kInvalidArgument when it does not parse.
Status set_setting(Setting id, const std::string& value);

// Where files of this user go when a setting does not say: $XDG_CACHE_HOME, else ~/.cache, else
// empty.
std::string user_cache_folder();

// Replaces a value until the end of a scope; for tests.
class ScopedSetting {
 public:
  ScopedSetting(Setting id, const std::string& value);
  ~ScopedSetting();
  ScopedSetting(const ScopedSetting&) = delete;
  ScopedSetting& operator=(const ScopedSetting&) = delete;
  const Status& status() const { return status_; }

 private:
  Setting id_;
  SettingValue old_;
  Status status_;
};

}  // namespace mlxn
