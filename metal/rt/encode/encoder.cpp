#include "metal/rt/encode/encoder.h"

#include "metal/rt/device/validation.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

EncoderObject::EncoderObject(CommandBufferObject* owner, const char* class_name,
                             std::vector<PassAttachment> attachments)
    : buffer(owner),
      device_(&owner->device()),
      class_name_(class_name),
      work_(&owner->begin(this)),
      attachments_(std::move(attachments)) {
  for (const PassAttachment& attachment : attachments_) {
    stamp("startOfEncoderSampleIndex", attachment, attachment.startOfEncoderSampleIndex);
  }
}

EncoderObject::~EncoderObject() {
  if (ended_) return;
  violation("release", "the encoder was released before endEncoding");
  buffer->end(this);
}

void EncoderObject::violation(std::string_view call, std::string_view text) {
  failed_ = true;
  buffer->violation(str(class_name_, "::", call), text);
}

void EncoderObject::misuse(std::string_view call, std::string_view text) {
  if (validates()) violation(call, text);
}

void EncoderObject::wrong_device(std::string_view call, const char* kind) {
  violation(call, str("the ", kind, " belongs to another device than the command buffer"));
}

void EncoderObject::null_object(std::string_view call, const char* kind) {
  violation(call, str("null ", kind, ", expected one"));
}

void EncoderObject::no_declared_object(std::string_view call, const char* kind) {
  misuse(call, str("null ", kind, ", expected one"));
}

void EncoderObject::refuse(std::string_view call) {
  violation(call,
            ended_ ? "called after endEncoding" : "called after the command buffer was committed");
}

void EncoderObject::end() {
  if (ended_) return violation("endEncoding", "called twice");
  if (buffer->current_status() < MTL::CommandBufferStatusCommitted) {
    for (const PassAttachment& attachment : attachments_) {
      stamp("endOfEncoderSampleIndex", attachment, attachment.endOfEncoderSampleIndex);
    }
  }
  ended_ = true;
  on_end();
  buffer->end(this);
}

void EncoderObject::call_host(std::function<Status()> function) {
  work_ = &buffer->call_host(std::move(function));
}

Ref<EncoderInfoObject> EncoderObject::info() const {
  auto info = make<EncoderInfoObject>();
  info->label = label;
  info->debugSignposts = make_array(signposts_);
  info->errorState =
      failed_ ? MTL::CommandEncoderErrorStateFaulted : MTL::CommandEncoderErrorStateUnknown;
  return info;
}

void EncoderObject::stamp(std::string_view call, const PassAttachment& attachment,
                          NS::UInteger index) {
  if (index == MTL::CounterDontSample) return;
  const SampleBufferObject* samples = attachment.sampleBuffer.get();
  if (!check_object(call, samples, "counter sample buffer")) return;
  if (index >= samples->sampleCount) {
    return violation(call,
                     str("sample index ", index, ", expected less than ", samples->sampleCount));
  }
  work_->keep(attachment.sampleBuffer.get());
  work_->list.commands.emplace_back(Timestamp{samples->memory.get(), index * sizeof(uint64_t)});
}

void EncoderObject::sample(std::string_view call, const SampleBufferObject* samples,
                           NS::UInteger index, bool barrier) {
  if (!can_encode(call) || !check_object(call, samples, "counter sample buffer")) return;
  if (!buffer->device().info().dispatch_sampling) {
    return violation(call, "this device samples counters at stage boundaries only");
  }
  if (barrier) work_->barrier();
  PassAttachment attachment;
  attachment.sampleBuffer = Ref(const_cast<SampleBufferObject*>(samples));
  stamp(call, attachment, index);
}

void EncoderObject::fence(std::string_view call, FenceObject* fence) {
  if (can_encode(call)) check_declared(call, fence, "fence");
}

void EncoderObject::push_group(const NS::String*) {
  if (can_encode("pushDebugGroup")) ++groups_;
}

void EncoderObject::pop_group() {
  if (!can_encode("popDebugGroup")) return;
  if (groups_ == 0) return misuse("popDebugGroup", "no debug group is open");
  --groups_;
}

void EncoderObject::add_signpost(const NS::String* text) {
  if (can_encode("insertDebugSignpost") && text) signposts_.emplace_back(impl(text));
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_LABEL(CommandEncoder, label, setLabel)

Device* CommandEncoder::device() const {
  auto* self = impl(this);
  return self ? api(&self->buffer->device()) : nullptr;
}

void CommandEncoder::endEncoding() {
  if (auto* self = impl(this)) self->end();
}

// Encoders run in order with a barrier between them, so the stages have already finished.
void CommandEncoder::barrierAfterQueueStages(Stages, Stages) {
  if (auto* self = impl(this)) self->can_encode("barrierAfterQueueStages");
}

void CommandEncoder::insertDebugSignpost(const NS::String* string) {
  if (auto* self = impl(this)) self->add_signpost(string);
}

void CommandEncoder::pushDebugGroup(const NS::String* string) {
  if (auto* self = impl(this)) self->push_group(string);
}

void CommandEncoder::popDebugGroup() {
  if (auto* self = impl(this)) self->pop_group();
}

}  // namespace MTL
