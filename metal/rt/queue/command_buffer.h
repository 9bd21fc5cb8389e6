#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

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

class CommandBufferObject : public Object, private Submission {
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
  // A function between the commands so far and the work for those to come, which comes back.
  Work& call_host(std::function<Status()> function);
  DeviceObject& device() const { return *commandQueue->device; }

  void encode_signal(EventObject* event, uint64_t value);
  void encode_wait(EventObject* event, uint64_t value);
  void add_handler(const char* call,
                   RecycledVector<MTL::HandlerFunction> CommandBufferObject::* list,
                   const MTL::HandlerFunction& handler);
  void enqueue();
  void commit();
  void wait_until(MTL::CommandBufferStatus status, const char* call);
  // Hands a committed buffer to the executor, which keeps it until it has completed.
  static void submit(Ref<CommandBufferObject> buffer, Stream& stream);

  MTL::CommandBufferStatus current_status() const { return status_; }
  Ref<ErrorObject> current_error() const;

  Ref<QueueObject> commandQueue;
  Label label;
  const bool retainedReferences;
  const MTL::CommandBufferErrorOption errorOptions;
  ResidencyList residency;
  RecycledVector<MTL::HandlerFunction> scheduled_handlers, completed_handlers;
  size_t debug_depth = 0;
  std::atomic<double> GPUStartTime = 0, GPUEndTime = 0, kernelStartTime = 0, kernelEndTime = 0;

 private:
  void started() override;
  void completed(Status status, const RunTimes& times) override;
  std::string title() const override;

  Work& work();  // the last step's; a new one after each event command
  // Lets go of what the steps use and hands its storage to the queue.
  void drop_works();
  void set_status(MTL::CommandBufferStatus status);
  void run_handlers(RecycledVector<MTL::HandlerFunction>& handlers);
  std::optional<Error> first_violation() const;
  // Makes the steps ready for the stream.
  void prepare_steps();
  void add_host_steps(bool checks);
  Status check_released(const Work& work) const;
  void begin_recorded(const Work& work);
  void end_recorded();
  // Calls a function for each signal behind all other steps.
  template <class Function>
  void for_each_last_signal(Function function) const;
  void complete(const std::optional<Error>& failure);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Written under the lock; read without it by every encoding call.
  std::atomic<MTL::CommandBufferStatus> status_ = MTL::CommandBufferStatusNotEnqueued;
  bool finished_ = false;  // the completed handlers have run
  std::optional<Error> violation_;
  Ref<ErrorObject> error_;

  // Encoding state, used by one thread, then by the queue's stream.
  EncoderObject* open_encoder_ = nullptr;
  RecycledVector<std::unique_ptr<Work>> works_;  // of the list steps, in order
  RecycledVector<Ref<EventObject>> events_;      // of the event steps, in order
  std::shared_ptr<Trace> trace_;                 // from commit to completion
  bool in_trace_ = false;                        // a list is being recorded
  Ref<CommandBufferObject> submitted_;           // itself, from submission to completion
  std::vector<Ref<EncoderInfoObject>> encoder_infos_;
};

}  // namespace mlxn::rt
