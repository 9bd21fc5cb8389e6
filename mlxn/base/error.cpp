#include "mlxn/base/error.h"

namespace mlxn {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kOutOfRange: return "out of range";
    case ErrorCode::kShapeMismatch: return "shape mismatch";
    case ErrorCode::kDtypeMismatch: return "dtype mismatch";
    case ErrorCode::kOutOfMemory: return "out of memory";
    case ErrorCode::kDeviceNotFound: return "device not found";
    case ErrorCode::kCompileFailed: return "compilation failed";
    case ErrorCode::kFunctionNotFound: return "function not found";
    case ErrorCode::kPipelineFailed: return "pipeline creation failed";
    case ErrorCode::kExecutionFailed: return "execution failed";
    case ErrorCode::kInvalidState: return "invalid state";
    case ErrorCode::kIo: return "input/output error";
    case ErrorCode::kCorruptData: return "corrupt data";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kDeviceLost: return "device lost";
    case ErrorCode::kPageFault: return "page fault";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kInternal: return "internal error";
  }
  return "unknown error";
}

std::string Error::to_string() const {
  return std::string(mlxn::to_string(code_)) + ": " + message_;
}

}  // namespace mlxn
