#include "metal/exec/cpu/target_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/exec/cpu/cpu_executor.h"
#include "metal/exec/cpu/cpu_target.h"

namespace mlxn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

msl::Target machine(const std::string& cpu, const std::string& features = "") {
  return {msl::Target::Kind::kCpu, cpu, features};
}

std::vector<std::string> levels(const msl::Target& target) {
  std::vector<std::string> names;
  for (const msl::Target& level : cpu::plain_levels(target)) {
    names.push_back(level.cpu + level.features);
  }
  return names;
}

TEST(TargetLevels, AMachineRunsItsLevelAndAllBelow) {
  EXPECT_THAT(levels(machine("x86-64-v4", "+avx512bf16")),
              ElementsAre("x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v4", "+gfni,+avx512vnni,+avx512ifma,+avx512bf16")),
              ElementsAre("x86-64-v4+avx512bf16,+avx512vnni", "x86-64-v4+avx512vnni", "x86-64-v4",
                          "x86-64-v3", "x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v4", "+avxvnni,+avx512vnni")),
              ElementsAre("x86-64-v4+avx512vnni", "x86-64-v4", "x86-64-v3+avxvnni", "x86-64-v3",
                          "x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v3", "+avxvnni")),
              ElementsAre("x86-64-v3+avxvnni", "x86-64-v3", "x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v4", "+avx512vnni2,+avx512bf16")),
              ElementsAre("x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v2", "+f16c")), ElementsAre("x86-64-v2", "x86-64"));
  EXPECT_THAT(levels(machine("x86-64")), ElementsAre("x86-64"));
  EXPECT_THAT(levels(machine("x86-64-v5")), ElementsAre());
  EXPECT_THAT(levels(machine("znver4")), ElementsAre());
}

TEST(TargetLevels, WhatTheMachineDoesNotHaveIsRefused) {
  EXPECT_TRUE(cpu::check_level("x86-64-v3", machine("x86-64-v3", "+gfni")));
  EXPECT_TRUE(cpu::check_level("x86-64", machine("x86-64-v2")));
  EXPECT_TRUE(cpu::check_level("x86-64-v4-dot", machine("x86-64-v4", "+avx512bf16,+avx512vnni")));
  EXPECT_FALSE(cpu::check_level("x86-64-v4-dot", machine("x86-64-v4", "+avx512vnni")));
  EXPECT_TRUE(cpu::check_level("x86-64-v4-vnni", machine("x86-64-v4", "+avx512vnni")));
  EXPECT_FALSE(cpu::check_level("x86-64-v4-vnni", machine("x86-64-v4", "+avxvnni")));
  EXPECT_FALSE(cpu::check_level("x86-64-v3-vnni", machine("x86-64-v4", "+avx512vnni")));
  const Status above = cpu::check_level("x86-64-v4", machine("x86-64-v3"));
  ASSERT_FALSE(above);
  EXPECT_THAT(above.error().message(), HasSubstr("'x86-64-v4', expected a level up to x86-64-v3"));
  for (const char* name : {"x86-64-v5", "x86-64-v0", "x86-64-v1", "x86-64-", "znver4", "native"}) {
    EXPECT_FALSE(cpu::check_level(name, machine("x86-64-v4"))) << name;
  }
}

TEST(TargetLevels, ANameStandsForAProcessorAndItsFeatures) {
  EXPECT_EQ(cpu::target_of("x86-64-v3").to_key(), machine("x86-64-v3").to_key());
  EXPECT_EQ(cpu::target_of("x86-64-v4-dot").to_key(),
            machine("x86-64-v4", "+avx512bf16,+avx512vnni").to_key());
  EXPECT_EQ(cpu::target_of("x86-64-v9").to_key(), machine("x86-64-v9").to_key());
}

TEST(TargetLevels, TheExecutorRunsNothingForAnotherMachine) {
  cpu::CpuOptions options;
  EXPECT_TRUE(cpu::check_target(options));
  options.workers = 1;
  options.target.cpu = "x86-64-v9";
  EXPECT_FALSE(cpu::check_target(options));
  rt::RunTimes times;
  const Status status = cpu::create_executor(options)->run({}, times);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), HasSubstr(cpu::detect_target().cpu));
}

}  // namespace
}  // namespace mlxn
