#pragma once

#include <cstdint>

namespace MTL {
using GPUAddress = uint64_t;
}
