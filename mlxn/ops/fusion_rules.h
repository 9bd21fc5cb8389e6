// All fusion rules of the library, for Graph::fuse.
#pragma once

#include "mlxn/core/graph/fusion.h"

namespace mlxn {

// In the order they are to be applied.
ArrayRef<FusionRule> fusion_rules();

}  // namespace mlxn
