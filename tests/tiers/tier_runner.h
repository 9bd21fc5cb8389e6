// Compiles kernels for a chosen tier and shape and runs them on the CPU executor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metal/exec/cpu/cpu_executor.h"
#include "metal/msl/interface.h"
#include "metal/rt/executor/executor.h"

namespace mlxn::tiers {

// A way to run a kernel.
struct Way {
  int forced_tier = -1;
  msl::Shape shape{msl::Shape::Kind::kAny, {0, 0, 0}};
  bool descending = false;
  bool optimise = true;
};
inline constexpr int kOracleTier = 3;
// Coroutines, nothing optimised: what the optimiser and the other tiers must not change. In
// descending order it shows races.
inline Way oracle(bool descending = false) {
  return {kOracleTier, {msl::Shape::Kind::kAny, {0, 0, 0}}, descending, /*optimise=*/false};
}
std::string to_text(const msl::Shape& shape);

struct Launch {
  uint32_t group[3] = {1, 1, 1};
  uint32_t grid[3] = {1, 1, 1};  // threads
};
std::string to_text(const Launch& launch);

// Memory bound at an index.
struct Buffer {
  uint32_t index = 0;
  std::span<std::byte> bytes;
};

// Executors with one worker, in the two orders: threadgroups run one after the other on the calling
// thread, so that a difference is one of the tier alone.
class Machine {
 public:
  // Guarded: a kernel that leaves its threadgroup memory or its frame fails.
  explicit Machine(bool guarded = false);
  const msl::Target& target() const;
  Result<msl::Image> compile(const msl::Library& library, const std::vector<std::string>& entries,
                             const Way& way,
                             const std::vector<msl::ConstantValue>& constants = {}) const;
  Result<std::shared_ptr<rt::Pipeline>> load(const msl::Image& image, const std::string& kernel,
                                             const Way& way) const;
  Status run(const rt::Pipeline& pipeline, const Way& way, const Launch& launch,
             std::span<const Buffer> buffers,
             std::span<const rt::ThreadgroupMemory> threadgroup_memory) const;

 private:
  host::HostExecutor& executor(const Way& way) const { return *(way.descending ? down_ : up_); }
  std::unique_ptr<host::HostExecutor> up_, down_;
};

}  // namespace mlxn::tiers
