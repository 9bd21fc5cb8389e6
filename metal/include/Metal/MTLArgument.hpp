#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"

namespace MTL {

enum BindingType : NS::Integer {
  BindingTypeBuffer = 0,
  BindingTypeThreadgroupMemory = 1,
  BindingTypeTexture = 2,
  BindingTypeSampler = 3,
  BindingTypeImageblockData = 16,
  BindingTypeImageblock = 17,
  BindingTypeVisibleFunctionTable = 24,
  BindingTypePrimitiveAccelerationStructure = 25,
  BindingTypeInstanceAccelerationStructure = 26,
  BindingTypeIntersectionFunctionTable = 27,
  BindingTypeObjectPayload = 34,
  BindingTypeTensor = 37,
};

enum ArgumentType : NS::UInteger {
  ArgumentTypeBuffer = 0,
  ArgumentTypeThreadgroupMemory = 1,
  ArgumentTypeTexture = 2,
  ArgumentTypeSampler = 3,
  ArgumentTypeImageblockData = 16,
  ArgumentTypeImageblock = 17,
  ArgumentTypeVisibleFunctionTable = 24,
  ArgumentTypePrimitiveAccelerationStructure = 25,
  ArgumentTypeInstanceAccelerationStructure = 26,
  ArgumentTypeIntersectionFunctionTable = 27,
};

enum BindingAccess : NS::UInteger {
  BindingAccessReadOnly = 0,
  BindingAccessReadWrite = 1,
  BindingAccessWriteOnly = 2,
  ArgumentAccessReadOnly = 0,
  ArgumentAccessReadWrite = 1,
  ArgumentAccessWriteOnly = 2,
};

class ArrayType;
class PointerType;
class StructType;

class MLXN_METAL_API Type : public NS::Referencing<Type> {
 public:
  static Type* alloc();
  Type* init();
  DataType dataType() const;
};

class MLXN_METAL_API StructMember : public NS::Referencing<StructMember> {
 public:
  static StructMember* alloc();
  StructMember* init();
  NS::String* name() const;
  NS::UInteger offset() const;
  DataType dataType() const;
  NS::UInteger argumentIndex() const;
  StructType* structType();
  ArrayType* arrayType();
  PointerType* pointerType();
};

// Members of nested structs appear here under dotted names ("outer.inner").
class MLXN_METAL_API StructType : public NS::Referencing<StructType, Type> {
 public:
  static StructType* alloc();
  StructType* init();
  NS::Array* members() const;
  StructMember* memberByName(const NS::String* name);
};

class MLXN_METAL_API ArrayType : public NS::Referencing<ArrayType, Type> {
 public:
  static ArrayType* alloc();
  ArrayType* init();
  NS::UInteger arrayLength() const;
  DataType elementType() const;
  NS::UInteger stride() const;
  NS::UInteger argumentIndexStride() const;
  StructType* elementStructType();
  ArrayType* elementArrayType();
  PointerType* elementPointerType();
};

class MLXN_METAL_API PointerType : public NS::Referencing<PointerType, Type> {
 public:
  static PointerType* alloc();
  PointerType* init();
  DataType elementType() const;
  BindingAccess access() const;
  NS::UInteger alignment() const;
  NS::UInteger dataSize() const;
  bool elementIsArgumentBuffer() const;
  StructType* elementStructType();
  ArrayType* elementArrayType();
};

class MLXN_METAL_API Argument : public NS::Referencing<Argument> {
 public:
  static Argument* alloc();
  Argument* init();
  NS::String* name() const;
  ArgumentType type() const;
  BindingAccess access() const;
  NS::UInteger index() const;
  [[deprecated("please use isActive instead")]] bool active() const;
  bool isActive() const;
  NS::UInteger bufferAlignment() const;
  NS::UInteger bufferDataSize() const;
  DataType bufferDataType() const;
  StructType* bufferStructType() const;
  PointerType* bufferPointerType() const;
  NS::UInteger threadgroupMemoryAlignment() const;
  NS::UInteger threadgroupMemoryDataSize() const;
  NS::UInteger arrayLength() const;
};

class MLXN_METAL_API Binding : public NS::Referencing<Binding> {
 public:
  NS::String* name() const;
  BindingType type() const;
  BindingAccess access() const;
  NS::UInteger index() const;
  [[deprecated("please use isUsed instead")]] bool used() const;
  bool isUsed() const;
  [[deprecated("please use isArgument instead")]] bool argument() const;
  bool isArgument() const;
};

class MLXN_METAL_API BufferBinding : public NS::Referencing<BufferBinding, Binding> {
 public:
  NS::UInteger bufferAlignment() const;
  NS::UInteger bufferDataSize() const;
  DataType bufferDataType() const;
  StructType* bufferStructType() const;
  PointerType* bufferPointerType() const;
};

class MLXN_METAL_API ThreadgroupBinding : public NS::Referencing<ThreadgroupBinding, Binding> {
 public:
  NS::UInteger threadgroupMemoryAlignment() const;
  NS::UInteger threadgroupMemoryDataSize() const;
};

}  // namespace MTL
