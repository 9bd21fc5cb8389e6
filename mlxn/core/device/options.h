// What a device does by choice. Defaults come from the settings table, once, when options are made;
// after that the environment plays no part, so tests set any gate in code.
#pragma once

#include <cstdint>
#include <string>

namespace mlxn {

// Kinds of conflict between an earlier and a later access to the same bytes.
enum class Hazard : uint8_t {
  kReadAfterWrite = 1,
  kWriteAfterRead = 2,
  kWriteAfterWrite = 4,
};
using HazardMask = uint8_t;
inline constexpr HazardMask kAllHazards = 7;

struct RuntimeOptions {
  bool auto_barrier = false;     // every dispatch is checked for hazards; barriers where needed
  bool encoder_session = false;  // policy for callers that choose between encoders and sessions
  bool serial_dispatch = false;  // serial passes: every dispatch sees all earlier ones
  bool residency = true;         // keep a residency set, where the system has them
  bool unretained_references = false;  // Metal does not retain what is bound; we always do
  bool profile_command_buffers = false;
  bool profile_dispatches = false;
  bool profile_barriers = false;   // time spent in emitting barriers, by the host's clock
  bool check_host_access = false;  // host views of memory that the GPU may be using are errors
  bool log_init = false;           // one line about the residency decision
  bool log_residency = false;      // a line for each registration by a pool
  bool log_reorder = false;        // a line for each reorder pass
  bool log_graph = false;          // phases and barrier counts of each finished graph session
  std::string capture_path;        // frame capture of the first graph session; empty: none
  // Where the profile's trace goes when the device ends; empty: nowhere. Turns on the recording of
  // command buffers. The second device of a process writes to path.2, and so on.
  std::string trace_path;
  // Hazards the tracker looks for. Fewer give races: only for showing that a test can see them.
  HazardMask hazards = kAllHazards;

  static RuntimeOptions from_settings();
};

}  // namespace mlxn
