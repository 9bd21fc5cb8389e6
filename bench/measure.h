#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/problems.h"

namespace mlxn::bench {

struct Timing {
  double best_us = 0, median_us = 0;
  int runs = 0;
};

// Calls `once` until about `seconds` have passed, at least five times, after two calls to warm up.
Timing measure(double seconds, const std::function<void()>& once);

// One way to run the problems. A problem it cannot run gives no timing, and `why` says the reason.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::string name() const = 0;
  virtual std::optional<Timing> run(const Problem& problem, double seconds, Floats& out,
                                    std::string& why) = 0;
};

std::unique_ptr<Runner> make_plain_runner(unsigned threads);
std::unique_ptr<Runner> make_metal_runner(unsigned threads);
std::unique_ptr<Runner> make_opencl_runner(unsigned threads);

std::string read_text(const std::string& name);  // of bench/kernels

}  // namespace mlxn::bench
