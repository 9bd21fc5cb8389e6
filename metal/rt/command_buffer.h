#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <variant>

#include "metal/rt/command_queue.h"
#include "metal/rt/event.h"
#include "metal/rt/resource.h"

MLXN_RT_OBJECT(MTL::CommandBufferDescriptor, CommandBufferDescriptorObject)
MLXN_RT_OBJECT(MTL::CommandBufferEncoderInfo, EncoderInfoObject)

namespace mlxn::rt {

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

// What a command buffer does not retain but must find alive when it runs.
struct WeakUse {
  std::weak_ptr<const char> life;
  std::string what;  // "buffer 'x' bound at index 3 of dispatch 'k'"
};

class CommandBufferObject : public Object {
 public:
  using Api = MTL::CommandBuffer;
  CommandBufferObject(QueueObject* owner, const CommandBufferDescriptorObject& descriptor);
  ~CommandBufferObject() override;

  // Reports a wrong call and keeps the first one as this buffer's error.
  void violation(std::string_view call, std::string_view text);
  // False, with a violation, when the buffer is committed or an encoder is open.
  bool can_encode(std::string_view call);

  // For encoders. The list being built; a new one begins after each event command.
  CommandList& list();
  void barrier();  // unless the list ends with one
  // Keeps an object that a command uses: retained, or else watched under the name that `what`
  // gives.
  template <class What>
  void use(AllocationObject* object, What what) {
    if (retainedReferences) return keep(object);
    weak_uses_.push_back({object->life, what()});
  }
  void keep(Object* object);
  void begin(EncoderObject* encoder);
  void end(EncoderObject* encoder, Ref<EncoderInfoObject> info);
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
  using Step = std::variant<CommandList, Signal, Wait>;

  std::string title() const;  // "command buffer 'x'"
  void set_status(MTL::CommandBufferStatus status);
  void run_handlers(std::vector<MTL::HandlerFunction>& handlers);
  std::optional<Error> first_violation() const;
  std::optional<Error> run_step(Step& step);
  std::optional<Error> run_list(CommandList& commands);
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
  std::unordered_set<Object*> kept_;
  std::vector<WeakUse> weak_uses_;
  std::vector<Ref<EncoderInfoObject>> encoder_infos_;
};

}  // namespace mlxn::rt
