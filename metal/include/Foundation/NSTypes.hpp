#pragma once

#include <cstddef>
#include <cstdint>

#include "NSDefines.hpp"

using CFTimeInterval = double;

namespace NS {

using TimeInterval = double;
using Integer = std::intptr_t;
using UInteger = std::uintptr_t;

const Integer IntegerMax = INTPTR_MAX;
const Integer IntegerMin = INTPTR_MIN;
const UInteger UIntegerMax = UINTPTR_MAX;

struct OperatingSystemVersion {
  Integer majorVersion;
  Integer minorVersion;
  Integer patchVersion;
} MLXN_METAL_PACKED;

}  // namespace NS
