#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <variant>

#include "metal/rt/queue/command_queue.h"
#include "metal/rt/queue/event.h"
#include "metal/rt/queue/work.h"

MLXN_RT_OBJECT(MTL::CommandBufferDescriptor, CommandBufferDescriptorObject)
MLXN_RT_OBJECT(MTL::CommandBufferEncoderInfo, EncoderInfoObject)

namespace mlxn::rt {

class Trace;
class EncoderObject;

class CommandBufferDescriptorObject : public Object {
 public:
  using Api = MTL::CommandBufferDescriptor;
  ~CommandBufferDescriptorObject() override = default;  // also lives on the stack
  MLXN_CLONEABLE(CommandBufferDescriptorObject)
  bool retainedReferences = true;
  MTL::CommandBufferErrorOption errorOptions = MTL::CommandBufferErrorOptionNone;
};

class EncoderInfoObject : public Object {
 public:
  using Api = MTL::CommandBufferEncoderInfo;
  Label label;
  Ref<ArrayObject> debugSignposts;
  MTL::CommandEncoderErrorState errorState = MTL::CommandEncoderErrorStateUnknown;
};

class CommandBufferObject : public Object {
 public:
  using Api = MTL::CommandBuffer;
  CommandBufferObject(QueueObject* owner, const CommandBufferDescriptorObject& descriptor);
  ~CommandBufferObject() override;

  // Reports a wrong call and keeps the first one as this buffer's error.
  void violation(std::string_view call, std::string_view text);
  // A wrong call that does no harm: a violation if the device validates, else nothing.
  void misuse(std::string_view call, std::string_view text);
  // False, with a violation, when the buffer is committed or an encoder is open.
  bool can_encode(std::string_view call);

  // For encoders. Opens one and gives it the work to append to, which is there until commit.
  Work& begin(EncoderObject* encoder);
  void end(EncoderObject* encoder);
  DeviceObject& device() const { return *commandQueue->device; }

  void encode_signal(EventObject* event, uint64_t value);
  void encode_wait(EventObject* event, uint64_t value);
  void add_handler(const char* call, std::vector<MTL::HandlerFunction> CommandBufferObject::* list,
                   const MTL::HandlerFunction& handler);
  void enqueue();
  void commit();
  void wait_until(MTL::CommandBufferStatus status, const char* call);
  // On the queue's thread: runs everything and completes.
  void execute();

  MTL::CommandBufferStatus current_status() const { return status_; }
  Ref<ErrorObject> current_error() const;

  Ref<QueueObject> commandQueue;
  Label label;
  const bool retainedReferences;
  const MTL::CommandBufferErrorOption errorOptions;
  ResidencyList residency;
  std::vector<MTL::HandlerFunction> scheduled_handlers, completed_handlers;
  size_t debug_depth = 0;
  std::atomic<double> GPUStartTime = 0, GPUEndTime = 0, kernelStartTime = 0, kernelEndTime = 0;

 private:
  struct Signal {
    Ref<EventObject> event;
    uint64_t value;
  };
  struct Wait {
    Ref<EventObject> event;
    uint64_t value;
  };
  using Step = std::variant<std::unique_ptr<Work>, Signal, Wait>;

  std::string title() const;  // "command buffer 'x'"
  Work& work();               // the last step's; a new one after each event command
  // Lets go of all steps and hands their storage to the queue.
  void drop_steps();
  void set_status(MTL::CommandBufferStatus status);
  void run_handlers(std::vector<MTL::HandlerFunction>& handlers);
  std::vector<Ref<EventObject>> events_signalled_last() const;  // by the steps behind all others
  std::optional<Error> first_violation() const;
  std::optional<Error> run_step(Step& step);
  std::optional<Error> run_work(Work& work);
  bool is_first(const Work& work) const;
  void complete(const std::optional<Error>& failure);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Written under the lock; read without it by every encoding call.
  std::atomic<MTL::CommandBufferStatus> status_ = MTL::CommandBufferStatusNotEnqueued;
  bool finished_ = false;  // the completed handlers have run
  std::optional<Error> violation_;
  Ref<ErrorObject> error_;

  // Encoding state, used by one thread, then by the queue's.
  EncoderObject* open_encoder_ = nullptr;
  std::vector<Step> steps_;
  std::shared_ptr<Trace> trace_;  // from commit to completion
  std::vector<Ref<EncoderInfoObject>> encoder_infos_;
};

}  // namespace mlxn::rt
