#pragma once

#include "NSObject.hpp"

namespace NS {

class MLXN_METAL_API Data : public Copying<Data> {
 public:
  void* mutableBytes() const;
  UInteger length() const;
};

}  // namespace NS
