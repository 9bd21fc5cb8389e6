#include "mlxn/model/model.h"

#include <set>

#include "mlxn/model/weights.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/kernel_name.h"

namespace mlxn::model {

Result<std::shared_ptr<const Model>> Model::load(const Device& device, const std::string& path,
                                                 const LoadOptions& options) {
  if (!device.options().auto_barrier && !device.options().serial_dispatch) {
    return Error(ErrorCode::kInvalidArgument,
                 "a device that leaves the order of dispatches to its caller, expected one with "
                 "auto_barrier or serial_dispatch");
  }
  MLXN_ASSIGN(auto file, io::GgufFile::open(path));
  std::shared_ptr<Model> model(new Model(device));
  model->file_ = std::make_shared<const io::GgufFile>(std::move(file));
  Weights weights(device, model->file_,
                  {.copy = options.copy, .exact = options.exact, .progress = options.progress});
  auto architecture = create_architecture(weights, options.architectures);
  if (!architecture) return std::move(architecture.error().add_context(path));
  if (Status packed = weights.pack(); !packed) return std::move(packed.error().add_context(path));
  model->architecture_ = std::move(*architecture);
  model->mapped_ = weights.mapped_bytes();
  model->copied_ = weights.copied_bytes();
  model->packed_ = weights.packed_bytes();
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::prepare_kernels(Dtype cache, const Progress& progress) const {
  std::set<std::string_view> types = {to_string(Dtype::kF32), to_string(cache)};
  for (const io::TensorInfo& tensor : file_->tensors())
    if (tensor.dtype) types.insert(to_string(*tensor.dtype));
  KernelRegistry& kernels = builtin_registry(device_);
  MLXN_ASSIGN(const std::vector<std::string> names, kernels.kernel_names(device_));
  std::vector<PipelineRequest> requests;
  for (const std::string& name : names)
    if (types.contains(split_kernel_name(name).type)) requests.push_back({name});
  return kernels.prewarm(device_, requests, 0, [&](size_t done, size_t total, const std::string&) {
    if (progress) progress(done, total);
  });
}

Status Model::check_file() const {
  if (mapped_ == 0) return {};
  for (uint32_t part = 0; part < file_->parts(); ++part) {
    if (const auto mapping = file_->mapping(part)) MLXN_TRY(mapping->check_length());
  }
  return {};
}

}  // namespace mlxn::model
