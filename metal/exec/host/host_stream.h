// Streams for executors whose work is done by threads of this process.
#pragma once

#include "metal/rt/executor/executor.h"
#include "metal/rt/queue/serial_worker.h"

namespace mlxn::host {

// An executor that runs a list on the calling thread. Its streams run submissions one at a time, on
// a thread of their own or on one that waits for them, callbacks included.
class HostExecutor : public rt::Executor {
 public:
  std::unique_ptr<rt::Stream> create_stream() override;
  std::unique_ptr<rt::Event> create_event() override;

  // Runs the list to its end. On failure the rest of the list is not run and the error says which
  // command failed.
  virtual Status run(const rt::CommandList& list, rt::RunTimes& times) = 0;
};

struct StepsResult {
  Status status;
  rt::RunTimes times;
  uint64_t host_round_trips = 0;  // steps that waited for the host
};

// Runs the steps of a submission on the calling thread.
StepsResult run_steps(const rt::Submission& submission, HostExecutor& executor);

}  // namespace mlxn::host
