// Apple's Metal compiles and keeps kernels by itself and tells nothing about it.
#include "apps/mlxn/backend.h"

namespace mlxn::cli {

BackendReport report_backend(const MTL::Device*) {
  BackendReport report;
  report.executor = "Apple Metal";
  report.compiler = {"", "", "part of the system", ""};
  return report;
}

ReplayResult replay_capture(const std::string&, uint64_t) {
  ReplayResult result;
  result.problem = "Apple's Metal cannot replay by a program; open the capture with Xcode";
  return result;
}

}  // namespace mlxn::cli
