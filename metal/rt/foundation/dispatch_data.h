#pragma once

#include <Metal/Metal.hpp>
#include <string>

#include "mlxn/base/result.h"

namespace mlxn::rt {

// What the SDK's dispatch_data_create() was given.
Result<std::string> bytes_of(dispatch_data_t data);

}  // namespace mlxn::rt
