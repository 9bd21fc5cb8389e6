#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"
#include "MTLFunctionDescriptor.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Argument;
class ArgumentEncoder;
class Device;
class Function;
class FunctionConstantValues;

enum FunctionType : NS::UInteger {
  FunctionTypeVertex = 1,
  FunctionTypeFragment = 2,
  FunctionTypeKernel = 3,
  FunctionTypeVisible = 5,
  FunctionTypeIntersection = 6,
  FunctionTypeMesh = 7,
  FunctionTypeObject = 8,
};

enum LanguageVersion : NS::UInteger {
  LanguageVersion1_0 = 65536,
  LanguageVersion1_1 = 65537,
  LanguageVersion1_2 = 65538,
  LanguageVersion2_0 = 131072,
  LanguageVersion2_1 = 131073,
  LanguageVersion2_2 = 131074,
  LanguageVersion2_3 = 131075,
  LanguageVersion2_4 = 131076,
  LanguageVersion3_0 = 196608,
  LanguageVersion3_1 = 196609,
  LanguageVersion3_2 = 196610,
  LanguageVersion4_0 = 262144,
};

enum LibraryType : NS::Integer {
  LibraryTypeExecutable = 0,
  LibraryTypeDynamic = 1,
};

enum LibraryOptimizationLevel : NS::Integer {
  LibraryOptimizationLevelDefault = 0,
  LibraryOptimizationLevelSize = 1,
};

enum MathMode : NS::Integer {
  MathModeSafe = 0,
  MathModeRelaxed = 1,
  MathModeFast = 2,
};

enum MathFloatingPointFunctions : NS::Integer {
  MathFloatingPointFunctionsFast = 0,
  MathFloatingPointFunctionsPrecise = 1,
};

enum LibraryError : NS::UInteger {
  LibraryErrorUnsupported = 1,
  LibraryErrorInternal = 2,
  LibraryErrorCompileFailure = 3,
  LibraryErrorCompileWarning = 4,
  LibraryErrorFunctionNotFound = 5,
  LibraryErrorFileNotFound = 6,
};

using AutoreleasedArgument = MTL::Argument*;
using FunctionCompletionHandlerFunction =
    NS::detail::HandlerFunction<void(MTL::Function* pFunction, NS::Error* pError)>;

class MLXN_METAL_API FunctionConstant : public NS::Referencing<FunctionConstant> {
 public:
  static FunctionConstant* alloc();
  FunctionConstant* init();
  NS::String* name() const;
  DataType type() const;
  NS::UInteger index() const;
  bool required() const;
};

class MLXN_METAL_API Function : public NS::Referencing<Function> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
  NS::String* name() const;
  FunctionType functionType() const;
  FunctionOptions options() const;
  NS::Dictionary* functionConstantsDictionary() const;
  ArgumentEncoder* newArgumentEncoder(NS::UInteger bufferIndex);
  ArgumentEncoder* newArgumentEncoder(NS::UInteger bufferIndex,
                                      const MTL::AutoreleasedArgument* reflection);
};

class MLXN_METAL_API CompileOptions : public NS::Copying<CompileOptions> {
 public:
  static CompileOptions* alloc();
  CompileOptions* init();

  // Names are NS::String, values NS::String or NS::Number.
  NS::Dictionary* preprocessorMacros() const;
  void setPreprocessorMacros(const NS::Dictionary* preprocessorMacros);
  LanguageVersion languageVersion() const;
  void setLanguageVersion(MTL::LanguageVersion languageVersion);
  // setFastMathEnabled chooses MathModeFast or MathModeSafe.
  bool fastMathEnabled() const;
  void setFastMathEnabled(bool fastMathEnabled);
  MathMode mathMode() const;
  void setMathMode(MTL::MathMode mathMode);
  MathFloatingPointFunctions mathFloatingPointFunctions() const;
  void setMathFloatingPointFunctions(MTL::MathFloatingPointFunctions functions);
  LibraryOptimizationLevel optimizationLevel() const;
  void setOptimizationLevel(MTL::LibraryOptimizationLevel optimizationLevel);
  LibraryType libraryType() const;  // only LibraryTypeExecutable can be built
  void setLibraryType(MTL::LibraryType libraryType);
  bool preserveInvariance() const;
  void setPreserveInvariance(bool preserveInvariance);
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  Size requiredThreadsPerThreadgroup() const;
  void setRequiredThreadsPerThreadgroup(MTL::Size requiredThreadsPerThreadgroup);
  bool enableLogging() const;  // has no effect: os_log of kernels is not available
  void setEnableLogging(bool enableLogging);
};

class MLXN_METAL_API FunctionReflection : public NS::Referencing<FunctionReflection> {
 public:
  static FunctionReflection* alloc();
  FunctionReflection* init();
  NS::Array* bindings() const;
};

class MLXN_METAL_API Library : public NS::Referencing<Library> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
  LibraryType type() const;
  NS::String* installName() const;
  NS::Array* functionNames() const;
  FunctionReflection* reflectionForFunction(const NS::String* functionName);

  Function* newFunction(const NS::String* functionName);
  Function* newFunction(const NS::String* name, const MTL::FunctionConstantValues* constantValues,
                        NS::Error** error);
  Function* newFunction(const MTL::FunctionDescriptor* descriptor, NS::Error** error);
  void newFunction(const NS::String* name, const MTL::FunctionConstantValues* constantValues,
                   const MTL::FunctionCompletionHandlerFunction& completionHandler);
  void newFunction(const MTL::FunctionDescriptor* descriptor,
                   const MTL::FunctionCompletionHandlerFunction& completionHandler);
#ifdef __BLOCKS__
  void newFunction(const NS::String* name, const MTL::FunctionConstantValues* constantValues,
                   void (^completionHandler)(MTL::Function*, NS::Error*));
  void newFunction(const MTL::FunctionDescriptor* descriptor,
                   void (^completionHandler)(MTL::Function*, NS::Error*));
#endif
};

}  // namespace MTL
