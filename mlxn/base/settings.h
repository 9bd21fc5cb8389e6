// All settings of the library, in one table. This is the only place that reads the environment:
// setting `cache_dir` comes from MLXN_CACHE_DIR. None is needed for correct results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mlxn/base/result.h"

namespace mlxn {

enum class Setting {
  kLog,
  kMslModule,
  kCache,
  kCacheDir,
  kCacheMaxBytes,
  kCpuWorkers,
  kCpuTarget,
  kCpuSpinUs,
  kExecutor,
  kCount,
};

enum class SettingType { kBool, kInt, kBytes, kString };

struct SettingInfo {
  Setting id;
  std::string_view name;  // in lower case; the environment name is MLXN_ + upper case
  SettingType type;
  std::string_view default_value;
  std::string_view meaning;
};

// Every setting, in the order of the enum.
std::span<const SettingInfo> settings();
std::string environment_name(const SettingInfo& setting);
std::string_view to_string(SettingType type);

// Current values. The environment is read once, at the first call; a value that does not parse
// gives a warning in the log and the default. All functions are thread-safe.
std::string setting_string(Setting id);
int64_t setting_int(Setting id);  // kInt and kBytes ("512M", "1G" are understood)
bool setting_bool(Setting id);

// Replaces a value for the rest of the process. Fails with kInvalidArgument when it does not parse.
Status set_setting(Setting id, std::string value);

// Where files of this user go when a setting does not say: $XDG_CACHE_HOME, else ~/.cache, else
// empty.
std::string user_cache_folder();

// Replaces a value until the end of a scope; for tests.
class ScopedSetting {
 public:
  ScopedSetting(Setting id, std::string value) : id_(id), old_(setting_string(id)) {
    status_ = set_setting(id, std::move(value));
  }
  ~ScopedSetting() { (void)set_setting(id_, old_).has_value(); }
  ScopedSetting(const ScopedSetting&) = delete;
  ScopedSetting& operator=(const ScopedSetting&) = delete;
  const Status& status() const { return status_; }

 private:
  Setting id_;
  std::string old_;
  Status status_;
};

}  // namespace mlxn
