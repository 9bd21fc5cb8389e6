// The versions of an indirect command buffer that executors see.
#include "metal/rt/encode/indirect_commands.h"

#include <gtest/gtest.h>

namespace mlxn::rt {
namespace {

class IndirectCommandsTest : public testing::Test {
 protected:
  static Ref<DeviceObject> make_device() {
    metal::DeviceOptions options;
    options.executor = "null";
    auto made = DeviceObject::create(options);
    EXPECT_TRUE(made) << made.error().to_string();
    return made ? *made : nullptr;
  }
  static void set_barrier(IndirectCommands& commands, uint64_t index) {
    commands.change(index, "setBarrier", [](IndirectCommand& command) {
      command.barrier = true;
      return IndirectCommands::Finding();
    });
  }

  const Ref<DeviceObject> device = make_device();
  IndirectCommands commands{*device, {}, 3};
};

// What an executor compiles for a version serves until something changes.
TEST_F(IndirectCommandsTest, AVersionStaysUntilAChange) {
  const auto first = commands.current();
  EXPECT_EQ(first->begins.size(), 4u);
  EXPECT_EQ(commands.current(), first);
  set_barrier(commands, 1);
  const auto second = commands.current();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->identity, first->identity);
  EXPECT_GT(second->version, first->version);
  EXPECT_EQ(commands.current(), second);
  commands.reset(0, 1);
  EXPECT_GT(commands.current()->version, second->version);
}

TEST_F(IndirectCommandsTest, ACopyChangesItsTargetOnly) {
  IndirectCommands other{*device, {}, 1};
  const auto source = commands.current(), target = other.current();
  EXPECT_NE(source->identity, target->identity);
  IndirectCommands::copy(commands, 2, 1, other, 0);
  EXPECT_EQ(commands.current(), source);
  EXPECT_NE(other.current(), target);
}

TEST_F(IndirectCommandsTest, WhatIsInheritedMakesAVersionForItself) {
  IndirectCommands inheriting{*device, {.inherits_buffers = true}, 1};
  const InheritedState state;
  const auto one = inheriting.prepare(&state), two = inheriting.prepare(&state);
  EXPECT_EQ(one->identity, two->identity);
  EXPECT_NE(one->version, two->version);
}

}  // namespace
}  // namespace mlxn::rt
