#pragma once

#include "NSTypes.hpp"

namespace NS {

enum ComparisonResult : Integer {
  OrderedAscending = -1,
  OrderedSame = 0,
  OrderedDescending = 1,
};

const Integer NotFound = IntegerMax;

}  // namespace NS
