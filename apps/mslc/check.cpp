// --check: builds every entry point through code generation and counts.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

#include "apps/mslc/options.h"
#include "mlxn/base/read_file.h"
#include "mlxn/base/strings.h"

namespace mlxn::mslc {

namespace {

// Entry points compiled together: parsing the file once for many kernels is much cheaper.
constexpr size_t kBatch = 32;

std::string first_diagnostic(const std::string& text) {
  size_t error = text.find("error: ");
  size_t begin = error == std::string::npos ? 0 : text.rfind('\n', error) + 1;  // npos + 1 is 0
  return text.substr(begin, text.find('\n', begin) - begin);
}

class Checker {
 public:
  Checker(const Options& options, const msl::Compiler& compiler,
          const std::vector<ConstantText>& constants)
      : options_(options), compiler_(compiler), constants_(constants) {}

  int run() {
    missing_.insert(options_.entries.begin(), options_.entries.end());
    for (const std::string& path : options_.files) check_file(path);
    for (const std::string& name : missing_)
      std::printf("no kernel named '%s' in %zu files\n", name.c_str(), options_.files.size());
    std::printf("%zu of %zu entry points compiled\n", compiled_.load(), total_.load());
    return compiled_ == total_ && files_failed_ == 0 && missing_.empty() ? 0 : 1;
  }

 private:
  void fail(const std::string& path, const std::string& entry, const Error& error) {
    std::lock_guard lock(mutex_);
    std::printf("%s: %s: %s\n", path.c_str(), entry.c_str(),
                first_diagnostic(error.message()).c_str());
  }

  // Those of a file's kernels that are asked for.
  std::vector<std::string> wanted(const std::vector<std::string>& names) {
    if (options_.entries.empty()) return names;
    std::vector<std::string> result;
    for (const std::string& name : names) {
      if (!std::count(options_.entries.begin(), options_.entries.end(), name)) continue;
      missing_.erase(name);
      result.push_back(name);
    }
    return result;
  }

  void check_file(const std::string& path) {
    auto source = read_file(path);
    if (!source) {
      ++files_failed_;
      fail(path, "file", source.error());
      return;
    }
    msl::CompileOptions compile = options_for(options_, path);
    auto library = compiler_.create_library(*source, compile);
    if (!library) {
      auto found = compiler_.entry_points(*source, compile);
      size_t count = found ? wanted(*found).size() : 0;
      total_ += count;
      ++files_failed_;
      fail(path, found ? str("all ", count, " entry points") : "file", library.error());
      return;
    }
    auto constants = resolve_constants(constants_, (*library)->info());
    if (!constants) {
      ++files_failed_;
      return fail(path, "constants", constants.error());
    }
    std::vector<std::string> names;
    for (const msl::FunctionInfo& function : (*library)->info().functions)
      names.push_back(function.name);
    names = wanted(names);
    total_ += names.size();
    compile_all(path, **library, names, *constants);
  }

  void compile_all(const std::string& path, const msl::Library& library,
                   const std::vector<std::string>& names,
                   const std::vector<msl::ConstantValue>& constants) {
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t begin; (begin = next.fetch_add(kBatch)) < names.size();) {
        size_t end = std::min(begin + kBatch, names.size());
        std::vector<std::string> batch(names.begin() + begin, names.begin() + end);
        if (compile(library, batch, constants)) {
          compiled_ += batch.size();
          continue;
        }
        for (const std::string& name : batch) {  // find out which one
          Status status = compile(library, {name}, constants);
          if (status)
            ++compiled_;
          else
            fail(path, name, status.error());
        }
      }
    };
    unsigned jobs =
        options_.jobs ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < jobs && i * kBatch < names.size(); ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
  }

  Status compile(const msl::Library& library, const std::vector<std::string>& names,
                 const std::vector<msl::ConstantValue>& constants) {
    msl::CompileRequest request = request_for(options_);
    request.entry_points = names;
    request.constants = constants;
    auto image = library.compile(request);
    if (!image) return std::move(image).error();
    return {};
  }

  const Options& options_;
  const msl::Compiler& compiler_;
  const std::vector<ConstantText>& constants_;
  std::atomic<size_t> total_ = 0, compiled_ = 0, files_failed_ = 0;
  std::set<std::string> missing_;  // asked for, not found yet
  std::mutex mutex_;
};

}  // namespace

int run_check(const Options& options, const msl::Compiler& compiler,
              const std::vector<ConstantText>& constants) {
  return Checker(options, compiler, constants).run();
}

}  // namespace mlxn::mslc
