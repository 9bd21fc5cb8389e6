#include "metal/msl/passes/packed_dot.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "metal/msl/passes/target_features.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr StringRef kNames[] = {"__msl_dot4", "__msl_dot2"};
constexpr const char* kVectorSuffix = ".vector";

unsigned elements(const Value* value) {
  auto* type = dyn_cast<FixedVectorType>(value->getType());
  return type ? type->getNumElements() : 1;
}

// An instruction for vectors of 4, 8 or 16 elements, up to `most`.
struct VectorForm {
  unsigned most;
  Value* (*emit)(IRBuilder<>&, ArrayRef<Value*>);
};

Intrinsic::ID by_size(const Value* value, Intrinsic::ID four, Intrinsic::ID eight,
                      Intrinsic::ID sixteen) {
  return elements(value) == 4 ? four : elements(value) == 8 ? eight : sixteen;
}

Value* bytes_by_vnni(IRBuilder<>& builder, ArrayRef<Value*> in) {
  Intrinsic::ID id =
      by_size(in[0], Intrinsic::x86_avx512_vpdpbusd_128, Intrinsic::x86_avx512_vpdpbusd_256,
              Intrinsic::x86_avx512_vpdpbusd_512);
  return builder.CreateIntrinsic(id, {}, {in[2], in[0], in[1]});
}

// Even and odd bytes as 16-bit numbers: sums of two products fit, other than in vpmaddubsw.
Value* bytes_by_words(IRBuilder<>& builder, ArrayRef<Value*> in) {
  Intrinsic::ID id = by_size(in[0], Intrinsic::x86_sse2_pmadd_wd, Intrinsic::x86_avx2_pmadd_wd,
                             Intrinsic::x86_avx512_pmaddw_d_512);
  Type* words = FixedVectorType::get(builder.getInt16Ty(), 2 * elements(in[0]));
  Value *a = builder.CreateBitCast(in[0], words), *b = builder.CreateBitCast(in[1], words);
  Value* even = builder.CreateIntrinsic(id, {},
                                        {builder.CreateAnd(a, ConstantInt::get(words, 255)),
                                         builder.CreateAShr(builder.CreateShl(b, 8), 8)});
  Value* odd =
      builder.CreateIntrinsic(id, {}, {builder.CreateLShr(a, 8), builder.CreateAShr(b, 8)});
  return builder.CreateAdd(builder.CreateAdd(in[2], even), odd);
}

Value* bfloats_by_instruction(IRBuilder<>& builder, ArrayRef<Value*> in) {
  Intrinsic::ID id =
      by_size(in[0], Intrinsic::x86_avx512bf16_dpbf16ps_128, Intrinsic::x86_avx512bf16_dpbf16ps_256,
              Intrinsic::x86_avx512bf16_dpbf16ps_512);
  Type* pairs = FixedVectorType::get(builder.getBFloatTy(), 2 * elements(in[0]));
  return builder.CreateIntrinsic(
      id, {}, {in[2], builder.CreateBitCast(in[0], pairs), builder.CreateBitCast(in[1], pairs)});
}

// With multiply-adds, for any number of elements; also on GPUs.
Value* bfloats_by_fma(IRBuilder<>& builder, ArrayRef<Value*> in) {
  Type *words = in[0]->getType(), *floats = in[2]->getType();
  auto high = [&](Value* pair) {
    return builder.CreateBitCast(builder.CreateAnd(pair, ConstantInt::get(words, 0xffff0000u)),
                                 floats);
  };
  auto low = [&](Value* pair) {
    return builder.CreateBitCast(builder.CreateShl(pair, 16), floats);
  };
  Value* sum = builder.CreateIntrinsic(Intrinsic::fma, {floats}, {high(in[0]), high(in[1]), in[2]});
  return builder.CreateIntrinsic(Intrinsic::fma, {floats}, {low(in[0]), low(in[1]), sum});
}

// No form: a loop of multiply-adds is all the target has.
std::optional<VectorForm> form_of(PackedDot kind, const Function& function) {
  if (kind == PackedDot::kBfloats) {
    if (has_feature(function, "+avx512bf16")) return VectorForm{16, bfloats_by_instruction};
    return std::nullopt;
  }
  if (has_feature(function, "+avx512vnni")) return VectorForm{16, bytes_by_vnni};
  if (has_feature(function, "+avxvnni")) return VectorForm{8, bytes_by_vnni};
  if (has_feature(function, "+avx512bw")) return VectorForm{16, bytes_by_words};
  return VectorForm{has_feature(function, "+avx2") ? 8u : 4u, bytes_by_words};
}

Value* part(IRBuilder<>& builder, Value* value, unsigned first, unsigned count) {
  SmallVector<int, 16> indices;
  for (unsigned i = 0; i < count; ++i) indices.push_back(int(first + i));
  return builder.CreateShuffleVector(value, indices);
}

