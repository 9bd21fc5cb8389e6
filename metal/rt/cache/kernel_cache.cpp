#include "metal/rt/cache/kernel_cache.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "metal/msl/module.h"
#include "metal/rt/cache/kernel_archive.h"
#include "mlxn/base/once_table.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

constexpr uint64_t kSecondSeed = 0x6d6c786e;

// Builds a text in which every field has its length in front, so no two lists of fields look alike.
class KeyText {
 public:
  template <class T>
  KeyText& add(std::string_view name, const T& value) {
    const std::string text = str(value);
    text_ += str(name, " ", text.size(), "\n", text, "\n");
    return *this;
  }
  CacheKey finish(bool cacheable) {
    CacheKey key;
    key.digest = digest_of(text_);
    key.text = std::move(text_);
    key.cacheable = cacheable;
    return key;
  }

 private:
  std::string text_;
};

Result<msl::LibraryInfo> parse(const std::vector<uint8_t>& bytes, const msl::LibraryInfo*) {
  return msl::parse_library_info(bytes);
}
Result<msl::Image> parse(const std::vector<uint8_t>& bytes, const msl::Image*) {
  return msl::parse_image(bytes);
}

}  // namespace

CacheKey library_key(std::string_view source, const msl::CompileOptions& options) {
  KeyText key;
  key.add("kind", "library").add("version", msl::code_version());
  key.add("math", static_cast<int>(options.math_mode)).add("language", options.language_version);
  key.add("name", options.source_name);
  for (const msl::Macro& macro : options.macros) {
    key.add("macro", macro.name).add("value", macro.value);
  }
  key.add("source", source);
  return key.finish(options.include_dirs.empty());
}

CacheKey image_key(const CacheKey& library, const msl::CompileRequest& request) {
  KeyText key;
  key.add("kind", "image").add("version", msl::code_version());
  key.add("library", library.digest.to_hex());
  key.add("library", digest_of(library.text, kSecondSeed).to_hex());
  key.add("library bytes", library.text.size());
  for (const std::string& name : request.entry_points) key.add("entry", name);
  for (const msl::ConstantValue& constant : request.constants) {
    key.add("constant", constant.name).add("index", constant.index).add("type", constant.type);
    key.add("value", std::string_view(reinterpret_cast<const char*>(constant.bytes),
                                      sizeof(constant.bytes)));
  }
  key.add("target", request.target.to_key()).add("emit", static_cast<int>(request.emit));
  key.add("unset", request.allow_unset_constants).add("tier", request.forced_tier);
  key.add("optimise", request.optimise);
  key.add("shape", static_cast<int>(request.shape.kind));
  for (uint32_t size : request.shape.size) key.add("size", size);
  return key.finish(library.cacheable);
}

// One kind of value: the memory level, and the requests under way.
template <class T>
class KernelCache::Table {
 public:
  using Value = std::shared_ptr<const T>;

  Table(CacheStore& store, uint64_t max_bytes) : store_(store), max_bytes_(max_bytes) {}

  template <class Produce>
  Result<Value> get(const CacheKey& key, const Produce& produce) {
    if (!key.cacheable) return make(produce);
    if (Value value = find_in_memory(key)) return value;
    bool mine = false;
    auto fetch_and_keep = [&]() -> Result<Value> {
      if (Value value = find_in_memory(key)) return value;  // came while nobody looked
      uint64_t bytes = 0;
      MLXN_ASSIGN(Value value, fetch(key, produce, bytes));
      keep(key, value, bytes);
      return value;
    };
    Result<Value> result = requests_.get(key.text, fetch_and_keep, &mine);
    if (!mine) ++memory_hits_;
    if (mine && result) requests_.forget(key.text);  // memory has a limit, so it is kept there
    return result;
  }

