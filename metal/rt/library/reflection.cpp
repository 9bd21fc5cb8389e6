#include "metal/rt/library/reflection.h"

#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

struct TypeFamily {
  MTL::DataType first;
  uint64_t element_bytes;
  const char* name;
};

// Scalars with vectors of 2 to 4 at the following values.
constexpr TypeFamily kVectors[] = {
    {MTL::DataTypeFloat, 4, "float"}, {MTL::DataTypeHalf, 2, "half"},
    {MTL::DataTypeInt, 4, "int"},     {MTL::DataTypeUInt, 4, "uint"},
    {MTL::DataTypeShort, 2, "short"}, {MTL::DataTypeUShort, 2, "ushort"},
    {MTL::DataTypeChar, 1, "char"},   {MTL::DataTypeUChar, 1, "uchar"},
    {MTL::DataTypeBool, 1, "bool"},   {MTL::DataTypeLong, 8, "long"},
    {MTL::DataTypeULong, 8, "ulong"}, {MTL::DataTypeBFloat, 2, "bfloat"},
};
// Matrices 2x2 to 4x4 at the nine following values.
constexpr TypeFamily kMatrices[] = {
    {MTL::DataTypeFloat2x2, 4, "float"},
    {MTL::DataTypeHalf2x2, 2, "half"},
};

uint64_t vector_bytes(uint64_t element, uint64_t count) {
  return element * (count == 3 ? 4 : count);
}

struct Layout {
  uint64_t size = 0, alignment = 1;
  std::string name;
};

Layout layout_of(MTL::DataType type) {
  for (const TypeFamily& family : kVectors) {
    const uint64_t step = type - family.first;
    if (type < family.first || step > 3) continue;
    const uint64_t bytes = vector_bytes(family.element_bytes, step + 1);
    return {bytes, bytes, step == 0 ? family.name : str(family.name, step + 1)};
  }
  for (const TypeFamily& family : kMatrices) {
    const uint64_t step = type - family.first;
    if (type < family.first || step > 8) continue;
    const uint64_t columns = 2 + step / 3, rows = 2 + step % 3;
    const uint64_t column = vector_bytes(family.element_bytes, rows);
    return {columns * column, column, str(family.name, columns, "x", rows)};
  }
  if (type == MTL::DataTypePointer) return {8, 8, "pointer"};
  if (type == MTL::DataTypeStruct) return {0, 1, "struct"};
  return {0, 1, str("type ", static_cast<uint64_t>(type))};
}

Ref<StructMemberObject> make_member(const msl::MemberInfo& info) {
  auto member = make<StructMemberObject>();
  member->name.set(make_string(info.name));
  member->offset = info.offset;
  member->argumentIndex = info.id;
  const auto type = static_cast<MTL::DataType>(info.type);
  member->dataType = info.array_length ? MTL::DataTypeArray : type;
  if (info.array_length) {
    auto array = make<ArrayTypeObject>();
    array->dataType = MTL::DataTypeArray;
    array->elementType = type;
    array->arrayLength = info.array_length;
    array->stride = info.stride;
    array->argumentIndexStride = info.id_stride;
    member->array = array;
  }
  if (type == MTL::DataTypePointer) {
    member->pointer = make<PointerTypeObject>();
    member->pointer->dataType = MTL::DataTypePointer;
  }
  return member;
}

Ref<StructTypeObject> make_struct(const std::vector<msl::MemberInfo>& members) {
  auto structure = make<StructTypeObject>();
  structure->dataType = MTL::DataTypeStruct;
  for (const msl::MemberInfo& info : members) {
    structure->members->items.push_back(make_member(info));
  }
  return structure;
}

}  // namespace

uint64_t data_type_size(MTL::DataType type) {
  return layout_of(type).size;
}
uint64_t data_type_alignment(MTL::DataType type) {
  return layout_of(type).alignment;
}
std::string type_name(msl::DataType type) {
  return layout_of(static_cast<MTL::DataType>(type)).name;
}

ArgumentFacts::ArgumentFacts(const msl::ArgumentInfo& source) : info(source) {
  name = make_string(info.name);
  if (!info.members.empty()) structure = make_struct(info.members);
  pointer = make<PointerTypeObject>();
  pointer->dataType = MTL::DataTypePointer;
  pointer->elementType = static_cast<MTL::DataType>(info.type);
  pointer->access = static_cast<MTL::BindingAccess>(info.access);
  pointer->alignment = info.alignment;
  pointer->dataSize = info.data_size;
  pointer->element_struct = structure;
}

Ref<ArrayObject> make_arguments(const msl::Kernel& kernel) {
  auto list = make<ArrayObject>();
  for (const auto& info : kernel.arguments) list->items.push_back(make<ArgumentObject>(info));
  return list;
}

