#pragma once

#include "NSObject.hpp"

namespace NS {

class MLXN_METAL_API ProcessInfo : public Referencing<ProcessInfo> {
 public:
  static ProcessInfo* processInfo();

  class Array* arguments() const;
  class Dictionary* environment() const;
  class String* hostName() const;
  class String* processName() const;
  void setProcessName(const class String* pString);
  int processIdentifier() const;
  class String* globallyUniqueString() const;
  class String* userName() const;
  class String* fullUserName() const;

  OperatingSystemVersion operatingSystemVersion() const;
  class String* operatingSystemVersionString() const;
  bool isOperatingSystemAtLeastVersion(OperatingSystemVersion version) const;

  UInteger processorCount() const;
  UInteger activeProcessorCount() const;
  unsigned long long physicalMemory() const;
  TimeInterval systemUptime() const;

  bool isLowPowerModeEnabled() const;
  bool isiOSAppOnMac() const;
  bool isMacCatalystApp() const;
};

}  // namespace NS
