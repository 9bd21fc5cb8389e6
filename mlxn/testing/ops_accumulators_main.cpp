// Would the cases notice kernels that add up with half the bits? Puts such a type in the place of
// every Accumulator (ops/common/kernel.h), runs all cases, and lists the kernels whose cases agree
// with their references all the same. Exit status 1 if there are any. Fused kernels that no case
// calls have the bits of their parts (tests/ops/fusion_test.cpp).
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/testing/case_run.h"

namespace mlxn::cases {
namespace {

constexpr std::string_view kNarrow = "#define MLXN_NARROW_ACCUMULATOR\n";

struct Noticed {
  uint64_t cases = 0, failures = 0;
};
using Kernels = std::map<std::string, Noticed>;

uint64_t count(std::string_view text, std::string_view word) {
  uint64_t found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// Whether a kernel file adds up in anything; every one has the type's own definition.
bool has_accumulators(const BuiltinKernels& file) {
  constexpr std::string_view kName = "Accumulator";
  uint64_t least = UINT64_MAX;
  for (const BuiltinKernels& other : builtin_kernels()) {
    least = std::min(least, count(other.text, kName));
  }
  return count(file.text, kName) > least;
}

// The entry points that add up.
Result<Kernels> kernels_to_judge(const Device& device) {
  KernelRegistry registry;
  for (const BuiltinKernels& file : builtin_kernels()) {
    if (has_accumulators(file)) {
      registry.register_library(std::string(file.name), std::string(file.text));
    }
  }
  MLXN_ASSIGN(const std::vector<std::string> names, registry.kernel_names(device));
  Kernels out;
  for (const std::string& name : names) out[name];
  return out;
}

Result<std::vector<std::string>> dispatched(const OpCase& op_case, const CaseRun& run,
                                            const Device& device) {
  CommandEncoder encoder(device);
  encoder.start_capture();
  MLXN_TRY(op_case.encode({encoder, run.buffers()}));
  const auto nodes = encoder.take_capture();
  std::vector<std::string> names;
  for (const CapturedNode& node : *nodes) names.push_back(node.pipeline.identity().name);
  return names;
}

Status judge(const OpCase& op_case, const Device& device, Kernels& kernels) {
  MLXN_ASSIGN(const CaseRun run, CaseRun::create(op_case, device, 1));
  MLXN_ASSIGN(const std::vector<std::string> names, dispatched(op_case, run, device));
  MLXN_TRY(run.run());
  const bool fails = !run.check();
  for (const std::string& name : names) {
    const auto kernel = kernels.find(name);
    if (kernel == kernels.end()) continue;
    ++kernel->second.cases;
    kernel->second.failures += fails;
  }
  return {};
}

// The number of kernels whose cases do not notice.
uint64_t report(const Kernels& kernels, bool all) {
  uint64_t judged = 0, survivors = 0;
  for (const auto& [name, noticed] : kernels) {
    if (noticed.cases == 0 && all) std::printf("%s: called by no case\n", name.c_str());
    if (noticed.cases == 0) continue;
    ++judged;
    if (noticed.failures > 0) continue;
    ++survivors;
    std::printf("%s: none of %llu cases notices\n", name.c_str(),
                static_cast<unsigned long long>(noticed.cases));
  }
  std::printf("%llu kernels add up, %llu would not be noticed\n",
              static_cast<unsigned long long>(judged), static_cast<unsigned long long>(survivors));
  return survivors;
}

Result<uint64_t> judge_all(std::string_view only) {
  MLXN_ASSIGN(const Device device, Device::create());
  MLXN_ASSIGN(Kernels kernels, kernels_to_judge(device));
  device.kernels().add_once("mlxn/ops", [](KernelRegistry& registry) {
    for (const BuiltinKernels& file : builtin_kernels()) {
      registry.register_library(std::string(file.name), str(kNarrow, file.text));
    }
  });
  for (const OpCases& op : all_op_cases()) {
    if (op.op.find(only) == op.op.npos) continue;
    for (const OpCase& entry : op.cases) {
      if (entry.use == Use::kTest) MLXN_TRY(judge(entry, device, kernels));
    }
  }
  return report(kernels, only.empty());
}

}  // namespace
}  // namespace mlxn::cases

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr, "Usage: ops_accumulators [PART-OF-AN-OP'S-NAME]\n");
    return 2;
  }
  const auto survivors = mlxn::cases::judge_all(argc == 2 ? argv[1] : "");
  if (survivors) return *survivors == 0 ? 0 : 1;
  std::fprintf(stderr, "ops_accumulators: %s\n", survivors.error().to_string().c_str());
  return 1;
}
