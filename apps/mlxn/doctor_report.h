// What `mlxn doctor` finds out.
#pragma once

#include <string>
#include <vector>

#include "apps/mlxn/backend.h"
#include "mlxn/core/device/device.h"

namespace mlxn::cli {

struct SettingRow {
  std::string name, value, origin, variable, default_value;
};

struct DeviceReport {
  std::string name;
  DeviceLimits limits;
  bool residency = false;
};

// One kernel compiled and run, and its result checked.
struct SelfTest {
  bool passed = false;
  std::string kernel;
  double compile_ms = 0, run_ms = 0;
  std::string problem;
};

struct DoctorReport {
  std::vector<SettingRow> settings;
  DeviceReport device;
  BackendReport backend;
  SelfTest self_test;
  std::vector<std::string> problems;  // none: healthy
};

DoctorReport examine();

}  // namespace mlxn::cli
