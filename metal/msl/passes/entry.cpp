#include "metal/msl/passes/entry.h"

#include <cstddef>

#include "llvm/IR/Constants.h"
#include "llvm/IR/MDBuilder.h"
#include "metal/msl/kernel_abi.h"

namespace mlxn::msl {

using namespace llvm;

Function* create_threadgroup_function(const Function& entry, Kernel& kernel) {
  LLVMContext& context = entry.getContext();
  Type* pointer = PointerType::get(context, 0);
  auto* type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
  kernel.symbol = "k." + entry.getName().str();
  Function* made = Function::Create(type, GlobalValue::ExternalLinkage, kernel.symbol,
                                    const_cast<Module*>(entry.getParent()));
  for (const Attribute& attribute : entry.getAttributes().getFnAttrs())
    if (attribute.isStringAttribute()) made->addFnAttr(attribute);
  made->addFnAttr(Attribute::NoUnwind);
  // Addresses of arguments may be loaded ahead of any branch.
  const uint64_t bytes[] = {sizeof(MslDispatch), sizeof(MslThreadgroup)};
  for (unsigned i = 0; i < 2; ++i) {
    AttrBuilder facts(context);
    facts.addDereferenceableAttr(bytes[i]);
    facts.addAlignmentAttr(alignof(void*));
    facts.addAttribute(Attribute::NoAlias);
    facts.addAttribute(Attribute::NoUndef);
    made->addParamAttrs(i, facts);
  }
  return made;
}

LoadInst* load_group_size(IRBuilder<>& builder, Value* threadgroup, unsigned dimension) {
  LLVMContext& context = builder.getContext();
  Value* place = builder.CreateConstInBoundsGEP1_64(
      builder.getInt8Ty(), threadgroup,
      offsetof(MslThreadgroup, size) + dimension * sizeof(unsigned));
  LoadInst* load = builder.CreateLoad(builder.getInt32Ty(), place);
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));
  load->setMetadata(
      LLVMContext::MD_range,
      MDNode::get(context, {ConstantAsMetadata::get(builder.getInt32(1)),
                            ConstantAsMetadata::get(builder.getInt32(MSL_MAX_THREADS + 1))}));
  return load;
}

}  // namespace mlxn::msl
