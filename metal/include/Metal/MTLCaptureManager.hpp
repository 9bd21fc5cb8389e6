#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class CaptureScope;
class CommandQueue;
class Device;

enum CaptureError : NS::Integer {
  CaptureErrorNotSupported = 1,
  CaptureErrorAlreadyCapturing = 2,
  CaptureErrorInvalidDescriptor = 3,
};

enum CaptureDestination : NS::Integer {
  CaptureDestinationDeveloperTools = 1,
  CaptureDestinationGPUTraceDocument = 2,
};

class MLXN_METAL_API CaptureDescriptor : public NS::Copying<CaptureDescriptor> {
 public:
  static CaptureDescriptor* alloc();
  CaptureDescriptor* init();
  NS::Object* captureObject() const;
  void setCaptureObject(NS::Object* captureObject);
  CaptureDestination destination() const;
  void setDestination(MTL::CaptureDestination destination);
  NS::URL* outputURL() const;
  void setOutputURL(const NS::URL* outputURL);
};

// Captures go to a file that mlxn::metal::replay_capture runs again;
// CaptureDestinationGPUTraceDocument only. The file is complete when the capture is stopped and all
// command buffers committed during it have completed.
class MLXN_METAL_API CaptureManager : public NS::Referencing<CaptureManager> {
 public:
  static CaptureManager* sharedCaptureManager();
  static CaptureManager* alloc();
  CaptureManager* init();

  CaptureScope* newCaptureScope(const MTL::Device* device);
  CaptureScope* newCaptureScope(const MTL::CommandQueue* commandQueue);
  CaptureScope* defaultCaptureScope() const;
  void setDefaultCaptureScope(const MTL::CaptureScope* defaultCaptureScope);

  bool supportsDestination(MTL::CaptureDestination destination);
  bool startCapture(const MTL::CaptureDescriptor* descriptor, NS::Error** error);
  void startCapture(const MTL::Device* device);
  void startCapture(const MTL::CommandQueue* commandQueue);
  void startCapture(const MTL::CaptureScope* captureScope);
  void stopCapture();
  bool isCapturing() const;
};

}  // namespace MTL
