#include "mlxn/io/gguf.h"

#include <cstdio>
#include <iterator>
#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/gguf_parse.h"

namespace mlxn::io {
namespace {

constexpr uint64_t kMaxPartNumber = 99999;  // five digits

Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

// "-00001-of-00003.gguf"; `part` counts from 0.
std::string part_suffix(uint64_t part, uint64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf",
                static_cast<unsigned long long>(part + 1), static_cast<unsigned long long>(count));
  return text;
}

// A missing "split.count" means a model in one file.
Status check_part(const Metadata& metadata, uint64_t part, uint64_t count) {
  MLXN_ASSIGN(const uint64_t no, metadata.unsigned_integer("split.no"));
  MLXN_ASSIGN(const uint64_t of, metadata.unsigned_integer("split.count"));
  if (no == part && of == count) return {};
  return corrupt(str("this is part ", no, " of ", of, ", expected part ", part, " of ", count,
                     " (counted from 0)"));
}

}  // namespace

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const GgufLimits& limits) {
  MLXN_ASSIGN(GgufContents contents, parse_gguf(bytes, limits));
  GgufFile file;
  file.version_ = contents.version;
  file.metadata_ = std::move(contents.metadata);
  file.tensors_ = std::move(contents.tensors);
  file.parts_.push_back({nullptr, bytes});
  MLXN_TRY(file.index_tensors());
  return file;
}

Result<GgufFile> GgufFile::open_part(const std::string& path, const GgufLimits& limits) {
  MLXN_ASSIGN(auto mapped, MappedFile::open(path));
  auto shared = std::make_shared<const MappedFile>(std::move(mapped));
  MLXN_ASSIGN(const auto bytes, shared->bytes());
  auto file = parse(bytes, limits);
  if (!file) return std::move(file.error().add_context(path));
  file->parts_[0] = {std::move(shared), {}};
  return file;
}

Result<GgufFile> GgufFile::open(const std::string& path, const GgufLimits& limits) {
  MLXN_ASSIGN(GgufFile file, open_part(path, limits));
  auto count = file.metadata_.unsigned_integer("split.count", 1);
  if (!count) return std::move(count.error().add_context(path));
  if (*count <= 1) return file;
  if (auto opened = file.open_other_parts(*count, limits); !opened)
    return std::move(opened.error().add_context(path));
  return file;
}

Status GgufFile::open_other_parts(uint64_t count, const GgufLimits& limits) {
  if (count > limits.parts || count > kMaxPartNumber)
    return corrupt(str("a model in ", count, " parts, expected at most ", limits.parts));
  const std::string& path = parts_[0].file->path();
  MLXN_ASSIGN(const uint64_t part, metadata_.unsigned_integer("split.no"));
  const std::string suffix = part_suffix(part, count);
  if (part >= count || !path.ends_with(suffix))
    return corrupt(str("part ", part, " (from 0) of ", count, " does not fit the file's name"));
  const std::string stem = path.substr(0, path.size() - suffix.size());
  if (part != 0)
    return Error(ErrorCode::kInvalidArgument,
                 str("part ", part + 1, " of a split model, expected the first: ", stem,
                     part_suffix(0, count)));
  for (uint64_t i = 1; i < count; ++i) {
    MLXN_ASSIGN(GgufFile other, open_part(stem + part_suffix(i, count), limits));
    if (auto fits = check_part(other.metadata_, i, count); !fits)
      return std::move(fits.error().add_context(other.parts_[0].file->path()));
    MLXN_TRY(append(std::move(other), limits));
  }
  MLXN_ASSIGN(const uint64_t expected,
              metadata_.unsigned_integer("split.tensors.count", tensors_.size()));
  if (expected != tensors_.size())
    return corrupt(str(tensors_.size(), " tensors in ", count, " parts, expected ", expected));
  return index_tensors();
}

Status GgufFile::append(GgufFile&& part, const GgufLimits& limits) {
  if (part.tensors_.size() > limits.tensors - tensors_.size())
    return corrupt(str("more than ", limits.tensors, " tensors in all parts"));
  for (TensorInfo& info : part.tensors_) {
    info.part = parts();
    tensors_.push_back(std::move(info));
  }
  parts_.push_back(std::move(part.parts_[0]));
  return {};
}

Status GgufFile::index_tensors() {
  index_.clear();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!index_.emplace(tensors_[i].name, i).second)
      return corrupt(str("tensor '", tensors_[i].name, "' is there twice"));
  }
  return {};
}

const TensorInfo* GgufFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Result<std::span<const std::byte>> GgufFile::data(const TensorInfo& tensor) const {
  if (tensor.part >= parts_.size())
    return Error(ErrorCode::kInvalidArgument, str("tensor '", tensor.name, "' of part ",
                                                  tensor.part, ", there are ", parts_.size()));
  if (tensor.bytes == 0)
    return Error(ErrorCode::kUnsupported, str("tensor '", tensor.name, "' has type ", tensor.type,
                                              " (", tensor.type_name, "), whose size is unknown"));
  const Part& part = parts_[tensor.part];
  if (part.file) return part.file->bytes(tensor.offset, tensor.bytes);
  if (!span_fits(tensor.offset, tensor.bytes, part.memory.size()))
    return Error(ErrorCode::kOutOfRange, str("tensor '", tensor.name, "' is not of this file"));
  return part.memory.subspan(tensor.offset, tensor.bytes);
}

}  // namespace mlxn::io
