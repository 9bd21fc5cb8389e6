// One MSL text and what has been made of it. Internal to the kernel registry.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "mlxn/base/once_table.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// A text compiled for one device: what Metal calls a library.
struct KernelLibrary {
  NS::SharedPtr<MTL::Library> metal;
  std::set<std::string, std::less<>> entry_points;
};

// Immutable text and options, shared by all names registered for it. Thread-safe.
class KernelText {
 public:
  KernelText(std::string text, SourceOptions options);
  static uint64_t hash_of(std::string_view text, const SourceOptions& options);

  // The library for this device, made on first use. kCompileFailed with the compiler's message.
  Result<std::shared_ptr<const KernelLibrary>> library(const Device& device);

  const std::string text;
  const SourceOptions options;
  const uint64_t hash;

 private:
  OnceTable<uint64_t, std::shared_ptr<const KernelLibrary>> libraries_;  // by device
};

// A registered text with its pipelines. Registering a name again makes a new object, so nothing
// made of an older text can be found through it.
class KernelSource {
 public:
  explicit KernelSource(std::shared_ptr<KernelText> text) : text_(std::move(text)) {}

  struct Key {
    uint64_t device;
    std::string kernel;  // name and constants
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  // `built`: this call made it.
  Result<Pipeline> pipeline(std::string_view name, const FunctionConstants& constants,
                            const Device& device, bool& built);
  KernelText& text() const { return *text_; }
  // Pipelines that are there now.
  bool contains(const Key& key) const { return pipelines_.find(key).has_value(); }
  size_t size() const { return pipelines_.size(); }

  // Answers of KernelRegistry::is_available.
  OnceTable<Key, bool, KeyHash> availability;

 private:
  const std::shared_ptr<KernelText> text_;
  OnceTable<Key, Pipeline, KeyHash> pipelines_;
};

}  // namespace mlxn
