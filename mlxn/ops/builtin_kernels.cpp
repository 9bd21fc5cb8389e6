#include "mlxn/ops/builtin_kernels.h"

namespace mlxn {

void add_builtin_kernels(KernelRegistry& registry) {
  for (const BuiltinKernels& file : builtin_kernels()) {
    registry.register_library(std::string(file.name), std::string(file.text));
  }
}

}  // namespace mlxn
