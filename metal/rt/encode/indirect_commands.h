// What an indirect command buffer holds, and the prepared lists made of it.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "metal/rt/encode/dispatch_checks.h"
#include "metal/rt/executor/prepared_list.h"

namespace mlxn::rt {

struct IndirectOptions {
  MTL::IndirectCommandType types = 0;
  bool inherits_pipeline = false, inherits_buffers = false;
  uint64_t most_buffers = 0, most_threadgroup_buffers = 0;  // in a command
};

// One place. It keeps what it uses from going, whatever becomes of the objects.
struct IndirectCommand {
  enum class Kind { kNone, kThreads, kThreadgroups };
  struct Bound {
    uint32_t index = 0;
    BufferSlot slot;
    std::shared_ptr<const Life> life;
  };

  Ref<PipelineObject> pipeline;
  std::vector<Bound> buffers;
  std::array<uint64_t, MSL_MAX_THREADGROUP_BUFFERS> threadgroup_bytes = {};
  Kind kind = Kind::kNone;
  Size3 size, group;  // size: of the grid, in threads or threadgroups
  bool barrier = false;
  std::optional<Error> wrong;  // the first wrong call
};

// What an encoder had set when it executed commands that inherit.
struct InheritedState {
  Ref<PipelineObject> pipeline;
  std::array<BufferSlot, MSL_MAX_BUFFERS> slots;
  std::vector<std::byte> bytes;  // of slots without memory
  std::array<uint64_t, MSL_MAX_THREADGROUP_BUFFERS> threadgroup_bytes = {};
};

// Thread-safe. Lives as long as work that executes it.
class IndirectCommands : public ListSource {
 public:
  IndirectCommands(const DeviceObject& device, const IndirectOptions& options, uint64_t count);

  // What is wrong with a call. Where it does harm it counts without validation too.
  struct Finding {
    std::string text;  // empty: nothing
    bool harmful = false;
  };
  // Changes a command by `function(command)`, which returns a Finding; one that counts is kept with
  // the command and reported. What goes, goes outside of the lock: deallocators are the user's.
  template <class Function>
  void change(uint64_t index, const char* call, const Function& function) {
    std::shared_ptr<const PreparedList> old;
    std::unique_lock lock(mutex_);
    latest_.swap(old);
    auto& command = places_[index];
    if (!command) command = std::make_unique<IndirectCommand>();
    const std::string text = note(*command, call, function(*command));
    lock.unlock();
    if (!text.empty()) tell(call, text);
  }
  // Ranges lie inside.
  void reset(uint64_t first, uint64_t count);
  static void copy(IndirectCommands& source, uint64_t first, uint64_t count,
                   IndirectCommands& destination, uint64_t at);

  // Of commands that inherit nothing.
  std::shared_ptr<const PreparedList> current() override { return prepare(nullptr); }
  // A new version each time when there is something to inherit.
  std::shared_ptr<const PreparedList> prepare(const InheritedState* inherited);

  bool inherits() const { return options.inherits_pipeline || options.inherits_buffers; }
  uint64_t size() const { return places_.size(); }

  const IndirectOptions options;
  const bool validates;
  const uint64_t most_threadgroup_bytes;

 private:
  // The text to report, if any.
  std::string note(IndirectCommand& command, const char* call, const Finding& finding) const;
  static void tell(const char* call, const std::string& text);
  Status add(const IndirectCommand& command, const InheritedState* inherited,
             PreparedList& out) const;
  Status add_buffers(const IndirectCommand& command, const PipelineObject& pipeline,
                     const InheritedState* inherited, PreparedList& out) const;
  Status add_threadgroup_memory(const IndirectCommand& command, const PipelineObject& pipeline,
                                const InheritedState* inherited, PreparedList& out) const;

  const bool compiles_;
  const uint64_t identity_;
  std::mutex mutex_;
  uint64_t version_ = 0;
  std::vector<std::unique_ptr<IndirectCommand>> places_;  // null: never used
  std::shared_ptr<const PreparedList> latest_;            // null after a change
};

// Commands with what they inherit, for one execution.
class InheritingCommands : public Object, public ListSource {
 public:
  InheritingCommands(std::shared_ptr<IndirectCommands> commands, InheritedState state)
      : commands_(std::move(commands)), state_(std::move(state)) {}
  std::shared_ptr<const PreparedList> current() override { return commands_->prepare(&state_); }

 private:
  const std::shared_ptr<IndirectCommands> commands_;
  const InheritedState state_;
};

}  // namespace mlxn::rt
