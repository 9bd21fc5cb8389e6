#include "metal/msl/exit_gate.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "metal/msl/module.h"

namespace mlxn::msl {
namespace {

class ExitGate {
 public:
  // Whoever is late waits: the process is about to end. If it does not, because the main thread
  // alone has ended, compiling goes on.
  Status enter() {
    close_gate_at_exit();
    std::unique_lock lock(mutex_);
    if (closer_ == std::this_thread::get_id()) {
      return Error(ErrorCode::kInvalidState, "the process is ending, nothing is compiled any more");
    }
    if (closer_ != std::thread::id())
      changed_.wait_for(lock, std::chrono::seconds(5), [] { return false; });
    ++inside_;
    return {};
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    changed_.notify_all();
  }
  void close() {
    if (getpid() != owner_) return;  // a forked child has none of the threads
    std::unique_lock lock(mutex_);
    if (closer_ != std::thread::id()) return;
    closer_ = std::this_thread::get_id();
    changed_.wait(lock, [&] { return inside_ == 0 || is_inside; });
  }

  // Set while this thread compiles: it may call exit() in there.
  static thread_local bool is_inside;

 private:
  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  std::thread::id closer_;  // none: the gate is open
};

thread_local bool ExitGate::is_inside = false;

// Never destroyed: used while static objects are.
ExitGate& gate() {
  static auto& instance = *new ExitGate;
  return instance;
}

// Does something inside the gate.
template <class Function>
auto pass(const Function& function) -> decltype(function()) {
  MLXN_TRY(gate().enter());
  const bool outer = std::exchange(ExitGate::is_inside, true);
  auto result = function();
  ExitGate::is_inside = outer;
  gate().leave();
  return result;
}

// Its end needs no gate: a library frees its own memory and nothing else.
class GatedLibrary : public Library {
 public:
  explicit GatedLibrary(std::unique_ptr<Library> inner) : inner_(std::move(inner)) {}
  const LibraryInfo& info() const override { return inner_->info(); }
  Result<Image> compile(const CompileRequest& request) const override {
    return pass([&] { return inner_->compile(request); });
  }

 private:
  std::unique_ptr<Library> inner_;
};

class GatedCompiler : public Compiler {
 public:
  explicit GatedCompiler(const Compiler* inner) : inner_(inner) {}
  Result<std::unique_ptr<Library>> create_library(std::string_view source,
                                                  const CompileOptions& options) const override {
    MLXN_ASSIGN(auto library, pass([&] { return inner_->create_library(source, options); }));
    return std::unique_ptr<Library>(std::make_unique<GatedLibrary>(std::move(library)));
  }
  Result<std::vector<std::string>> entry_points(std::string_view source,
                                                const CompileOptions& options) const override {
    return pass([&] { return inner_->entry_points(source, options); });
  }
  Result<Preprocessed> preprocess(std::string_view source, const CompileOptions& options,
                                  const PreprocessRequest& request) const override {
    return pass([&] { return inner_->preprocess(source, options, request); });
  }
  Result<std::vector<Kernel>> kernels(std::string_view source,
                                      const CompileOptions& options) const override {
    return pass([&] { return inner_->kernels(source, options); });
  }
  std::string version() const override { return inner_->version(); }

 private:
  const Compiler* const inner_;
};

}  // namespace

const Compiler* behind_exit_gate(const Compiler* compiler) {
  // For processes whose main thread never came here: later than the static objects of the module.
  std::atexit([] { gate().close(); });
  return new GatedCompiler(compiler);
}

void close_gate_at_exit() {
  struct AtEnd {
    ~AtEnd() {
      if (syscall(SYS_gettid) == getpid()) gate().close();
    }
  };
  static thread_local AtEnd at_end;
  gate();
}

}  // namespace mlxn::msl
