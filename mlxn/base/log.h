#pragma once

#include <functional>
#include <string_view>

namespace mlxn {

enum class LogLevel { kOff = 0, kError, kWarning, kInfo, kDebug };

std::string_view to_string(LogLevel level);

// True when messages of this level go anywhere; ask before building a costly message.
bool log_enabled(LogLevel level);

// Hands a message to the handler when its level is at or above the setting `log`. Thread-safe.
void log(LogLevel level, std::string_view message);

// Receives messages one at a time. An empty function restores the default, which writes
// "mlxn: level: message" lines to stderr. The handler must not log.
using LogHandler = std::function<void(LogLevel, std::string_view)>;
void set_log_handler(LogHandler handler);

}  // namespace mlxn
