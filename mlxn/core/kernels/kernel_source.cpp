#include "mlxn/core/kernels/internal/kernel_source.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"

namespace mlxn {
namespace {

uint64_t hash_more(uint64_t hash, std::string_view text) {
  return XXH3_64bits_withSeed(text.data(), text.size(), hash ^ text.size());
}

NS::SharedPtr<MTL::CompileOptions> to_metal(const SourceOptions& options) {
  auto metal = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  metal->setFastMathEnabled(options.fast_math);
  std::vector<const NS::Object*> names, texts;
  for (const auto& [name, text] : options.macros) {
    names.push_back(ns_string(name));
    texts.push_back(ns_string(text));
  }
  if (!names.empty()) {
    metal->setPreprocessorMacros(
        NS::Dictionary::dictionary(texts.data(), names.data(), names.size()));
  }
  return metal;
}

// Metal reports everything as text with a number; only some numbers of the library domain matter.
Error error_of(const NS::Error* error, ErrorCode otherwise) {
  if (error && to_text(error->domain()) == "MTLLibraryErrorDomain") {
    if (error->code() == MTL::LibraryErrorCompileFailure) otherwise = ErrorCode::kCompileFailed;
    if (error->code() == MTL::LibraryErrorUnsupported) otherwise = ErrorCode::kUnsupported;
  }
  return Error(otherwise, to_text(error));
}

std::string list(const std::set<std::string, std::less<>>& names) {
  constexpr size_t kMost = 8;
  std::string out;
  size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kMost) return out + ", ...";
    out += str(out.empty() ? "" : ", ", name);
  }
  return out.empty() ? "none" : out;
}

Result<NS::SharedPtr<MTL::Function>> find_function(const KernelLibrary& library,
                                                   const std::string& name,
                                                   const FunctionConstants& constants) {
  if (!library.entry_points.contains(name)) {
    return Error(ErrorCode::kCompileFailed,
                 str("the source has no such entry point, only ", list(library.entry_points)));
  }
  NS::Error* error = nullptr;
  auto function =
      NS::TransferPtr(constants.empty() ? library.metal->newFunction(ns_string(name))
                                        : library.metal->newFunction(
                                              ns_string(name), constants.to_metal().get(), &error));
  if (!function) return error_of(error, ErrorCode::kCompileFailed);
  return function;
}

Result<Pipeline> build(const KernelLibrary& library, KernelIdentity identity,
                       const FunctionConstants& constants, const Device& device) {
  MLXN_ASSIGN(auto function, find_function(library, identity.name, constants));
  const std::string key = identity.name + constants.to_string();
  auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(function.get());
  descriptor->setLabel(ns_string(key));
  descriptor->setSupportIndirectCommandBuffers(true);  // for replay plans
  NS::Error* error = nullptr;
  MTL::AutoreleasedComputePipelineReflection reflection = nullptr;
  auto state = NS::TransferPtr(device.metal_device()->newComputePipelineState(
      descriptor.get(), MTL::PipelineOptionBindingInfo, &reflection, &error));
  if (!state) return error_of(error, ErrorCode::kPipelineFailed);
  return Pipeline::make(std::move(state), std::move(identity), key, reflection);
}

}  // namespace

KernelText::KernelText(std::string t, SourceOptions o)
    : text(std::move(t)), options(std::move(o)), hash(hash_of(text, options)) {}

uint64_t KernelText::hash_of(std::string_view text, const SourceOptions& options) {
  uint64_t hash = hash_more(options.fast_math, text);
  for (const auto& [name, value] : options.macros) hash = hash_more(hash_more(hash, name), value);
  return hash != 0 ? hash : 1;  // 0 is for pipelines without a source
}

Result<std::shared_ptr<const KernelLibrary>> KernelText::library(const Device& device) {
  using Made = Result<std::shared_ptr<const KernelLibrary>>;
  return libraries_.get(device.id(), [&]() -> Made {
    AutoreleaseScope scope;
    NS::Error* error = nullptr;
    auto made = std::make_shared<KernelLibrary>();
    made->metal = NS::TransferPtr(
        device.metal_device()->newLibrary(ns_string(text), to_metal(options).get(), &error));
    if (!made->metal) return error_of(error, ErrorCode::kCompileFailed);
    const NS::Array* names = made->metal->functionNames();
    for (NS::UInteger i = 0; names && i < names->count(); ++i) {
      made->entry_points.insert(to_text(static_cast<const NS::String*>(names->object(i))));
    }
    return std::shared_ptr<const KernelLibrary>(std::move(made));
  });
}

size_t KernelSource::KeyHash::operator()(const Key& key) const {
  return hash_more(key.device, key.kernel);
}

Result<Pipeline> KernelSource::pipeline(std::string_view name, const FunctionConstants& constants,
                                        const Device& device, bool& built) {
  const std::string suffix = constants.to_string();
  const Key key{device.id(), std::string(name) + suffix};
  auto make = [&]() -> Result<Pipeline> {
    AutoreleaseScope scope;
    MLXN_ASSIGN(auto library, text_->library(device));
    KernelIdentity identity;
    identity.name = name;
    identity.source = text_->hash;
    identity.constants = suffix.empty() ? suffix : suffix.substr(1);
    return build(*library, std::move(identity), constants, device);
  };
  Result<Pipeline> pipeline = pipelines_.get(key, make, &built);
  if (!pipeline) pipeline.error().add_context(str("kernel '", name, "'"));
  return pipeline;
}

}  // namespace mlxn
