#include "mlxn/model/model.h"

#include "mlxn/base/strings.h"
#include "mlxn/model/weights.h"

namespace mlxn::model {

Result<std::shared_ptr<const Model>> Model::load(const Device& device, const std::string& path) {
  if (!device.options().auto_barrier && !device.options().serial_dispatch) {
    return Error(ErrorCode::kInvalidArgument,
                 "a device that leaves the order of dispatches to its caller, expected one with "
                 "auto_barrier or serial_dispatch");
  }
  MLXN_ASSIGN(auto file, io::GgufFile::open(path));
  std::shared_ptr<Model> model(new Model(device));
  model->file_ = std::make_shared<const io::GgufFile>(std::move(file));
  Weights weights(device, model->file_);
  auto architecture = create_architecture(weights);
  if (!architecture) return std::move(architecture.error().add_context(path));
  model->architecture_ = std::move(*architecture);
  model->mapped_ = weights.mapped_bytes();
  model->copied_ = weights.copied_bytes();
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::check_file() const {
  for (uint32_t part = 0; part < file_->parts(); ++part) {
    if (const auto mapping = file_->mapping(part)) MLXN_TRY(mapping->check_length());
  }
  return {};
}

}  // namespace mlxn::model
