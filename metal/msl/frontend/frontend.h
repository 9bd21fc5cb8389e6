// From MSL text to an unoptimised LLVM module with one function per entry point.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "metal/msl/interface.h"

namespace mlxn::msl {

// Indexes the source and checks it: all code outside templates, and one instantiation of each
// kernel template.
Result<LibraryInfo> analyse(std::string_view source, const CompileOptions& options);

// Host names of all kernels, without parsing.
Result<std::vector<std::string>> index_entry_points(std::string_view source,
                                                    const CompileOptions& options);

// All kernels with their arguments, from declarations alone.
Result<std::vector<Kernel>> reflect_kernels(std::string_view source, const CompileOptions& options);

struct FrontendRequest {
  std::vector<std::string> entry_points;  // host names
  std::map<std::string, std::string>
      constant_values;  // C++ initialiser for each constant that is set
  Target target;
  bool line_numbers = false;  // instructions know their source line
};

// A module whose functions __msl_entry_<i>(ptr dispatch, ptr threadgroup, i32 x, i32 y, i32 z, i32
// thread) call kernels[i] for one thread. Kernel::symbol holds that name.
struct FrontendModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::vector<Kernel> kernels;
};

Result<FrontendModule> generate(std::string_view source, const CompileOptions& options,
                                const FrontendRequest& request);

}  // namespace mlxn::msl
