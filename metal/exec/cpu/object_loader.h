#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "mlxn/base/result.h"

// For functions that call loaded code: it has no type words in front of its functions, which
// -fsanitize=function would look for.
#if defined(__clang__)
#define MLXN_CALLS_LOADED_CODE __attribute__((no_sanitize("function")))
#else
#define MLXN_CALLS_LOADED_CODE
#endif

namespace mlxn::cpu {

// Executable code made from an ELF x86-64 relocatable object. One mapping holds its sections,
// between two guard pages; pages are writable or executable, never both. Immutable and thread-safe.
class LoadedObject {
 public:
  // Every offset, size and index of the object is checked: a malformed object is kCorruptData, a
  // valid one with features kernels do not need is kUnsupported, a call to a function outside the
  // list of runtime_symbols.h is kPipelineFailed and names it.
  static Result<std::unique_ptr<LoadedObject>> load(std::span<const uint8_t> object);

  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  // Address of a function the object defines; kFunctionNotFound when it has none of that name.
  Result<void*> find_function(const std::string& name) const;
  // Where its code and data lie.
  std::span<const uint8_t> memory() const { return {mapping_, mapping_size_}; }

 private:
  friend class ObjectLoader;
  LoadedObject() = default;

  uint8_t* mapping_ = nullptr;
  uint64_t mapping_size_ = 0;
  std::unordered_map<std::string, void*> functions_;
};

}  // namespace mlxn::cpu
