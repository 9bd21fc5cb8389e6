// Compiled kernels and library descriptions, kept in memory and on disk, so that a program whose
// kernels have been compiled once never loads the compiler again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metal/msl/interface.h"
#include "metal/rt/cache/cache_store.h"
#include "mlxn/base/result.h"
#include "mlxn/metal_extensions.hpp"

namespace mlxn::rt {

// Everything that shapes a result, as text, and its hash.
struct CacheKey {
  std::string text;
  Digest digest;
  // False when the result depends on files outside the key (include folders): then nothing is kept.
  bool cacheable = true;
};

// Key of a library: source, options and msl::code_version().
CacheKey library_key(std::string_view source, const msl::CompileOptions& options);

// Key of compiled code: the library (by two independent 128-bit hashes and its length, so that
// entries do not repeat the source), entry points, constants, target and the request's other
// fields.
CacheKey image_key(const CacheKey& library, const msl::CompileRequest& request);

// Thread-safe. Values are immutable and may outlive the cache.
class KernelCache {
 public:
  struct Options {
    std::string folder;  // empty: memory only
    uint64_t max_disk_bytes = uint64_t{1} << 30;
    uint64_t max_memory_bytes = uint64_t{64} << 20;
  };
  // From the settings cache, cache_dir and cache_max_bytes.
  static Options default_options();

  using Counters = metal::CacheCounters;

  explicit KernelCache(Options options);
  ~KernelCache();

  using ProduceLibraryInfo = std::function<Result<msl::LibraryInfo>()>;
  using ProduceImage = std::function<Result<msl::Image>()>;

  // The value for `key`: from memory, else from an archive (kernel_archive.h), else from disk, else
  // from `produce`, whose value is kept.
  // When several threads ask for one key at once, one of them produces and the others wait for it.
  // An error of `produce` goes to all of them and is not kept. `produce` may ask the cache for
  // other keys.
  Result<std::shared_ptr<const msl::LibraryInfo>> library_info(const CacheKey& key,
                                                               const ProduceLibraryInfo& produce);
  Result<std::shared_ptr<const msl::Image>> image(const CacheKey& key, const ProduceImage& produce);

  // An archive of all that is in memory.
  Result<std::vector<uint8_t>> serialize() const;

  Counters counters() const;
  const std::string& folder() const { return store_.folder(); }  // empty: memory only
  uint64_t max_disk_bytes() const { return store_.max_bytes(); }

 private:
  template <class T>
  class Table;

  CacheStore store_;
  std::unique_ptr<Table<msl::LibraryInfo>> libraries_;
  std::unique_ptr<Table<msl::Image>> images_;
};

}  // namespace mlxn::rt
