// The executors of this build, by name. metal/exec/registry.cpp lists them; nothing else in the run
// time knows one by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metal/rt/executor/executor.h"

namespace mlxn::rt {

struct ExecutorOptions {
  uint32_t worker_count = 0;  // 0: the executor chooses
  std::string cpu_target;     // empty: the setting
  bool dispatch_sampling = true;
  uint64_t schedule_seed = 0;    // shuffles what runs between two barriers; 0: the setting
  uint32_t watchdog_ms = 0;      // limit of a command list; 0: the setting
  uint32_t guard_memory = 0;     // 1: against stores outside, 2: loads too; 0: the setting
  bool foreign_target = false;   // compiles for machines other than this one
  int forced_tier = -1;          // the lowest tier of kernels; -1: the setting
  bool reverse_threads = false;  // coroutines run in descending order
};

struct ExecutorEntry {
  const char* name;
  bool real;  // runs kernels: listed by MTL::CopyAllDevices
  Result<std::unique_ptr<Executor>> (*create)(const ExecutorOptions& options);
};

// The first one is the default.
const std::vector<ExecutorEntry>& executors();

}  // namespace mlxn::rt
