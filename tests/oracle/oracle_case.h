// A case that MLX computed: arguments by name, parameters, the expected result.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/io/safetensors.h"

namespace mlxn::test {

class OracleCase {
 public:
  static Result<OracleCase> open(const Device& device, const std::string& path);

  const std::string& op() const { return op_; }
  // A copy of a tensor of the file, on the device. kInvalidArgument when there is none.
  Result<Buffer> buffer(std::string_view name) const;
  bool has(std::string_view name) const { return file_->find(name) != nullptr; }
  // Parameters. kInvalidArgument for one that is not there or no number.
  Result<double> number(std::string_view name) const;
  Result<std::string> text(std::string_view name) const;

 private:
  OracleCase(const Device& device, io::SafetensorsFile file)
      : device_(device), file_(std::make_shared<const io::SafetensorsFile>(std::move(file))) {}

  Device device_;
  std::shared_ptr<const io::SafetensorsFile> file_;
  std::string op_;
};

// Calls an op as a case asks for it.
using OracleOp = std::function<Status(ComputeEncoder&, const OracleCase&, const Buffer& output)>;
const std::map<std::string, OracleOp>& oracle_ops();

}  // namespace mlxn::test