Ref<ArrayObject> make_bindings(const msl::Kernel& kernel) {
  auto list = make<ArrayObject>();
  for (const auto& info : kernel.arguments) {
    if (info.kind == msl::ArgumentKind::kBuffer) {
      list->items.push_back(make<BufferBindingObject>(info));
    } else {
      list->items.push_back(make<ThreadgroupBindingObject>(info));
    }
  }
  return list;
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(Type)
MLXN_GETTER(Type, DataType, dataType)

MLXN_ALLOC(StructMember)
MLXN_LABEL_GETTER(StructMember, name)
MLXN_GETTER(StructMember, NS::UInteger, offset)
MLXN_GETTER(StructMember, DataType, dataType)
MLXN_GETTER(StructMember, NS::UInteger, argumentIndex)
StructType* StructMember::structType() {
  return nullptr;
}  // nested members have dotted names
ArrayType* StructMember::arrayType() {
  auto* self = impl(this);
  return self ? api(self->array.get()) : nullptr;
}
PointerType* StructMember::pointerType() {
  auto* self = impl(this);
  return self ? api(self->pointer.get()) : nullptr;
}

MLXN_ALLOC(StructType)
MLXN_OBJECT_GETTER(StructType, NS::Array, members)
StructMember* StructType::memberByName(const NS::String* name) {
  auto* self = impl(this);
  for (size_t i = 0; self && i < self->members->items.size(); ++i) {
    auto* member = static_cast<StructMemberObject*>(self->members->items[i].get());
    if (member->name.text() == text_of(name)) return api(member);
  }
  return nullptr;
}

MLXN_ALLOC(ArrayType)
MLXN_GETTER(ArrayType, NS::UInteger, arrayLength)
MLXN_GETTER(ArrayType, DataType, elementType)
MLXN_GETTER(ArrayType, NS::UInteger, stride)
MLXN_GETTER(ArrayType, NS::UInteger, argumentIndexStride)
StructType* ArrayType::elementStructType() {
  return nullptr;
}
ArrayType* ArrayType::elementArrayType() {
  return nullptr;
}
PointerType* ArrayType::elementPointerType() {
  return nullptr;
}

MLXN_ALLOC(PointerType)
MLXN_GETTER(PointerType, DataType, elementType)
MLXN_GETTER(PointerType, BindingAccess, access)
MLXN_GETTER(PointerType, NS::UInteger, alignment)
MLXN_GETTER(PointerType, NS::UInteger, dataSize)
bool PointerType::elementIsArgumentBuffer() const {
  auto* self = impl(this);
  if (!self || !self->element_struct) return false;
  for (auto& item : self->element_struct->members->items) {
    if (static_cast<StructMemberObject*>(item.get())->pointer) return true;
  }
  return false;
}
StructType* PointerType::elementStructType() {
  auto* self = impl(this);
  return self ? api(self->element_struct.get()) : nullptr;
}
ArrayType* PointerType::elementArrayType() {
  return nullptr;
}

// Facts of the argument; zero for null and for the wrong kind.
#define MLXN_FACT(Class, Type, getter, value)       \
  Type Class::getter() const {                      \
    auto* self = impl(this);                        \
    return self ? Type(self->facts.value) : Type(); \
  }
#define MLXN_KIND_FACT(Class, Type, getter, wanted, value)                  \
  Type Class::getter() const {                                              \
    auto* self = impl(this);                                                \
    return self && self->facts.info.kind == mlxn::msl::ArgumentKind::wanted \
               ? Type(self->facts.value)                                    \
               : Type();                                                    \
  }
#define MLXN_BUFFER_FACTS(Class)                                                \
  MLXN_KIND_FACT(Class, NS::UInteger, bufferAlignment, kBuffer, info.alignment) \
  MLXN_KIND_FACT(Class, NS::UInteger, bufferDataSize, kBuffer, info.data_size)  \
  MLXN_KIND_FACT(Class, DataType, bufferDataType, kBuffer, info.type)           \
  StructType* Class::bufferStructType() const {                                 \
    auto* self = impl(this);                                                    \
    return self ? api(self->facts.structure.get()) : nullptr;                   \
  }                                                                             \
  PointerType* Class::bufferPointerType() const {                               \
    auto* self = impl(this);                                                    \
    return self ? api(self->facts.pointer.get()) : nullptr;                     \
  }
#define MLXN_THREADGROUP_FACTS(Class)                                                 \
  MLXN_KIND_FACT(Class, NS::UInteger, threadgroupMemoryAlignment, kThreadgroupMemory, \
                 info.alignment)                                                      \
  MLXN_KIND_FACT(Class, NS::UInteger, threadgroupMemoryDataSize, kThreadgroupMemory, info.data_size)

MLXN_ALLOC(Argument)
MLXN_FACT(Argument, ArgumentType, type, info.kind)
MLXN_FACT(Argument, BindingAccess, access, info.access)
MLXN_FACT(Argument, NS::UInteger, index, info.index)
MLXN_FACT(Argument, bool, isActive, info.active)
bool Argument::active() const {
  return isActive();
}
NS::UInteger Argument::arrayLength() const {
  return impl(this) ? 1 : 0;
}
NS::String* Argument::name() const {
  auto* self = impl(this);
  return self ? api(self->facts.name.get()) : nullptr;
}
MLXN_BUFFER_FACTS(Argument)
MLXN_THREADGROUP_FACTS(Argument)

MLXN_FACT(Binding, BindingType, type, info.kind)
MLXN_FACT(Binding, BindingAccess, access, info.access)
MLXN_FACT(Binding, NS::UInteger, index, info.index)
MLXN_FACT(Binding, bool, isUsed, info.active)
bool Binding::used() const {
  return isUsed();
}
bool Binding::isArgument() const {
  return impl(this) != nullptr;
}
bool Binding::argument() const {
  return isArgument();
}
NS::String* Binding::name() const {
  auto* self = impl(this);
  return self ? api(self->facts.name.get()) : nullptr;
}
MLXN_BUFFER_FACTS(BufferBinding)
MLXN_THREADGROUP_FACTS(ThreadgroupBinding)

}  // namespace MTL
