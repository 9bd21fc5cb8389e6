// mlxn_limits [THREADS]: what the machine gives at this moment, as one line of JSON: the rate at
// which so many threads read memory that no cache holds, and the time they take to meet at a
// barrier. Both change from minute to minute on a shared machine, so figures of a model need them
// beside them.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "bench/huge_pages.h"

namespace mlxn::bench {
namespace {

constexpr size_t kBytes = size_t{256} << 20;
constexpr int kPasses = 5, kMeetings = 20000;

// All threads leave `meet` once all have come.
class Meeting {
 public:
  explicit Meeting(unsigned threads) : threads_(threads) {}

  void meet() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (came_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      came_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int turns = 0; round_.load(std::memory_order_acquire) == round; ++turns) {
      // Where somebody's core is taken, spinning would keep it from coming.
      if (turns > 10000) std::this_thread::yield();
    }
  }

 private:
  const unsigned threads_;
  alignas(64) std::atomic<unsigned> came_ = 0;
  alignas(64) std::atomic<unsigned> round_ = 0;
};

// The calling thread is one of them: one more would take a core from the others.
double seconds_of(unsigned threads, const std::function<void(unsigned thread)>& work) {
  Meeting start(threads), end(threads);
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i) {
    pool.emplace_back([&, i] {
      start.meet();
      work(i);
      end.meet();
    });
  }
  start.meet();
  const auto begin = std::chrono::steady_clock::now();
  work(0);
  end.meet();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  for (std::thread& thread : pool) thread.join();
  return passed.count();
}

uint64_t sum_of(const uint8_t* bytes, size_t size) {
  const auto* words = reinterpret_cast<const uint64_t*>(bytes);
  uint64_t sum = 0;
  for (size_t i = 0; i < size / sizeof(uint64_t); ++i) sum += words[i];
  return sum;
}

// The best of some passes, in GB/s.
double read_rate(unsigned threads) {
  const Bytes memory(kBytes, 1);
  const size_t share = kBytes / threads / 64 * 64;
  std::atomic<uint64_t> sink = 0;
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const double seconds = seconds_of(
        threads, [&](unsigned thread) { sink += sum_of(memory.data() + thread * share, share); });
    best = std::max(best, static_cast<double>(share * threads) / seconds * 1e-9);
  }
  // Read, so that the sums are made.
  return sink.load() == 0 ? 0 : best;
}

double barrier_ns(unsigned threads) {
  Meeting meeting(threads);
  const double seconds = seconds_of(threads, [&](unsigned) {
    for (int i = 0; i < kMeetings; ++i) meeting.meet();
  });
  return seconds / kMeetings * 1e9;
}

}  // namespace
}  // namespace mlxn::bench

int main(int argc, char** argv) {
  const long given =
      argc > 1 ? std::strtol(argv[1], nullptr, 10) : std::thread::hardware_concurrency();
  if (argc > 2 || given < 1 || given > 1024) {
    std::fprintf(stderr, "mlxn_limits: expected at most one argument, 1 to 1024 threads\n");
    return 2;
  }
  const auto threads = static_cast<unsigned>(given);
  std::printf("{\"threads\": %u, \"read_gb_s\": %.1f, \"barrier_ns\": %.0f}\n", threads,
              mlxn::bench::read_rate(threads), mlxn::bench::barrier_ns(threads));
  return 0;
}
