#include "tests/oracle/oracle_case.h"

#include <algorithm>
#include <cstdlib>

#include "mlxn/base/strings.h"

namespace mlxn::test {

Result<OracleCase> OracleCase::open(const Device& device, const std::string& path) {
  MLXN_ASSIGN(io::SafetensorsFile file, io::SafetensorsFile::open(path));
  OracleCase out(device, std::move(file));
  MLXN_ASSIGN(out.op_, out.text("op"));
  return out;
}

Result<Buffer> OracleCase::buffer(std::string_view name) const {
  const io::TensorInfo* tensor = file_->find(name);
  if (!tensor || !tensor->dtype) {
    return Error(ErrorCode::kInvalidArgument, str("no tensor '", name, "' that we know"));
  }
  std::vector<uint64_t> sizes(tensor->dims.rbegin(), tensor->dims.rend());
  MLXN_ASSIGN(const auto bytes, file_->data(*tensor));
  MLXN_ASSIGN(Buffer out, device_.alloc(*tensor->dtype, Shape(sizes)));
  std::ranges::copy(bytes, out.contents());
  return out;
}

Result<std::string> OracleCase::text(std::string_view name) const {
  const auto found = file_->metadata().find(name);
  if (found != file_->metadata().end()) return found->second;
  return Error(ErrorCode::kInvalidArgument, str("no parameter '", name, "'"));
}

Result<double> OracleCase::number(std::string_view name) const {
  MLXN_ASSIGN(const std::string all, text(name));
  char* end = nullptr;
  const double value = std::strtod(all.c_str(), &end);
  if (end != all.c_str() && *end == 0) return value;
  return Error(ErrorCode::kInvalidArgument, str(name, " is '", all, "', expected a number"));
}

}  // namespace mlxn::test
