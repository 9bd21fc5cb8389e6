#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CommandQueue;
class Device;

class MLXN_METAL_API CaptureScope : public NS::Referencing<CaptureScope> {
 public:
  Device* device() const;
  CommandQueue* commandQueue() const;
  NS::String* label() const;
  void setLabel(const NS::String* pLabel);
  void beginScope();
  void endScope();
};

}  // namespace MTL
