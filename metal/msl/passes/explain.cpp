#include "metal/msl/passes/explain.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/region_emitter.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "metal/msl/passes/tiles.h"
#include "metal/msl/passes/uniformity.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// The innermost place in the user's own text: inlined library code is charged to its caller.
std::string place_of(const DebugLoc& location) {
  for (const DILocation* place = location; place; place = place->getInlinedAt()) {
    StringRef file = place->getFilename();
    if (place->getLine() == 0 || file.starts_with("/msl/") || file.starts_with("<")) continue;
    return str(file.str(), ":", place->getLine());
  }
  return "(line unknown)";
}

const char* function_name(unsigned function) {
  constexpr const char* kNames[] = {"sum", "product", "min", "max", "and", "or", "xor"};
  return function < std::size(kNames) ? kNames[function] : "?";
}

std::string operation_name(const CallInst& call) {
  switch (matrix_memory(call)) {
    case MatrixMemory::kLoad: return "simdgroup_load";
    case MatrixMemory::kStore: return "simdgroup_store";
    default: break;
  }
  unsigned word = lane_operation(call).word;
  const char* function = function_name(MSL_OP_FUNCTION(word));
  switch (MSL_OP_KIND(word)) {
    case MSL_OP_THREADGROUP_BARRIER: return "threadgroup_barrier";
    case MSL_OP_SIMDGROUP_BARRIER: return "simdgroup_barrier";
    case MSL_OP_SHUFFLE: return "simd_shuffle";
    case MSL_OP_BALLOT: return "simd_ballot";
    case MSL_OP_ACTIVE: return "simd_active_threads_mask";
    case MSL_OP_REDUCE: return str("simd_", function);
    case MSL_OP_SCAN_INCLUSIVE: return str("simd_prefix_inclusive_", function);
    case MSL_OP_SCAN_EXCLUSIVE: return str("simd_prefix_exclusive_", function);
    case MSL_OP_MATRIX_FMA: return "simdgroup_multiply_accumulate";
    default: return "?";
  }
}

bool is_operation(const CallInst& call) {
  const Function* callee = call.getCalledFunction();
  return callee && is_cross_lane(*callee);
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kThreadgroup: return "the same for the whole threadgroup";
    case Level::kSimdgroup: return "the same for a simdgroup";
    default: return "differs between lanes";
  }
}

std::string shape_name(const Shape& shape) {
  switch (shape.kind) {
    case Shape::Kind::kFlat32: return "n x 1 x 1 threads, n a multiple of 32";
    case Shape::Kind::kExact:
      return str(shape.size[0], " x ", shape.size[1], " x ", shape.size[2], " threads");
    default: return "any";
  }
}

std::string reason(const Kernel& kernel, const CompileRequest& request,
                   const std::optional<Refusal>& refusal) {
  if (request.forced_tier > 0 && int(kernel.tier) == request.forced_tier)
    return str("no lower tier than ", request.forced_tier, " was allowed");
  switch (kernel.tier) {
    case Tier::kWorkItemLoop:
      if (!refusal)
        return "no cross-lane operation: rows of 16 n threads run 16 at a time, as vectors";
      return str(
          "no cross-lane operation: threads run one after the other, in a loop that is vectorised; "
          "not 16 at a time: ",
          refusal->why, refusal->where ? " at " + place_of(refusal->where) : "");
    case Tier::kRegions:
      return "all lanes of a simdgroup reach every cross-lane operation together: control flow is "
             "kept once, lanes run in loops between the operations";
    case Tier::kMaskedRegions:
      return str("not tier 1: ", refusal ? refusal->why : "",
                 refusal ? " at " + place_of(refusal->where) : "",
                 "; each lane keeps its own place in the program");
    default: return "threads suspend at each cross-lane operation";
  }
}

// Lines that differ only in where the compiler put copies of one source line are shown once.
void add_lines(std::string& text, const std::vector<std::string>& lines) {
  std::map<std::string, unsigned> count;
  for (const std::string& line : lines) ++count[line];
  for (const std::string& line : lines) {
    unsigned& times = count[line];
    if (times == 0) continue;
    text += str("    ", line, times > 1 ? str("  (", times, " times)") : "", "\n");
    times = 0;
  }
}

}  // namespace

std::string explain(Function& entry, const Kernel& kernel, const CompileRequest& request,
                    const std::optional<Refusal>& refusal) {
  constexpr const char* kTiers[] = {"work-item loop", "regions", "masked regions", "coroutines"};
  Uniformity uniformity(entry, has_full_simdgroups(request.shape));
  std::string text = str(kernel.name, ": tier ", int(kernel.tier), " (",
                         kTiers[size_t(kernel.tier)], "), threadgroups: ", shape_name(kernel.shape),
                         "\n  why: ", reason(kernel, request, refusal), "\n");
  std::vector<std::string> operations, branches;
  unsigned uniform_branches = 0;
  for (const BasicBlock& block : entry) {
    for (const Instruction& instruction : block) {
      const auto* call = dyn_cast<CallInst>(&instruction);
      if (!call || (!is_operation(*call) && matrix_memory(*call) == MatrixMemory::kNone)) continue;
      Level level = uniformity.control(block);
      operations.push_back(str(place_of(call->getDebugLoc()), "  ", operation_name(*call),
                               level == Level::kLane        ? "  reached by some lanes only"
                               : level == Level::kSimdgroup ? "  reached by some simdgroups only"
                                                            : ""));
    }
    const Instruction& end = *block.getTerminator();
    if (end.getNumSuccessors() < 2) continue;
    Level level = uniformity.of_branch(block);
    if (level == Level::kThreadgroup)
      ++uniform_branches;
    else
      branches.push_back(str(place_of(end.getDebugLoc()), "  ", level_name(level)));
  }
  text += str("  cross-lane operations: ", operations.size(), "\n");
  add_lines(text, operations);
  text += str("  branches that are not the same for all threads: ", branches.size(), " (",
              uniform_branches, " others are)\n");
  add_lines(text, branches);
  if (kernel.tier == Tier::kRegions || kernel.tier == Tier::kMaskedRegions)
    text += str("  context: ", kernel.context_bytes, " bytes, and ",
                kernel.context_bytes_per_simdgroup, " for each simdgroup\n");
  return text;
}

}  // namespace mlxn::msl
