// Small helpers around Metal's objects. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <Metal/Metal.hpp>

namespace mlxn {

// Objects that Metal gives without ownership live until the end of the innermost scope.
class AutoreleaseScope {
 public:
  AutoreleaseScope() : pool_(NS::AutoreleasePool::alloc()->init()) {}
  ~AutoreleaseScope() { pool_->release(); }
  AutoreleaseScope(const AutoreleaseScope&) = delete;
  AutoreleaseScope& operator=(const AutoreleaseScope&) = delete;

 private:
  NS::AutoreleasePool* pool_;
};

// Needs a scope.
inline NS::String* ns_string(const std::string& text) {
  return NS::String::string(text.c_str(), NS::UTF8StringEncoding);
}

inline std::string to_text(const NS::String* text) {
  const char* bytes = text ? text->utf8String() : nullptr;
  return bytes ? bytes : "";
}

// Times of a command buffer that did not run may be any; a duration is never negative.
inline uint64_t nanoseconds(double seconds) {
  return seconds > 0 ? static_cast<uint64_t>(seconds * 1e9) : 0;
}

inline std::string to_text(const NS::Error* error) {
  return error ? to_text(error->localizedDescription()) : "no reason given";
}

}  // namespace mlxn
