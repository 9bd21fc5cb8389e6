// The settings table: how an environment is read, where values come from, and that the
// documentation says the same.
#include "mlxn/base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/options.h"

namespace mlxn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Environment = std::map<std::string, std::string>;

const SettingInfo& info_of(Setting id) {
  return settings()[static_cast<size_t>(id)];
}

SettingValue read(Setting id, const Environment& environment,
                  std::vector<std::string>* problems = nullptr) {
  std::vector<std::string> found;
  auto lookup = [&](const char* variable) -> const char* {
    auto at = environment.find(variable);
    return at == environment.end() ? nullptr : at->second.c_str();
  };
  SettingValue value = read_setting(info_of(id), lookup, found);
  if (problems) {
    *problems = found;
  } else {
    EXPECT_THAT(found, IsEmpty());
  }
  return value;
}

std::string text(Setting id, const Environment& environment) {
  return read(id, environment).text;
}

TEST(SettingsTable, UnsetGivesTheDefault) {
  for (const SettingInfo& info : settings()) {
    SettingValue value = read(info.id, {});
    EXPECT_EQ(value.text, info.default_value) << info.name;
    EXPECT_EQ(to_string(value.origin), "default");
  }
}

TEST(SettingsTable, EveryDefaultParses) {
  for (const SettingInfo& info : settings()) {
    if (info.type == SettingType::kString) continue;
    std::string variable = environment_name(info);
    EXPECT_EQ(text(info.id, {{variable, std::string(info.default_value)}}), info.default_value);
  }
}

// One parser for all truth values: "MLX_PROFILE_CB=0" does not switch profiling on.
TEST(SettingsTable, TruthValues) {
  for (const char* off : {"0", "false", "off", "no", "OFF", "False"}) {
    EXPECT_EQ(text(Setting::kProfileCb, {{"MLX_PROFILE_CB", off}}), "0") << off;
    EXPECT_EQ(text(Setting::kCache, {{"MLXN_CACHE", off}}), "0") << off;
  }
  for (const char* on : {"1", "true", "on", "yes", "YES", "On"}) {
    EXPECT_EQ(text(Setting::kProfileCb, {{"MLX_PROFILE_CB", on}}), "1") << on;
  }
}

TEST(SettingsTable, WrongValuesGiveTheDefaultAndAreTold) {
  std::vector<std::string> problems;
  SettingValue value = read(Setting::kResidency, {{"MLXN_RESIDENCY", "perhaps"}}, &problems);
  EXPECT_EQ(value.text, "1");
  EXPECT_EQ(value.origin.source, SettingOrigin::Source::kDefault);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("MLXN_RESIDENCY = \"perhaps\": expected a truth")));
  value = read(Setting::kCpuWorkers, {{"MLXN_CPU_WORKERS", "2x"}}, &problems);
  EXPECT_EQ(value.text, "0");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("expected an integer")));
  value = read(Setting::kAutoBarrier, {{"HF2Q_AUTO_BARRIER", "2"}}, &problems);
  EXPECT_EQ(value.text, "0");
  EXPECT_THAT(problems, ElementsAre(HasSubstr("HF2Q_AUTO_BARRIER = \"2\"")));
}

TEST(SettingsTable, EmptyVariablesCountAsUnset) {
  SettingValue value = read(Setting::kResidency, {{"MLXN_RESIDENCY", ""}});
  EXPECT_EQ(value.text, "1");
  EXPECT_EQ(value.origin.source, SettingOrigin::Source::kDefault);
  value = read(Setting::kResidency, {{"MLXN_RESIDENCY", ""}, {"HF2Q_NO_RESIDENCY", "1"}});
  EXPECT_EQ(value.text, "0");
  EXPECT_EQ(value.origin.variable, "HF2Q_NO_RESIDENCY");
  EXPECT_EQ(text(Setting::kLog, {{"MLXN_LOG", ""}}), "warning");
  EXPECT_EQ(text(Setting::kCpuSpinUs, {{"MLXN_CPU_SPIN_US", ""}}), "50");
  EXPECT_EQ(text(Setting::kCacheMaxBytes, {{"MLXN_CACHE_MAX_BYTES", ""}}), "1G");
}

TEST(SettingsTable, NamesOfTheOriginal) {
  const std::pair<const char*, Setting> kNames[] = {
      {"HF2Q_AUTO_BARRIER", Setting::kAutoBarrier},
      {"HF2Q_ENCODER_SESSION", Setting::kEncoderSession},
      {"HF2Q_FORCE_SERIAL_DISPATCH", Setting::kSerialDispatch},
      {"MLX_UNRETAINED_REFS", Setting::kUnretainedReferences},
      {"MLX_PROFILE_CB", Setting::kProfileCb},
      {"MLX_PROFILE_DISPATCH", Setting::kProfileDispatch},
      {"MLX_PROFILE_BARRIERS", Setting::kProfileBarriers},
      {"MLX_NATIVE_LOG_INIT", Setting::kLogInit},
      {"HF2Q_PROFILE_RESIDENCY_ABORT", Setting::kLogResidency},
      {"HF2Q_REORDER_DUMP", Setting::kLogReorder},
      {"HF2Q_MLX_TIMING", Setting::kLogGraph},
      {"HF2Q_GRAPH_DIAG", Setting::kLogGraph},
  };
  for (const auto& [variable, id] : kNames) {
    SettingValue value = read(id, {{variable, "1"}});
    EXPECT_EQ(value.text, "1") << variable;
    EXPECT_EQ(value.origin.source, SettingOrigin::Source::kEnvironment);
    EXPECT_EQ(to_string(value.origin), variable);
  }
  EXPECT_EQ(text(Setting::kMetalCapture, {{"MLX_METAL_CAPTURE", "/a/b.gputrace"}}),
            "/a/b.gputrace");
}

