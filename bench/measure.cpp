#include "bench/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

namespace mlxn::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Splits the items over threads that wait for work by spinning, so that plain loops pay next to
// nothing for being parallel.
class PlainRunner : public Runner {
 public:
  explicit PlainRunner(unsigned threads) : threads_(threads) {
    for (unsigned t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
  }
  ~PlainRunner() override {
    stop_ = true;
    for (std::thread& worker : workers_) worker.join();
  }
  std::string name() const override { return "plain C++ -O3"; }

  std::optional<Timing> run(const Problem& problem, double seconds, Floats& out,
                            std::string&) override {
    out.assign(problem.outputs, 0);
    problem_ = &problem;
    out_ = out.data();
    measuring_ = true;
    const Timing timing = measure(seconds, [&] {
      finished_ = 0;
      ++round_;
      part(0);
      while (finished_ != threads_ - 1) std::this_thread::yield();
    });
    measuring_ = false;
    return timing;
  }

 private:
  void part(unsigned index) {
    const size_t begin = problem_->items * index / threads_;
    const size_t end = problem_->items * (index + 1) / threads_;
    problem_->plain(*problem_, out_, begin, end);
  }
  void work(unsigned index) {
    for (uint64_t seen = 0; !stop_;) {
      if (round_ == seen) {
        // Out of the way while others are measured.
        if (!measuring_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::yield();
        continue;
      }
      seen = round_;
      part(index);
      ++finished_;
    }
  }

  const unsigned threads_;
  std::vector<std::thread> workers_;
  const Problem* problem_ = nullptr;
  float* out_ = nullptr;
  std::atomic<uint64_t> round_{0};
  std::atomic<unsigned> finished_{0};
  std::atomic<bool> measuring_{false}, stop_{false};
};

}  // namespace

Timing measure(double seconds, const std::function<void()>& once) {
  once();
  once();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < 5 || Clock::now() < end) {
    const auto start = Clock::now();
    once();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::sort(times);
  return {times.front(), times[times.size() / 2], static_cast<int>(times.size())};
}

std::unique_ptr<Runner> make_plain_runner(unsigned threads) {
  return std::make_unique<PlainRunner>(threads);
}

std::string read_text(const std::string& name) {
  std::ifstream file(std::string(MLXN_BENCH_FOLDER) + "/kernels/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace mlxn::bench
