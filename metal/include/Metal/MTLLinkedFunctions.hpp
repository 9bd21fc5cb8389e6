#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

// Functions to call from a kernel by pointer, which are not available: with any, pipeline creation
// fails.
class MLXN_METAL_API LinkedFunctions : public NS::Copying<LinkedFunctions> {
 public:
  static LinkedFunctions* alloc();
  LinkedFunctions* init();
  static LinkedFunctions* linkedFunctions();

  NS::Array* functions() const;
  void setFunctions(const NS::Array* functions);
  NS::Array* binaryFunctions() const;
  void setBinaryFunctions(const NS::Array* binaryFunctions);
  NS::Dictionary* groups() const;
  void setGroups(const NS::Dictionary* groups);
  NS::Array* privateFunctions() const;
  void setPrivateFunctions(const NS::Array* privateFunctions);
};

}  // namespace MTL
