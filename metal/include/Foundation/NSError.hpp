#pragma once

#include "NSObject.hpp"

namespace NS {

using ErrorDomain = class String*;
extern MLXN_METAL_API ErrorDomain const CocoaErrorDomain;
extern MLXN_METAL_API ErrorDomain const POSIXErrorDomain;
extern MLXN_METAL_API ErrorDomain const OSStatusErrorDomain;
extern MLXN_METAL_API ErrorDomain const MachErrorDomain;

using ErrorUserInfoKey = class String*;
extern MLXN_METAL_API ErrorUserInfoKey const UnderlyingErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const LocalizedDescriptionKey;
extern MLXN_METAL_API ErrorUserInfoKey const LocalizedFailureReasonErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const LocalizedRecoverySuggestionErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const LocalizedRecoveryOptionsErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const RecoveryAttempterErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const HelpAnchorErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const DebugDescriptionErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const LocalizedFailureErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const StringEncodingErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const URLErrorKey;
extern MLXN_METAL_API ErrorUserInfoKey const FilePathErrorKey;

class MLXN_METAL_API Error : public Copying<Error> {
 public:
  static Error* error(ErrorDomain domain, Integer code, class Dictionary* pDictionary);

  static Error* alloc();
  Error* init();
  Error* init(ErrorDomain domain, Integer code, class Dictionary* pDictionary);

  Integer code() const;
  ErrorDomain domain() const;
  class Dictionary* userInfo() const;
  class String* localizedDescription() const;
  class Array* localizedRecoveryOptions() const;
  class String* localizedRecoverySuggestion() const;
  class String* localizedFailureReason() const;
};

}  // namespace NS
