#pragma once

#include <memory>

#include "metal/rt/executor/executor.h"

namespace mlxn::null {

struct NullOptions {
  bool dispatch_sampling = true;
};

// Gives real memory, performs copies, fills and timestamps, and runs no kernel. Needs no compiler:
// any kernel name loads. For tests of host logic.
std::unique_ptr<rt::Executor> create_executor(const NullOptions& options = {});

}  // namespace mlxn::null
