#include "mlxn/ops/kernel_name.h"

#include "mlxn/base/dtype.h"
#include "mlxn/base/strings.h"

namespace mlxn {

KernelName split_kernel_name(std::string_view kernel) {
  for (const DtypeInfo& dtype : dtypes()) {
    const std::string suffix = str("_", dtype.name);
    if (kernel.ends_with(suffix))
      return {std::string(kernel.substr(0, kernel.size() - suffix.size())),
              std::string(dtype.name)};
  }
  return {std::string(kernel), ""};
}

}  // namespace mlxn