TEST(SettingsTable, NoResidencyIsInverted) {
  EXPECT_EQ(text(Setting::kResidency, {{"HF2Q_NO_RESIDENCY", "1"}}), "0");
  EXPECT_EQ(text(Setting::kResidency, {{"HF2Q_NO_RESIDENCY", "0"}}), "1");
  EXPECT_EQ(text(Setting::kResidency, {{"HF2Q_NO_RESIDENCY", ""}}), "1");
  EXPECT_EQ(text(Setting::kResidency, {{"MLXN_RESIDENCY", "0"}}), "0");
}

TEST(SettingsTable, OwnNameWinsOverAliases) {
  SettingValue value =
      read(Setting::kAutoBarrier, {{"MLXN_AUTO_BARRIER", "0"}, {"HF2Q_AUTO_BARRIER", "1"}});
  EXPECT_EQ(value.text, "0");
  EXPECT_EQ(to_string(value.origin), "MLXN_AUTO_BARRIER");
  value = read(Setting::kLogGraph, {{"HF2Q_MLX_TIMING", "0"}, {"HF2Q_GRAPH_DIAG", "1"}});
  EXPECT_EQ(value.text, "0");  // the first alias in the table
}

TEST(SettingsTable, NoVariableTwice) {
  std::map<std::string, std::string_view> seen;
  for (const SettingInfo& info : settings()) {
    EXPECT_TRUE(seen.emplace(environment_name(info), info.name).second);
    for (const SettingAlias& alias : aliases_of(info)) {
      EXPECT_TRUE(seen.emplace(alias.variable, info.name).second) << alias.variable;
      EXPECT_TRUE(!alias.inverted || info.type == SettingType::kBool);
    }
  }
}

TEST(SettingsTable, CodeIsAnOriginAndScopesRestoreIt) {
  const SettingOrigin before = setting_origin(Setting::kLogGraph);
  {
    ScopedSetting scoped(Setting::kLogGraph, "yes");
    ASSERT_TRUE(scoped.status());
    EXPECT_EQ(to_string(setting_origin(Setting::kLogGraph)), "code");
    EXPECT_EQ(setting_string(Setting::kLogGraph), "1");
  }
  EXPECT_EQ(to_string(setting_origin(Setting::kLogGraph)), to_string(before));
  ScopedSetting wrong(Setting::kLogGraph, "maybe");
  EXPECT_FALSE(wrong.status());
  EXPECT_EQ(to_string(setting_origin(Setting::kLogGraph)), to_string(before));
}

// Each gate reaches its option, and no other.
TEST(RuntimeOptions, FollowTheSettings) {
  const std::pair<Setting, bool RuntimeOptions::*> kGates[] = {
      {Setting::kAutoBarrier, &RuntimeOptions::auto_barrier},
      {Setting::kEncoderSession, &RuntimeOptions::encoder_session},
      {Setting::kSerialDispatch, &RuntimeOptions::serial_dispatch},
      {Setting::kResidency, &RuntimeOptions::residency},
      {Setting::kUnretainedReferences, &RuntimeOptions::unretained_references},
      {Setting::kProfileCb, &RuntimeOptions::profile_command_buffers},
      {Setting::kProfileDispatch, &RuntimeOptions::profile_dispatches},
      {Setting::kProfileBarriers, &RuntimeOptions::profile_barriers},
      {Setting::kCheckHostAccess, &RuntimeOptions::check_host_access},
      {Setting::kLogInit, &RuntimeOptions::log_init},
      {Setting::kLogResidency, &RuntimeOptions::log_residency},
      {Setting::kLogReorder, &RuntimeOptions::log_reorder},
      {Setting::kLogGraph, &RuntimeOptions::log_graph},
  };
  const RuntimeOptions before = RuntimeOptions::from_settings();
  for (const auto& [id, gate] : kGates) {
    ScopedSetting scoped(id, before.*gate ? "0" : "1");
    const RuntimeOptions after = RuntimeOptions::from_settings();
    for (const auto& [other, other_gate] : kGates) {
      EXPECT_EQ(after.*other_gate, before.*other_gate != (other == id)) << info_of(id).name;
    }
  }
  ScopedSetting path(Setting::kMetalCapture, "somewhere");
  EXPECT_EQ(RuntimeOptions::from_settings().capture_path, "somewhere");
}

std::string documented_row(const SettingInfo& info) {
  std::string names = str("`", environment_name(info), "`");
  for (const SettingAlias& alias : aliases_of(info)) {
    names += str(", `", alias.variable, "`", alias.inverted ? " (inverted)" : "");
  }
  const std::string value = info.default_value.empty() ? "" : str("`", info.default_value, "`");
  return str("| `", info.name, "` | ", names, " | ", value, " | ", info.meaning, " |\n");
}

TEST(SettingsTable, IsTheOneInTheDocumentation) {
  std::ifstream file(MLXN_SOURCE_DIR "/docs/settings.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string rows;
  for (const SettingInfo& info : settings()) rows += documented_row(info);
  EXPECT_THAT(text.str(), HasSubstr(rows)) << "docs/settings.md should have:\n" << rows;
}

}  // namespace
}  // namespace mlxn
