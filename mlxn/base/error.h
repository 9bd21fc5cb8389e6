#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace mlxn {

// What kind of failure happened; callers may act on it. The text is for people.
enum class ErrorCode {
  kInvalidArgument,   // a value the caller passed is wrong
  kOutOfRange,        // an index, offset or size lies outside its bounds
  kShapeMismatch,     // shapes do not fit the operation
  kDtypeMismatch,     // element types do not fit the operation
  kOutOfMemory,       // an allocation failed
  kDeviceNotFound,    // no such device or executor
  kCompileFailed,     // kernel source does not compile
  kFunctionNotFound,  // no such entry point or function constant
  kPipelineFailed,    // a compiled kernel could not be turned into a pipeline
  kExecutionFailed,   // a command buffer failed while running
  kInvalidState,      // calls in the wrong order
  kIo,                // a file could not be read or written
  kCorruptData,       // bytes from outside do not have the promised form
  kUnsupported,       // valid, but not available here
  kDeviceLost,        // the device stopped answering
  kPageFault,         // a kernel touched memory that is not there
  kTimeout,           // it took longer than is allowed
  kCancelled,         // the caller asked to stop
  kInternal,          // a bug in this library
};

std::string_view to_string(ErrorCode code);

// A failure: code, message with actual and expected values, place of origin, and context added on
// the way up.
class Error {
 public:
  Error(ErrorCode code, std::string message,
        std::source_location where = std::source_location::current())
      : code_(code), message_(std::move(message)), where_(where) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  std::source_location where() const { return where_; }
  // Whether the same call may succeed when tried again: true for failures of a command buffer.
  bool is_transient() const { return code_ == ErrorCode::kExecutionFailed; }

  // Puts "context: " in front of the message. Returns *this so that it can be chained on return.
  Error& add_context(std::string_view context) {
    message_.insert(0, std::string(context) + ": ");
    return *this;
  }

  // "code: message", for logs and command lines.
  std::string to_string() const;

 private:
  ErrorCode code_;
  std::string message_;
  std::source_location where_;
};

}  // namespace mlxn
