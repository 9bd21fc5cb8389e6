#include "mlxn/core/kernels/kernel_registry.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "mlxn/base/strings.h"
#include "mlxn/core/kernels/internal/kernel_source.h"

namespace mlxn {
namespace {

using Source = std::shared_ptr<KernelSource>;
using SourceMap = std::map<std::string, Source, std::less<>>;

// How well a library's name fits a kernel's: the length of the part that begins it, 0 for none.
size_t fit(std::string_view library, std::string_view kernel) {
  const std::string_view stem = library.substr(library.rfind('/') + 1);  // npos + 1 is 0
  return kernel.starts_with(stem) ? stem.size() : 0;
}

}  // namespace

struct KernelRegistry::Impl {
  void add(SourceMap& map, std::string name, std::string text, SourceOptions options);
  std::shared_ptr<KernelText> intern(std::string text, SourceOptions options);
  Result<Source> find(std::string_view name, const Device& device);
  Result<Source> search(std::string_view name, const Device& device);
  std::vector<std::pair<std::string, Source>> libraries_for(std::string_view kernel) const;

  mutable std::shared_mutex mutex;
  SourceMap kernels;    // by entry point
  SourceMap libraries;  // by library name
  // Which library holds a kernel, as far as it has been asked.
  std::unordered_map<KernelSource::Key, Source, KernelSource::KeyHash> found;
  std::unordered_multimap<uint64_t, std::weak_ptr<KernelText>> texts;  // by hash
  uint64_t generation = 0;                                             // of `libraries`
  std::set<std::string, std::less<>> sets;                             // that are complete
  std::mutex adding_set;
  std::atomic<uint64_t> memory_hits{0}, compiled{0}, failed{0};
};

// One object for equal texts, so that names of the same file share its compiled library.
std::shared_ptr<KernelText> KernelRegistry::Impl::intern(std::string text, SourceOptions options) {
  const uint64_t hash = KernelText::hash_of(text, options);
  auto [at, end] = texts.equal_range(hash);
  while (at != end) {
    auto known = at->second.lock();
    if (known && known->text == text && known->options == options) return known;
    at = known ? std::next(at) : texts.erase(at);
  }
  auto fresh = std::make_shared<KernelText>(std::move(text), std::move(options));
  texts.emplace(hash, fresh);
  return fresh;
}

void KernelRegistry::Impl::add(SourceMap& map, std::string name, std::string text,
                               SourceOptions options) {
  Source replaced;  // dies outside the lock
  std::unique_lock lock(mutex);
  auto shared = intern(std::move(text), std::move(options));
  Source& slot = map[std::move(name)];
  if (slot && &slot->text() == shared.get()) return;
  replaced = std::exchange(slot, std::make_shared<KernelSource>(std::move(shared)));
  if (&map == &libraries) {
    found.clear();
    ++generation;
  }
}

Result<Source> KernelRegistry::Impl::find(std::string_view name, const Device& device) {
  {
    std::shared_lock lock(mutex);
    if (auto at = kernels.find(name); at != kernels.end()) return at->second;
    if (auto at = found.find({device.id(), std::string(name)}); at != found.end()) {
      return at->second;
    }
  }
  return search(name, device);
}

std::vector<std::pair<std::string, Source>> KernelRegistry::Impl::libraries_for(
    std::string_view kernel) const {
  std::vector<std::pair<std::string, Source>> out(libraries.begin(), libraries.end());
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const size_t fit_a = fit(a.first, kernel), fit_b = fit(b.first, kernel);
    return fit_a != fit_b ? fit_a > fit_b : a.first < b.first;
  });
  return out;
}

// Compiles libraries one after the other until one has the kernel. One that does not compile may
// have been the one, so its error is the answer when no other has it.
Result<Source> KernelRegistry::Impl::search(std::string_view name, const Device& device) {
  std::vector<std::pair<std::string, Source>> candidates;
  uint64_t seen;
  {
    std::shared_lock lock(mutex);
    candidates = libraries_for(name);
    seen = generation;
  }
  std::optional<Error> problem;
  for (const auto& [library_name, source] : candidates) {
    auto library = source->text().library(device);
    if (!library) {
      if (!problem) problem = library.error().add_context(str("library '", library_name, "'"));
      continue;
    }
    if (!(*library)->entry_points.contains(name)) continue;
    std::unique_lock lock(mutex);
    if (seen == generation) found.insert_or_assign({device.id(), std::string(name)}, source);
    return source;
  }
  if (problem) return problem->add_context(str("kernel '", name, "'"));
  return Error(ErrorCode::kFunctionNotFound, str("kernel not found: '", name, "'"));
}

KernelRegistry::KernelRegistry() : impl_(std::make_unique<Impl>()) {}
KernelRegistry::~KernelRegistry() = default;

void KernelRegistry::register_source(std::string name, std::string text, SourceOptions options) {
  impl_->add(impl_->kernels, std::move(name), std::move(text), std::move(options));
}

