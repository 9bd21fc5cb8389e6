#pragma once

namespace mlxn::msl {

// Sets what LLVM keeps for the whole process: code generators, options, recovery from crashes. To
// be called once, before anything is compiled: LLVM's tables have no locks, and the front end looks
// into them too, so that one thread must not fill them while another compiles.
void set_up_llvm();

}  // namespace mlxn::msl
