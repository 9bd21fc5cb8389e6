#pragma once

#include <cstdint>
#include <string>

#include "mlxn/core/device/device.h"

namespace mlxn {

// What is chosen for one device alone. Apple's Metal leaves no choice but `runtime`.
struct OpenDeviceOptions {
  uint32_t threads = 0;       // that compute; 0: the setting `cpu_workers`
  std::string target = {};    // level kernels are compiled for; empty: the setting `cpu_target`
  std::string executor = {};  // empty: the setting `executor`
  RuntimeOptions runtime = RuntimeOptions::from_settings();
};

// A device for models: barriers are derived, unless passes are serial. The system's default one
// where nothing else is asked for, else one of its own. kDeviceNotFound says what is wrong with a
// choice.
Result<Device> open_device(OpenDeviceOptions options = {});

}  // namespace mlxn
