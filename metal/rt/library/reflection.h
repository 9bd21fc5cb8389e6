// Reflection objects made from the compiler's description of a kernel.
#pragma once

#include "metal/msl/interface.h"
#include "metal/rt/foundation/foundation.h"
#include "metal/rt/foundation/property.h"
#include "mlxn/metal_extensions.hpp"

MLXN_RT_OBJECT(MTL::Type, TypeObject)
MLXN_RT_OBJECT(MTL::StructType, StructTypeObject)
MLXN_RT_OBJECT(MTL::StructMember, StructMemberObject)
MLXN_RT_OBJECT(MTL::ArrayType, ArrayTypeObject)
MLXN_RT_OBJECT(MTL::PointerType, PointerTypeObject)
MLXN_RT_OBJECT(MTL::Argument, ArgumentObject)
MLXN_RT_OBJECT(MTL::Binding, BindingObject)
MLXN_RT_OBJECT(MTL::BufferBinding, BufferBindingObject)
MLXN_RT_OBJECT(MTL::ThreadgroupBinding, ThreadgroupBindingObject)

namespace mlxn::rt {

// Size of a scalar, vector, matrix or pointer as MSL lays it out; 0 for other types.
uint64_t data_type_size(MTL::DataType type);
uint64_t data_type_alignment(MTL::DataType type);

class TypeObject : public Object {
 public:
  using Api = MTL::Type;
  MTL::DataType dataType = MTL::DataTypeNone;
};

class ArrayTypeObject : public TypeObject {
 public:
  using Api = MTL::ArrayType;
  MTL::DataType elementType = MTL::DataTypeNone;
  NS::UInteger arrayLength = 0, stride = 0, argumentIndexStride = 0;
};

class StructMemberObject : public Object {
 public:
  using Api = MTL::StructMember;
  Label name;
  MTL::DataType dataType = MTL::DataTypeNone;
  NS::UInteger offset = 0, argumentIndex = 0;
  Ref<ArrayTypeObject> array;
  Ref<PointerTypeObject> pointer;
};

class StructTypeObject : public TypeObject {
 public:
  using Api = MTL::StructType;
  Ref<ArrayObject> members = make<ArrayObject>();
};

class PointerTypeObject : public TypeObject {
 public:
  using Api = MTL::PointerType;
  MTL::DataType elementType = MTL::DataTypeNone;
  MTL::BindingAccess access = MTL::BindingAccessReadWrite;
  NS::UInteger alignment = 0, dataSize = 0;
  Ref<StructTypeObject> element_struct;
};

// One argument of a kernel; Argument and Binding show the same facts.
struct ArgumentFacts {
  explicit ArgumentFacts(const msl::ArgumentInfo& info);
  msl::ArgumentInfo info;
  Ref<StringObject> name;
  Ref<PointerTypeObject> pointer;
  Ref<StructTypeObject> structure;  // null unless the pointee is a struct
};

class ArgumentObject : public Object {
 public:
  using Api = MTL::Argument;
  ArgumentObject() : facts(msl::ArgumentInfo()) {}
  explicit ArgumentObject(const msl::ArgumentInfo& info) : facts(info) {}
  ArgumentFacts facts;
};

class BindingObject : public Object {
 public:
  using Api = MTL::Binding;
  explicit BindingObject(const msl::ArgumentInfo& info) : facts(info) {}
  ArgumentFacts facts;
};
class BufferBindingObject : public BindingObject {
 public:
  using Api = MTL::BufferBinding;
  using BindingObject::BindingObject;
};
class ThreadgroupBindingObject : public BindingObject {
 public:
  using Api = MTL::ThreadgroupBinding;
  using BindingObject::BindingObject;
};

Ref<ArrayObject> make_arguments(const msl::Kernel& kernel);
Ref<ArrayObject> make_bindings(const msl::Kernel& kernel);

}  // namespace mlxn::rt
