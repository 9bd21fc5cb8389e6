#include "mlxn/core/device/options.h"

#include "mlxn/base/settings.h"

namespace mlxn {

RuntimeOptions RuntimeOptions::from_settings() {
  RuntimeOptions options;
  options.auto_barrier = setting_bool(Setting::kAutoBarrier);
  options.encoder_session = setting_bool(Setting::kEncoderSession);
  options.serial_dispatch = setting_bool(Setting::kSerialDispatch);
  options.residency = setting_bool(Setting::kResidency);
  options.unretained_references = setting_bool(Setting::kUnretainedReferences);
  options.profile_command_buffers = setting_bool(Setting::kProfileCb);
  options.profile_dispatches = setting_bool(Setting::kProfileDispatch);
  options.profile_barriers = setting_bool(Setting::kProfileBarriers);
  options.check_host_access = setting_bool(Setting::kCheckHostAccess);
  options.log_init = setting_bool(Setting::kLogInit);
  options.log_residency = setting_bool(Setting::kLogResidency);
  options.log_reorder = setting_bool(Setting::kLogReorder);
  options.log_graph = setting_bool(Setting::kLogGraph);
  options.capture_path = setting_string(Setting::kMetalCapture);
  options.trace_path = setting_string(Setting::kTrace);
  return options;
}

}  // namespace mlxn