void KernelRegistry::register_library(std::string name, std::string text, SourceOptions options) {
  impl_->add(impl_->libraries, std::move(name), std::move(text), std::move(options));
}

void KernelRegistry::add_once(std::string_view set,
                              const std::function<void(KernelRegistry&)>& add) {
  const auto is_complete = [&] {
    std::shared_lock lock(impl_->mutex);
    return impl_->sets.contains(set);
  };
  if (is_complete()) return;
  std::lock_guard adding(impl_->adding_set);
  if (is_complete()) return;
  add(*this);
  std::unique_lock lock(impl_->mutex);
  impl_->sets.emplace(set);
}

Result<Pipeline> KernelRegistry::get_pipeline(std::string_view name, const Device& device) {
  static const FunctionConstants kNone;
  return get_pipeline(name, device, kNone);
}

Result<Pipeline> KernelRegistry::get_pipeline(std::string_view name, const Device& device,
                                              const FunctionConstants& constants) {
  bool built = true;  // a failed search counts as a failed build
  auto source = impl_->find(name, device);
  auto pipeline = source ? (*source)->pipeline(name, constants, device, built)
                         : Result<Pipeline>(std::move(source).error());
  auto& counter = !pipeline ? impl_->failed : built ? impl_->compiled : impl_->memory_hits;
  counter.fetch_add(1, std::memory_order_relaxed);
  return pipeline;
}

bool KernelRegistry::is_available(std::string_view name, const Device& device,
                                  const FunctionConstants& constants) {
  auto source = impl_->find(name, device);
  if (!source) return false;
  const KernelSource::Key key{device.id(), std::string(name) + constants.to_string()};
  auto answer = (*source)->availability.get(key, [&]() -> Result<bool> {
    auto pipeline = get_pipeline(name, device, constants);
    if (pipeline) return true;
    // Only what would fail again is worth remembering.
    const ErrorCode code = pipeline.error().code();
    if (code == ErrorCode::kCompileFailed || code == ErrorCode::kUnsupported) return false;
    return std::move(pipeline).error();
  });
  return answer && *answer;
}

Status KernelRegistry::prewarm(const Device& device, ArrayRef<PipelineRequest> requests,
                               unsigned threads, const PrewarmProgress& progress) {
  std::mutex mutex;
  size_t next = 0, done = 0, failed_at = requests.size();
  Status status;
  auto work = [&] {
    std::unique_lock lock(mutex);
    while (next < requests.size()) {
      const size_t i = next++;
      lock.unlock();
      auto pipeline = get_pipeline(requests[i].name, device, requests[i].constants);
      lock.lock();
      if (!pipeline && i < failed_at) {
        failed_at = i;
        status = std::move(pipeline).error();
      }
      ++done;
      if (progress) progress(done, requests.size(), requests[i].name);
    }
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min<size_t>(threads, requests.size()); ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return status;
}

bool KernelRegistry::is_cached(std::string_view key, const Device& device) const {
  const KernelSource::Key wanted{device.id(), std::string(key)};
  std::shared_lock lock(impl_->mutex);
  // A source under the kernel's own name hides the libraries.
  auto own = impl_->kernels.find(key.substr(0, key.find('|')));
  if (own != impl_->kernels.end()) return own->second->contains(wanted);
  return std::any_of(impl_->libraries.begin(), impl_->libraries.end(),
                     [&](const auto& library) { return library.second->contains(wanted); });
}

size_t KernelRegistry::cached_count() const {
  std::shared_lock lock(impl_->mutex);
  size_t count = 0;
  for (const SourceMap* map : {&impl_->kernels, &impl_->libraries}) {
    for (const auto& [name, source] : *map) count += source->size();
  }
  return count;
}

size_t KernelRegistry::source_count() const {
  std::shared_lock lock(impl_->mutex);
  return impl_->kernels.size() + impl_->libraries.size();
}

Result<std::vector<std::string>> KernelRegistry::kernel_names(const Device& device) {
  std::set<std::string> names;
  SourceMap libraries;
  {
    std::shared_lock lock(impl_->mutex);
    for (const auto& [name, source] : impl_->kernels) names.insert(name);
    libraries = impl_->libraries;
  }
  for (const auto& [name, source] : libraries) {
    auto library = source->text().library(device);
    if (!library) return library.error().add_context(str("library '", name, "'"));
    names.insert((*library)->entry_points.begin(), (*library)->entry_points.end());
  }
  return std::vector<std::string>(names.begin(), names.end());
}

RegistryStats KernelRegistry::stats() const {
  RegistryStats stats;
  stats.sources = source_count();
  stats.pipelines = cached_count();
  stats.memory_hits = impl_->memory_hits.load(std::memory_order_relaxed);
  stats.compiled = impl_->compiled.load(std::memory_order_relaxed);
  stats.failed = impl_->failed.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace mlxn
