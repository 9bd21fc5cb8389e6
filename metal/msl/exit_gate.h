// Keeps compilations and the end of the process apart. The compiler's libraries destroy their
// static objects while the process exits; a thread that still compiles would use them after that.
#pragma once

#include <memory>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// The same compiler, whose work waits at a gate that closes when the process exits: exit() then
// waits for what is under way, and what comes later does not begin. Lives as long as the process.
const Compiler* behind_exit_gate(const Compiler* compiler);

}  // namespace mlxn::msl
