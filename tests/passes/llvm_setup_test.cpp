// What belongs to the whole process is there before anybody can compile: LLVM's tables of code
// generators have no locks, and a front end that meets half of an entry crashes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "metal/msl/module.h"

namespace mlxn::msl {
namespace {

// 0: all is there.
int look_into_new_compiler() {
  if (!compiler()) return 1;
  for (const char* triple : {"x86_64-unknown-linux-gnu", "nvptx64-nvidia-cuda"}) {
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target || !target->hasTargetMachine()) return 2;
    if (!std::unique_ptr<llvm::MCRegisterInfo>(target->createMCRegInfo(triple))) return 3;
  }
  return 0;
}

TEST(LlvmSetup, IsDoneBeforeAnythingIsCompiled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which nothing has been compiled
  EXPECT_EXIT(std::_Exit(look_into_new_compiler()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mlxn::msl
