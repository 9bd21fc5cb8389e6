// Argument encoders and descriptors. Argument buffers are tier 2: plain structs that hold GPU
// addresses.
#include <algorithm>
#include <cstring>
#include <span>

#include "metal/rt/device/validation.h"
#include "metal/rt/library/library.h"
#include "metal/rt/library/reflection.h"
#include "metal/rt/memory/resource.h"
#include "mlxn/base/checked.h"

MLXN_RT_OBJECT(MTL::ArgumentDescriptor, ArgumentDescriptorObject)
MLXN_RT_OBJECT(MTL::ArgumentEncoder, ArgumentEncoderObject)

namespace mlxn::rt {

class ArgumentDescriptorObject : public Object {
 public:
  using Api = MTL::ArgumentDescriptor;
  MLXN_CLONEABLE(ArgumentDescriptorObject)
  MTL::DataType dataType = MTL::DataTypeNone;
  NS::UInteger index = 0, arrayLength = 0, constantBlockAlignment = 0;
  MTL::BindingAccess access = MTL::BindingAccessReadOnly;
};

// Where an index of the argument buffer lies.
struct ArgumentSlot {
  NS::UInteger index = 0;
  uint64_t offset = 0;
  MTL::DataType type = MTL::DataTypeNone;
};

class ArgumentEncoderObject : public Object {
 public:
  using Api = MTL::ArgumentEncoder;

  void set_target(BufferObject* target, uint64_t offset);
  void set_buffer(BufferObject* source, uint64_t offset, NS::UInteger index);
  void* constant_data(NS::UInteger index);

  Ref<DeviceObject> device;
  Label label;
  NS::UInteger encodedLength = 0, alignment = 8;
  std::vector<ArgumentSlot> slots;

 private:
  // Address of an index in the argument buffer; null, with a report, when there is none.
  std::byte* place(const char* call, NS::UInteger index, bool pointer);

