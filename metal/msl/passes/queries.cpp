#include "metal/msl/passes/queries.h"

#include "llvm/IR/Constants.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/cross_lane.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

struct QueryKind {
  StringRef name;
  unsigned count;  // how many there are of it; 0: it has no number
};
constexpr QueryKind kQueries[] = {
    {"__msl_grid_position", 3},
    {"__msl_local_position", 3},
    {"__msl_group_position", 3},
    {"__msl_group_size", 3},
    {"__msl_dispatch_size", 3},
    {"__msl_grid_size", 3},
    {"__msl_grid_groups", 3},
    {"__msl_buffer_address", MSL_MAX_BUFFERS},
    {"__msl_constant_address", MSL_MAX_BUFFERS},
    {"__msl_threadgroup_address", MSL_MAX_THREADGROUP_BUFFERS},
    {"__msl_thread_index", 0},
    {"__msl_lane_id", 0},
};

const QueryKind* kind_of(StringRef name) {
  const auto* found = find_if(kQueries, [&](const QueryKind& kind) { return kind.name == name; });
  return found == std::end(kQueries) ? nullptr : found;
}

Error needs_constant(StringRef function, const char* what) {
  return Error(ErrorCode::kCompileFailed,
               str("'", function.str(), "': ", what, " must be a constant, but is computed"));
}

Status name_calls(Function& function, const QueryKind& kind) {
  Module& module = *function.getParent();
  for (User* user : make_early_inc_range(function.users())) {
    auto* call = dyn_cast<CallInst>(user);
    bool direct = call && call->getCalledFunction() == &function && call->arg_size() == 1;
    auto* number = direct ? dyn_cast<ConstantInt>(call->getArgOperand(0)) : nullptr;
    if (!number) return needs_constant(kind.name, "its number");
    if (number->getValue().uge(kind.count))
      return Error(ErrorCode::kCompileFailed,
                   str("'", kind.name.str(), "': number ", number->getZExtValue(),
                       " is out of range, expected less than ", kind.count));
    std::string name = str(kind.name.str(), ".", number->getZExtValue());
    auto* type = FunctionType::get(function.getReturnType(), false);
    auto* named = cast<Function>(module.getOrInsertFunction(name, type).getCallee());
    named->setAttributes(function.getAttributes().removeParamAttributes(module.getContext(), 0));
    auto* plain = CallInst::Create(named, "", call->getIterator());
    call->replaceAllUsesWith(plain);
    call->eraseFromParent();
  }
  return {};
}

}  // namespace

Status name_queries(Module& module) {
  for (const QueryKind& kind : kQueries)
    if (Function* function = module.getFunction(kind.name); function && kind.count > 0)
      MLXN_TRY(name_calls(*function, kind));
  return {};
}

std::optional<Query> query_of(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  if (!callee) return std::nullopt;
  auto [name, number] = callee->getName().split('.');
  const QueryKind* kind = kind_of(name);
  Query query{name};
  if (!kind || (kind->count > 0 && number.getAsInteger(10, query.index))) return std::nullopt;
  return query;
}

Status check_lane_operations(const Module& module) {
  for (const Function& function : module) {
    if (!is_cross_lane(function)) continue;
    for (const User* user : function.users()) {
      const auto* call = dyn_cast<CallInst>(user);
      if (!call || call->getCalledFunction() != &function)
        return needs_constant(function.getName(), "the called function");
      bool has_function = function.getName().starts_with("__msl_simd_reduce_") ||
                          function.getName().starts_with("__msl_simd_scan_");
      if (has_function && !isa<ConstantInt>(call->getArgOperand(1)))
        return needs_constant(function.getName(), "the function to apply");
      if (!isa<ConstantInt>(call->getArgOperand(call->arg_size() - 1)))
        return needs_constant(function.getName(), "the call site");
    }
  }
  return {};
}

}  // namespace mlxn::msl
