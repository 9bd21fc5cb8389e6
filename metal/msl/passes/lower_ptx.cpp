#include "metal/msl/passes/lower_ptx.h"

#include <algorithm>
#include <map>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "metal/msl/passes/queries.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

class PtxKernel {
 public:
  PtxKernel(Function& entry, Kernel& kernel)
      : entry_(entry), kernel_(kernel), module_(*entry.getParent()), context_(entry.getContext()) {}

  Status run() {
    create_function();
    for (BasicBlock& block : *kernel_function_)
      for (Instruction& instruction : make_early_inc_range(block)) {
        std::optional<Query> query = query_of(instruction);
        if (!query) continue;
        IRBuilder<> builder(&instruction);
        Value* value = make(builder, query->name, query->index);
        if (!value)
          return Error(ErrorCode::kCompileFailed,
                       str("kernel '", kernel_.name, "' has no argument for '", query->name.str(),
                           "' number ", query->index));
        instruction.replaceAllUsesWith(value);
        instruction.eraseFromParent();
      }
    leave_outside_grid();
    return {};
  }

 private:
  void create_function() {
    std::vector<ArgumentInfo> sorted = kernel_.arguments;
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.index < b.index; });
    std::vector<Type*> types;
    for (const ArgumentInfo& argument : sorted)
      if (argument.kind == ArgumentKind::kBuffer) {
        buffer_parameter_[argument.index] = unsigned(types.size());
        types.push_back(PointerType::get(context_, 0));
      }
    grid_parameter_ = unsigned(types.size());
    types.insert(types.end(), 3, Type::getInt32Ty(context_));
    for (const ArgumentInfo& argument : sorted)
      if (argument.kind == ArgumentKind::kThreadgroupMemory) {
        threadgroup_parameter_[argument.index] = unsigned(types.size());
        types.push_back(Type::getInt32Ty(context_));  // offset into the dynamic block
      }
    std::string symbol = "k_" + std::to_string(next_number(module_));
    kernel_function_ = Function::Create(FunctionType::get(Type::getVoidTy(context_), types, false),
                                        GlobalValue::ExternalLinkage, symbol, &module_);
    ValueToValueMapTy map;
    for (Argument& argument : entry_.args()) map[&argument] = PoisonValue::get(argument.getType());
    SmallVector<ReturnInst*, 8> returns;
    CloneFunctionInto(kernel_function_, &entry_, map, CloneFunctionChangeType::LocalChangesOnly,
                      returns);
    kernel_function_->setAttributes({});
    for (const Attribute& attribute : entry_.getAttributes().getFnAttrs())
      if (attribute.isStringAttribute()) kernel_function_->addFnAttr(attribute);
    NamedMDNode* annotations = module_.getOrInsertNamedMetadata("nvvm.annotations");
    annotations->addOperand(MDNode::get(
        context_, {ValueAsMetadata::get(kernel_function_), MDString::get(context_, "kernel"),
                   ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context_), 1))}));
    kernel_.symbol = symbol;
    entry_.deleteBody();
    entry_.eraseFromParent();
  }

  // Blocks are whole, the grid need not be. Barriers wait for threads that have not ended.
  void leave_outside_grid() {
    BasicBlock* body = &kernel_function_->getEntryBlock();
    BasicBlock* first = BasicBlock::Create(context_, "", kernel_function_, body);
    // Variables of the thread stay in the first block.
    for (Instruction& instruction : make_early_inc_range(*body))
      if (isa<AllocaInst>(instruction)) instruction.moveBefore(*first, first->end());
    IRBuilder<> builder(first);
    Value* inside = builder.getTrue();
    for (unsigned k = 0; k < 3; ++k)
      inside = builder.CreateAnd(inside, builder.CreateICmpULT(position(builder, k), grid(k)));
    BasicBlock* outside = BasicBlock::Create(context_, "", kernel_function_);
    ReturnInst::Create(context_, outside);
    builder.CreateCondBr(inside, body, outside);
  }

  static unsigned next_number(Module& module) {
    unsigned number = 0;
    while (module.getFunction("k_" + std::to_string(number))) ++number;
    return number;
  }

  Value* special(IRBuilder<>& b, std::array<Intrinsic::ID, 3> registers, unsigned dimension) {
    return b.CreateIntrinsic(registers[dimension], {}, {});
  }
  Value* tid(IRBuilder<>& b, unsigned k) {
    return special(b,
                   {Intrinsic::nvvm_read_ptx_sreg_tid_x, Intrinsic::nvvm_read_ptx_sreg_tid_y,
                    Intrinsic::nvvm_read_ptx_sreg_tid_z},
                   k);
  }
  Value* ctaid(IRBuilder<>& b, unsigned k) {
    return special(b,
                   {Intrinsic::nvvm_read_ptx_sreg_ctaid_x, Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                    Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
                   k);
  }
  Value* ntid(IRBuilder<>& b, unsigned k) {
    return special(b,
                   {Intrinsic::nvvm_read_ptx_sreg_ntid_x, Intrinsic::nvvm_read_ptx_sreg_ntid_y,
                    Intrinsic::nvvm_read_ptx_sreg_ntid_z},
                   k);
  }
  Value* nctaid(IRBuilder<>& b, unsigned k) {
    return special(b,
                   {Intrinsic::nvvm_read_ptx_sreg_nctaid_x, Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                    Intrinsic::nvvm_read_ptx_sreg_nctaid_z},
                   k);
  }
  Value* position(IRBuilder<>& b, unsigned k) {
    return b.CreateNUWAdd(b.CreateNUWMul(ctaid(b, k), ntid(b, k)), tid(b, k));
  }
  Value* grid(unsigned k) { return kernel_function_->getArg(grid_parameter_ + k); }

  Value* thread_index(IRBuilder<>& b) {
    Value* rows = b.CreateAdd(b.CreateMul(tid(b, 2), ntid(b, 1)), tid(b, 1));
    return b.CreateAdd(b.CreateMul(rows, ntid(b, 0)), tid(b, 0));
  }

  // Threads of this threadgroup that lie inside the grid.
  Value* present(IRBuilder<>& b, unsigned k) {
    Value* left = b.CreateSub(grid(k), b.CreateMul(ctaid(b, k), ntid(b, k)));
    return b.CreateBinaryIntrinsic(Intrinsic::umin, left, ntid(b, k));
  }

  // The parameter for an argument's index; null if the kernel has no such argument.
  Value* parameter(const std::map<unsigned, unsigned>& places, unsigned index) {
    auto found = places.find(index);
    return found == places.end() ? nullptr : kernel_function_->getArg(found->second);
  }

  Value* dynamic_memory(IRBuilder<>& b, unsigned index) {
    constexpr const char* kName = "msl_dynamic_threadgroup";
    GlobalVariable* block = module_.getNamedGlobal(kName);
    if (!block) {
      block = new GlobalVariable(module_, ArrayType::get(b.getInt8Ty(), 0), false,
                                 GlobalValue::ExternalLinkage, nullptr, kName, nullptr,
                                 GlobalValue::NotThreadLocal, 3);
      block->setAlignment(Align(16));
    }
    Value* offset = parameter(threadgroup_parameter_, index);
    if (!offset) return nullptr;
    return b.CreateAddrSpaceCast(b.CreateGEP(b.getInt8Ty(), block, offset), b.getPtrTy());
  }

  Value* make(IRBuilder<>& b, StringRef name, unsigned k) {
    if (name == "__msl_local_position") return tid(b, k);
    if (name == "__msl_group_position") return ctaid(b, k);
    if (name == "__msl_group_size") return present(b, k);
    if (name == "__msl_dispatch_size") return ntid(b, k);
    if (name == "__msl_grid_size") return grid(k);
    if (name == "__msl_grid_groups") return nctaid(b, k);
    if (name == "__msl_grid_position") return position(b, k);
    if (name == "__msl_thread_index") return thread_index(b);
    if (name == "__msl_lane_id") return b.CreateAnd(thread_index(b), 31);
    if (name == "__msl_buffer_address" || name == "__msl_constant_address")
      return parameter(buffer_parameter_, k);
    if (name == "__msl_threadgroup_address") return dynamic_memory(b, k);
    return nullptr;
  }

  Function& entry_;
  Kernel& kernel_;
  Module& module_;
  LLVMContext& context_;
  Function* kernel_function_ = nullptr;
  std::map<unsigned, unsigned> buffer_parameter_, threadgroup_parameter_;
  unsigned grid_parameter_ = 0;
};

}  // namespace

Status lower_to_ptx(Module& module, std::vector<Kernel>& kernels) {
  for (Kernel& kernel : kernels)
    MLXN_TRY(PtxKernel(*module.getFunction(kernel.symbol), kernel).run());
  return {};
}

Status link_libdevice(Module& module, const std::string& path) {
  SMDiagnostic problem;
  std::unique_ptr<Module> library = parseIRFile(path, problem, module.getContext());
  if (!library)
    return Error(ErrorCode::kIo,
                 str("cannot read libdevice '", path, "': ", problem.getMessage().str()));
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  std::vector<std::string> names;
  for (const Function& function : *library)
    if (!function.isDeclaration()) names.push_back(function.getName().str());
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded))
    return Error(ErrorCode::kInternal, str("cannot link libdevice '", path, "'"));
  for (const std::string& name : names)
    if (Function* function = module.getFunction(name); function && !function->isDeclaration()) {
      function->setLinkage(GlobalValue::InternalLinkage);
      function->addFnAttr(Attribute::AlwaysInline);
    }
  return {};
}

}  // namespace mlxn::msl