  // Appends all entries in memory, as archives have them.
  void serialize(std::vector<std::pair<std::string, std::vector<uint8_t>>>& out) {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) out.emplace_back(entry.text, msl::serialize(*entry.value));
  }

  uint64_t memory_hits() const { return memory_hits_; }
  uint64_t archive_hits() const { return archive_hits_; }
  uint64_t misses() const { return misses_; }

 private:
  struct Entry {
    Digest digest;
    std::string text;
    Value value;
    uint64_t bytes;
  };

  template <class Produce>
  Result<Value> make(const Produce& produce) {
    ++misses_;
    MLXN_ASSIGN(T value, produce());
    return std::make_shared<const T>(std::move(value));
  }

  // From an archive, from disk or from `produce`, without the lock.
  template <class Produce>
  Result<Value> fetch(const CacheKey& key, const Produce& produce, uint64_t& bytes) {
    if (auto data = find_in_archives(key.digest, key.text)) {
      bytes = data->size();
      if (auto value = parse(*data, static_cast<const T*>(nullptr))) {
        ++archive_hits_;
        return std::make_shared<const T>(std::move(*value));
      }
    }
    if (auto data = store_.read(key.digest, key.text)) {
      bytes = data->size();
      if (auto value = parse(*data, static_cast<const T*>(nullptr))) {
        return std::make_shared<const T>(std::move(*value));
      }
      store_.remove(key.digest);
    }
    MLXN_ASSIGN(Value value, make(produce));
    const std::vector<uint8_t> data = msl::serialize(*value);
    bytes = data.size();
    store_.write(key.digest, key.text, data);
    return value;
  }

  Value find_in_memory(const CacheKey& key) {
    std::lock_guard lock(mutex_);
    auto found = index_.find(key.digest);
    if (found == index_.end() || found->second->text != key.text) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    ++memory_hits_;
    return found->second->value;
  }

  void keep(const CacheKey& key, Value value, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    bytes += key.text.size();
    if (bytes > max_bytes_ || index_.contains(key.digest)) return;
    entries_.push_front({key.digest, key.text, std::move(value), bytes});
    index_[key.digest] = entries_.begin();
    bytes_ += bytes;
    while (bytes_ > max_bytes_) {
      bytes_ -= entries_.back().bytes;
      index_.erase(entries_.back().digest);
      entries_.pop_back();
    }
  }

  CacheStore& store_;
  const uint64_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Digest, typename std::list<Entry>::iterator, DigestHash> index_;
  OnceTable<std::string, Value> requests_;  // under way, by the text of the key
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> memory_hits_{0}, archive_hits_{0}, misses_{0};
};

KernelCache::Options KernelCache::default_options() {
  Options options;
  options.max_disk_bytes =
      static_cast<uint64_t>(std::max<int64_t>(0, setting_int(Setting::kCacheMaxBytes)));
  if (!setting_bool(Setting::kCache)) return options;
  options.folder = setting_string(Setting::kCacheDir);
  if (options.folder.empty()) {
    if (std::string user = user_cache_folder(); !user.empty()) options.folder = user + "/mlxn";
  }
  return options;
}

KernelCache::KernelCache(Options options)
    : store_(std::move(options.folder), options.max_disk_bytes),
      libraries_(std::make_unique<Table<msl::LibraryInfo>>(store_, options.max_memory_bytes)),
      images_(std::make_unique<Table<msl::Image>>(store_, options.max_memory_bytes)) {}

KernelCache::~KernelCache() = default;

Result<std::shared_ptr<const msl::LibraryInfo>> KernelCache::library_info(
    const CacheKey& key, const ProduceLibraryInfo& produce) {
  return libraries_->get(key, produce);
}

Result<std::shared_ptr<const msl::Image>> KernelCache::image(const CacheKey& key,
                                                             const ProduceImage& produce) {
  return images_->get(key, produce);
}

Result<std::vector<uint8_t>> KernelCache::serialize() const {
  std::vector<std::pair<std::string, std::vector<uint8_t>>> entries;
  libraries_->serialize(entries);
  images_->serialize(entries);
  std::ranges::sort(entries);  // the same kernels give the same bytes
  return serialize_archive(entries);
}

KernelCache::Counters KernelCache::counters() const {
  const CacheStore::Counters& disk = store_.counters();
  return {.memory_hits = libraries_->memory_hits() + images_->memory_hits(),
          .archive_hits = libraries_->archive_hits() + images_->archive_hits(),
          .disk_hits = disk.hits,
          .misses = libraries_->misses() + images_->misses(),
          .writes = disk.writes,
          .failures = disk.failures,
          .evictions = disk.evictions};
}

}  // namespace mlxn::rt
