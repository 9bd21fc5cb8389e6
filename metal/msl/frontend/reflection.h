// What the AST says about a kernel: its arguments for MTL::ComputePipelineReflection, and the call
// that fetches each of them.
#pragma once

#include <optional>
#include <string>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

struct ReflectedKernel {
  Kernel kernel;
  std::string call_arguments;  // C++ text, comma separated; see stdlib/msl_entry.h
};

// Reads the parameters of `function`. `parameters` is the name of an __msl_parameters type for it.
// Mistakes (no attribute, two arguments at one index, ...) are reported as diagnostics; then
// nothing is returned.
std::optional<ReflectedKernel> reflect(clang::ASTContext& context,
                                       const clang::FunctionDecl& function,
                                       const std::string& host_name, const std::string& parameters);

// MTL::DataType of a type; 0 when Metal has no name for it.
DataType data_type_of(clang::QualType type);

}  // namespace mlxn::msl
