// Frame captures: what command buffers ran, with all that is needed to run it again.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "metal/rt/executor/prepared_list.h"
#include "metal/rt/library/library.h"
#include "metal/rt/queue/work.h"
#include "metal/rt/trace/trace_file.h"
#include "mlxn/base/byte_codec.h"

namespace mlxn::rt {

class QueueObject;

// One capture, from start to the last command buffer that was committed before stop. Lists that it
// records run one at a time, so that the order in the file is the order in which they ran. What
// they use stays alive until the end.
class Trace {
 public:
  static Result<std::shared_ptr<Trace>> start(const std::string& path);

  // A command buffer that belongs to the capture was committed; it will call end_buffer.
  void begin_buffer();
  // Around the run of a list, which is recorded: waits until no other one runs. `first`: of its
  // command buffer.
  void begin_list(const Work& work, bool first);
  void end_list();
  void end_buffer();
  // No more command buffers begin. The file is complete when those that did have ended.
  void stop();

 private:
  using Range = std::pair<uint64_t, uint64_t>;  // offset, size
  struct Seen {
    std::shared_ptr<const void> storage;  // keeps the memory
    const Memory* memory;
    uint64_t hash;              // as last seen
    uint64_t checked_in = 0;    // number of the list it was compared for
    uint64_t written_in = 0;    // number of the last list that may write it
    bool written = false;       // a recorded command may have written it
    std::vector<Range> unsure;  // holds times, which are never the same
  };

  Status write_list(const Work& work, bool first);
  Status write_command(ByteWriter& out, const CommandList& list, const Dispatch& dispatch);
  Status write_command(ByteWriter& out, const CommandList& list, const Copy& copy);
  Status write_command(ByteWriter& out, const CommandList& list, const Fill& fill);
  Status write_command(ByteWriter& out, const CommandList& list, const Barrier& barrier);
  Status write_command(ByteWriter& out, const CommandList& list, const Timestamp& stamp);
  // The commands of prepared lists are written in the place of this one.
  Status write_command(ByteWriter& out, const CommandList& list, const Execute& execute);
  // The number of a memory in the file; stores its contents where the file does not know them.
  Result<uint64_t> memory_number(const Memory* memory, bool writes);
  Result<uint64_t> pipeline_number(const Pipeline* pipeline);
  Result<uint64_t> library_number(const std::shared_ptr<const LibraryUnit>& library);
  void note_results();
  Status write_final(uint64_t number, const Seen& seen);
  void fail(Error error);
  void finish_if_done(std::unique_lock<std::mutex> lock);

  std::mutex mutex_;
  std::condition_variable list_ended_;
  bool list_runs_ = false;
  std::unique_ptr<TraceWriter> file_;  // null after a failure and at the end
  std::optional<Error> failure_;
  uint64_t pending_ = 0;
  bool stopped_ = false;
  bool finished_ = false;
  uint64_t lists_ = 0;
  std::vector<Seen> memories_;
  std::unordered_map<const void*, uint64_t> memory_numbers_, pipeline_numbers_, library_numbers_;
  std::vector<std::shared_ptr<const void>> kept_;  // origins of pipelines, and libraries
  // What the current list's objects stand for, by address, and their labels.
  std::unordered_map<const void*, const Life*> lives_;
  // Of the current list: what it executes, the inline bytes of all, and where those of the commands
  // that are being written begin.
  std::vector<std::shared_ptr<const PreparedList>> prepared_;
  std::vector<std::byte> inline_bytes_;
  uint64_t inline_begin_ = 0;
};

// The capture that a command buffer committed to this queue now belongs to, begun; null for none.
std::shared_ptr<Trace> trace_for(const QueueObject& queue);

// Whether a kernel takes addresses from a buffer: they mean nothing in another process.
bool reads_addresses(const msl::Kernel& kernel);

}  // namespace mlxn::rt