  Ref<BufferObject> target_;
  uint64_t offset_ = 0;
};

void ArgumentEncoderObject::set_target(BufferObject* target, uint64_t offset) {
  constexpr const char* kCall = "MTL::ArgumentEncoder::setArgumentBuffer";
  target_ = nullptr;
  if (!target) return;
  if (!target->host()) {
    report(kCall, "the buffer's storage mode is Private, expected Shared or Managed");
  } else if (offset % alignment != 0 || !span_fits(offset, encodedLength, target->length)) {
    report(kCall, str("offset ", offset, ", expected a multiple of ", alignment, " with ",
                      encodedLength, " bytes within the length ", target->length));
  } else {
    target_ = Ref(target);
    offset_ = offset;
  }
}

std::byte* ArgumentEncoderObject::place(const char* call, NS::UInteger index, bool pointer) {
  if (!target_) {
    report(call, "no argument buffer; call setArgumentBuffer first");
    return nullptr;
  }
  auto slot =
      std::find_if(slots.begin(), slots.end(), [&](auto& one) { return one.index == index; });
  if (slot == slots.end()) {
    report(call, str("index ", index, ", expected one of the ", slots.size(), " arguments"));
    return nullptr;
  }
  if ((slot->type == MTL::DataTypePointer) != pointer) {
    report(call,
           str("argument ", index, " is of type ", type_name(static_cast<uint32_t>(slot->type)),
               pointer ? ", expected a pointer" : ", expected a constant"));
    return nullptr;
  }
  return target_->host() + offset_ + slot->offset;
}

void ArgumentEncoderObject::set_buffer(BufferObject* source, uint64_t offset, NS::UInteger index) {
  constexpr const char* kCall = "MTL::ArgumentEncoder::setBuffer";
  if (source && offset > source->length) {
    report(kCall,
           str("offset ", offset, ", expected at most the buffer's length ", source->length));
    return;
  }
  std::byte* at = place(kCall, index, true);
  if (!at) return;
  const uint64_t address = source ? source->address() + offset : 0;
  std::memcpy(at, &address, sizeof address);
}

void* ArgumentEncoderObject::constant_data(NS::UInteger index) {
  return place("MTL::ArgumentEncoder::constantData", index, false);
}

namespace {

constexpr size_t kMaxSlots = size_t{1} << 20;

// Appends the slots of all members, `bytes` and `ids` further on than their own place says. Members
// of a nested struct follow it; an array of structs repeats them. False when there are too many.
bool add_slots(std::span<const msl::MemberInfo> members, uint64_t bytes, NS::UInteger ids,
               std::vector<ArgumentSlot>& slots) {
  while (!members.empty()) {
    const msl::MemberInfo& member = members.front();
    const auto type = static_cast<MTL::DataType>(member.type);
    const auto inside = [&](auto& one) { return one.name.starts_with(member.name + "."); };
    const auto end = std::find_if_not(members.begin() + 1, members.end(), inside);
    const std::span<const msl::MemberInfo> nested(members.begin() + 1, end);
    for (uint64_t i = 0; i < std::max(member.array_length, 1u); ++i) {
      if (slots.size() >= kMaxSlots) return false;
      if (type != MTL::DataTypeStruct) {
        slots.push_back({ids + member.id + i, bytes + member.offset + i * member.stride, type});
      } else if (nested.empty() ||
                 !add_slots(nested, bytes + i * member.stride, ids + i * member.id_stride, slots)) {
        break;
      }
    }
    if (slots.size() >= kMaxSlots) return false;
    members = members.subspan(1 + nested.size());
  }
  return true;
}

Result<Ref<ArgumentEncoderObject>> encoder_from(DeviceObject* device,
                                                const msl::ArgumentInfo& argument) {
  if (argument.kind != msl::ArgumentKind::kBuffer || argument.members.empty()) {
    return Error(ErrorCode::kInvalidArgument, str("argument '", argument.name, "' at index ",
                                                  argument.index, " is not a struct in a buffer"));
  }
  auto encoder = make<ArgumentEncoderObject>();
  encoder->device = Ref(device);
  encoder->encodedLength = argument.data_size;
  encoder->alignment = std::max<uint64_t>(argument.alignment, 1);
  if (!add_slots(argument.members, 0, 0, encoder->slots)) {
    return Error(ErrorCode::kUnsupported,
                 str("argument '", argument.name, "' at index ", argument.index, " has more than ",
                     kMaxSlots, " members and elements"));
  }
  return encoder;
}

Result<Ref<ArgumentEncoderObject>> encoder_from(DeviceObject* device, const ArrayObject* list) {
  if (!list) return Error(ErrorCode::kInvalidArgument, "null array, expected argument descriptors");
  std::vector<ArgumentDescriptorObject*> descriptors;
  for (auto& item : list->items) {
    auto* descriptor = dynamic_cast<ArgumentDescriptorObject*>(item.get());
    if (!descriptor)
      return Error(ErrorCode::kInvalidArgument, "expected MTL::ArgumentDescriptor only");
    descriptors.push_back(descriptor);
  }
  std::sort(descriptors.begin(), descriptors.end(),
            [](auto* a, auto* b) { return a->index < b->index; });
  auto encoder = make<ArgumentEncoderObject>();
  encoder->device = Ref(device);
  uint64_t end = 0;
  NS::UInteger next = 0;
  for (auto* descriptor : descriptors) {
    const uint64_t size = data_type_size(descriptor->dataType);
    const uint64_t count = descriptor->arrayLength ? descriptor->arrayLength : 1;
    if (size == 0 || descriptor->index < next || count > UINT16_MAX) {
      return Error(ErrorCode::kInvalidArgument,
                   str("argument ", descriptor->index, " of type ",
                       type_name(static_cast<uint32_t>(descriptor->dataType)),
                       " with array length ", descriptor->arrayLength,
                       ", expected a pointer or constant type and indices that do not overlap"));
    }
    const uint64_t align = std::max<uint64_t>(data_type_alignment(descriptor->dataType),
                                              descriptor->constantBlockAlignment);
    MLXN_ASSIGN(end, checked_align_up(end, align));
    encoder->alignment = std::max<uint64_t>(encoder->alignment, align);
    for (uint64_t i = 0; i < count; ++i, end += size) {
      encoder->slots.push_back({descriptor->index + i, end, descriptor->dataType});
    }
    next = descriptor->index + count;
  }
  MLXN_ASSIGN(encoder->encodedLength, checked_align_up<uint64_t>(end, encoder->alignment));
  return encoder;
}

// The argument of a function at a buffer index.
Result<msl::ArgumentInfo> argument_of(FunctionObject* function, NS::UInteger index) {
  MLXN_ASSIGN(auto image, function->library->compile(function->info->name, function->constants));
  for (const auto& kernel : image->kernels) {
    for (const auto& argument : kernel.arguments) {
      if (argument.kind == msl::ArgumentKind::kBuffer && argument.index == index) return argument;
    }
  }
  return Error(ErrorCode::kOutOfRange, str("function '", function->info->name,
                                           "' has no buffer argument at index ", index));
}

MTL::ArgumentEncoder* finish(const char* call, Result<Ref<ArgumentEncoderObject>> encoder) {
  if (encoder) return owned(std::move(*encoder));
  report(call, encoder.error().message());
  return nullptr;
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(ArgumentDescriptor)
ArgumentDescriptor* ArgumentDescriptor::argumentDescriptor() {
  return alloc()->init()->autorelease();
}
MLXN_VALUE(ArgumentDescriptor, DataType, dataType, setDataType)
MLXN_VALUE(ArgumentDescriptor, NS::UInteger, index, setIndex)
MLXN_VALUE(ArgumentDescriptor, NS::UInteger, arrayLength, setArrayLength)
MLXN_VALUE(ArgumentDescriptor, BindingAccess, access, setAccess)
MLXN_VALUE(ArgumentDescriptor, NS::UInteger, constantBlockAlignment, setConstantBlockAlignment)

MLXN_OBJECT_GETTER(ArgumentEncoder, Device, device)
MLXN_LABEL(ArgumentEncoder, label, setLabel)
MLXN_GETTER(ArgumentEncoder, NS::UInteger, encodedLength)
MLXN_GETTER(ArgumentEncoder, NS::UInteger, alignment)

void ArgumentEncoder::setArgumentBuffer(const Buffer* argumentBuffer, NS::UInteger offset) {
  if (auto* self = impl(this)) self->set_target(impl(argumentBuffer), offset);
}

void ArgumentEncoder::setArgumentBuffer(const Buffer* argumentBuffer, NS::UInteger startOffset,
                                        NS::UInteger arrayElement) {
  auto* self = impl(this);
  if (!self) return;
  auto skip = mlxn::checked_mul<uint64_t>(self->encodedLength, arrayElement);
  auto offset = skip ? mlxn::checked_add<uint64_t>(startOffset, *skip) : skip;
  self->set_target(impl(argumentBuffer), offset ? *offset : UINT64_MAX);
}

void ArgumentEncoder::setBuffer(const Buffer* buffer, NS::UInteger offset, NS::UInteger index) {
  if (auto* self = impl(this)) self->set_buffer(impl(buffer), offset, index);
}

void ArgumentEncoder::setBuffers(const Buffer* const buffers[], const NS::UInteger offsets[],
                                 NS::Range range) {
  auto* self = impl(this);
  if (!self) return;
  if (!buffers || !offsets || range.length > self->slots.size()) {
    report("MTL::ArgumentEncoder::setBuffers",
           mlxn::str("range ", range.location, " + ", range.length,
                     ", expected arrays for at most ", self->slots.size(), " arguments"));
    return;
  }
  for (NS::UInteger i = 0; i < range.length; ++i) {
    self->set_buffer(impl(buffers[i]), offsets[i], range.location + i);
  }
}

void* ArgumentEncoder::constantData(NS::UInteger index) {
  auto* self = impl(this);
  return self ? self->constant_data(index) : nullptr;
}

// Nested argument buffers have no reflection of their own.
ArgumentEncoder* ArgumentEncoder::newArgumentEncoder(NS::UInteger index) {
  report("MTL::ArgumentEncoder::newArgumentEncoder",
         mlxn::str("argument ", index, " is not a nested argument buffer with known members"));
  return nullptr;
}

ArgumentEncoder* Device::newArgumentEncoder(const NS::Array* arguments) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newArgumentEncoder", encoder_from(self, impl(arguments)));
}

ArgumentEncoder* Device::newArgumentEncoder(const BufferBinding* bufferBinding) {
  auto* self = impl(this);
  auto* binding = impl(bufferBinding);
  if (!self || !binding) return nullptr;
  return finish("MTL::Device::newArgumentEncoder", encoder_from(self, binding->facts.info));
}

ArgumentEncoder* Function::newArgumentEncoder(NS::UInteger bufferIndex) {
  return newArgumentEncoder(bufferIndex, nullptr);
}

ArgumentEncoder* Function::newArgumentEncoder(NS::UInteger bufferIndex,
                                              const AutoreleasedArgument* reflection) {
  constexpr const char* kCall = "MTL::Function::newArgumentEncoder";
  auto* self = impl(this);
  if (!self) return nullptr;
  auto argument = argument_of(self, bufferIndex);
  if (!argument) {
    mlxn::rt::report(kCall, argument.error().message());
    return nullptr;
  }
  if (reflection) {
    *const_cast<AutoreleasedArgument*>(reflection) = autoreleased(make<ArgumentObject>(*argument));
  }
  return finish(kCall, encoder_from(self->library->device.get(), *argument));
}

}  // namespace MTL