Value* joined(IRBuilder<>& builder, Value* low, Value* high) {
  SmallVector<int, 32> indices;
  for (unsigned i = 0; i < 2 * elements(low); ++i) indices.push_back(int(i));
  return builder.CreateShuffleVector(low, high, indices);
}

// In halves until the instruction takes them; a single number as one of four.
Value* emit_form(IRBuilder<>& builder, const VectorForm& form, ArrayRef<Value*> in) {
  unsigned count = elements(in[0]);
  SmallVector<Value*, 3> operands[2];
  if (count == 1) {
    for (Value* value : in)
      operands[0].push_back(builder.CreateInsertElement(
          PoisonValue::get(FixedVectorType::get(value->getType(), 4)), value, uint64_t{0}));
    return builder.CreateExtractElement(form.emit(builder, operands[0]), uint64_t{0});
  }
  if (count <= form.most) return form.emit(builder, in);
  for (Value* value : in)
    for (unsigned half : {0, 1})
      operands[half].push_back(part(builder, value, half * count / 2, count / 2));
  Value* low = emit_form(builder, form, operands[0]);
  return joined(builder, low, emit_form(builder, form, operands[1]));
}

Value* bytes_by_dp4a(IRBuilder<>& builder, ArrayRef<Value*> in) {
  Type* word = builder.getInt32Ty();
  auto* code = InlineAsm::get(FunctionType::get(word, {word, word, word}, false),
                              "dp4a.u32.s32 $0, $1, $2, $3;", "=r,r,r,r",
                              /*hasSideEffects=*/false);
  auto* call = builder.CreateCall(code, in);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// A function of as many numbers as a register of the target holds.
Function* declare_vector_form(Function& function, const Function& user) {
  Module& module = *function.getParent();
  unsigned count = has_feature(user, "+avx512f") ? 16 : has_feature(user, "+avx2") ? 8 : 4;
  SmallVector<Type*, 3> types;
  for (Type* type : function.getFunctionType()->params())
    types.push_back(FixedVectorType::get(type, count));
  Function* made =
      Function::Create(FunctionType::get(types[2], types, false), GlobalValue::ExternalLinkage,
                       function.getName() + kVectorSuffix, module);
  made->copyAttributesFrom(&function);
  appendToCompilerUsed(module, {made});
  return made;
}

}  // namespace

std::optional<PackedDot> packed_dot(const CallBase& call) {
  const Function* callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration()) return std::nullopt;
  StringRef name = callee->getName();
  name.consume_back(kVectorSuffix);
  if (name == kNames[0]) return PackedDot::kBytes;
  if (name == kNames[1]) return PackedDot::kBfloats;
  return std::nullopt;
}

Value* emit_packed_dot(IRBuilder<>& builder, PackedDot kind, ArrayRef<Value*> operands) {
  const Function& function = *builder.GetInsertBlock()->getParent();
  if (Triple(function.getParent()->getTargetTriple()).isNVPTX())
    return kind == PackedDot::kBytes ? bytes_by_dp4a(builder, operands)
                                     : bfloats_by_fma(builder, operands);
  auto form = form_of(kind, function);
  return form ? emit_form(builder, *form, operands) : bfloats_by_fma(builder, operands);
}

void offer_packed_dots(Module& module) {
  for (StringRef name : kNames) {
    Function* function = module.getFunction(name);
    if (!function) continue;
    Function* vector = nullptr;
    for (User* user : function->users()) {
      auto* call = dyn_cast<CallInst>(user);
      if (!call || !packed_dot(*call)) continue;
      if (!vector) vector = declare_vector_form(*function, *call->getFunction());
      unsigned count = elements(vector->getArg(0));
      std::string variant =
          str("_ZGV_LLVM_N", count, "vvv_", name.str(), "(", vector->getName().str(), ")");
      call->removeFnAttr(Attribute::NoBuiltin);
      call->addFnAttr(Attribute::get(module.getContext(), "vector-function-abi-variant", variant));
    }
  }
}

void lower_packed_dots(Module& module) {
  auto is_ours = [](Constant* constant) {
    auto* function = dyn_cast<Function>(constant);
    return function && function->getName().starts_with("__msl_dot");
  };
  removeFromUsedLists(module, is_ours);
  for (Function& function : make_early_inc_range(module)) {
    if (!is_ours(&function)) continue;
    for (User* user : make_early_inc_range(function.users())) {
      auto* call = dyn_cast<CallInst>(user);
      if (!call || !packed_dot(*call)) continue;
      IRBuilder<> builder(call);
      SmallVector<Value*, 3> operands(call->args());
      call->replaceAllUsesWith(emit_packed_dot(builder, *packed_dot(*call), operands));
      call->eraseFromParent();
    }
    if (function.use_empty()) function.eraseFromParent();
  }
}

}  // namespace mlxn::msl
