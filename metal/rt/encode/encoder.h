// What compute and blit encoders share.
#pragma once

#include "metal/rt/device/counters.h"
#include "metal/rt/queue/command_buffer.h"

MLXN_RT_OBJECT(MTL::CommandEncoder, EncoderObject)

namespace mlxn::rt {

class EncoderObject : public Object {
 public:
  using Api = MTL::CommandEncoder;
  EncoderObject(CommandBufferObject* owner, const char* class_name,
                std::vector<PassAttachment> attachments);
  ~EncoderObject() override;

  // A wrong call of this encoder: "MTL::Class::call: text".
  void violation(std::string_view call, std::string_view text);
  // A wrong call that does no harm: a violation if the device validates, else nothing.
  void misuse(std::string_view call, std::string_view text);
  bool validates() const { return device_->validates(); }
  // False, with a violation, when the encoder can take no more commands.
  bool can_encode(std::string_view call) {
    if (!ended_ && buffer->current_status() < MTL::CommandBufferStatusCommitted) return true;
    refuse(call);
    return false;
  }
  void end();

  void push_group(const NS::String* name);
  void pop_group();
  void add_signpost(const NS::String* text);
  void sample(std::string_view call, const SampleBufferObject* buffer, NS::UInteger index,
              bool barrier);
  // Fences order encoders; a barrier stands between all encoders, so only the argument is checked.
  void fence(std::string_view call, FenceObject* fence);
  // Checks that an object is there, which is a violation, and of this device.
  template <class T>
  bool check_object(std::string_view call, const T* object, const char* kind);
  // The same for an object that a call only declares: none is misuse.
  template <class T>
  bool check_declared(std::string_view call, const T* object, const char* kind);

  Ref<EncoderInfoObject> info() const;

  const Ref<CommandBufferObject> buffer;
  Label label;

 protected:
  // Lets go of what was bound.
  virtual void on_end() {}
  // Only after can_encode: from commit on it belongs to the queue.
  Work& work() { return *work_; }
  // A function of the host that runs behind all commands so far and in front of those to come.
  void call_host(std::function<Status()> function);

 private:
  void stamp(std::string_view call, const PassAttachment& attachment, NS::UInteger index);
  void refuse(std::string_view call);
  void null_object(std::string_view call, const char* kind);
  void no_declared_object(std::string_view call, const char* kind);
  void wrong_device(std::string_view call, const char* kind);

  const DeviceObject* const device_;
  const char* const class_name_;
  Work* work_;
  bool ended_ = false;
  bool failed_ = false;
  std::vector<PassAttachment> attachments_;
  size_t groups_ = 0;
  std::vector<Ref<StringObject>> signposts_;
};

template <class T>
bool EncoderObject::check_object(std::string_view call, const T* object, const char* kind) {
  if (!object) {
    null_object(call, kind);
    return false;
  }
  if (object->device.get() != device_) {
    wrong_device(call, kind);
    return false;
  }
  return true;
}

template <class T>
bool EncoderObject::check_declared(std::string_view call, const T* object, const char* kind) {
  if (object) return check_object(call, object, kind);
  no_declared_object(call, kind);
  return false;
}

}  // namespace mlxn::rt
