#include "mlxn/base/log.h"

#include <cstdio>
#include <mutex>
#include <string>

#include "mlxn/base/printable.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

struct Log {
  std::mutex mutex;
  LogHandler handler;
};

Log& instance() {
  static Log* log = new Log;  // never destroyed: threads may log while the process ends
  return *log;
}

LogLevel level_of(const std::string& name) {
  for (LogLevel level :
       {LogLevel::kOff, LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug}) {
    if (name == to_string(level)) return level;
  }
  static std::once_flag told;
  std::call_once(told, [&] {
    const std::string line = str("mlxn: warning: MLXN_LOG = \"", printable(name),
                                 "\": expected error, warning, info, debug or off\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
  });
  return LogLevel::kWarning;
}

LogLevel lowest_level() {
  return level_of(setting_string(Setting::kLog));
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kOff: return "off";
    case LogLevel::kError: return "error";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kInfo: return "info";
    case LogLevel::kDebug: return "debug";
  }
  return "unknown";
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && level <= lowest_level();
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  Log& log = instance();
  std::lock_guard lock(log.mutex);
  if (log.handler) return log.handler(level, message);
  const std::string line = str("mlxn: ", to_string(level), ": ", printable(message), "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void set_log_handler(LogHandler handler) {
  Log& log = instance();
  std::lock_guard lock(log.mutex);
  log.handler = std::move(handler);
}

}  // namespace mlxn
