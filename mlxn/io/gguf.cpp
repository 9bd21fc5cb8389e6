#include "mlxn/io/gguf.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "mlxn/base/strings.h"
#include "mlxn/io/internal/gguf_parse.h"

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

struct OpenedPart {
  std::shared_ptr<const MappedFile> file;
  GgufContents contents;
};

Result<OpenedPart> open_part(const std::string& path, const GgufLimits& limits) {
  MLXN_ASSIGN(auto mapped, MappedFile::open(path));
  auto file = std::make_shared<const MappedFile>(std::move(mapped));
  MLXN_ASSIGN(const auto bytes, file->bytes());
  auto contents = parse_gguf(bytes, limits);
  if (!contents) return std::move(contents.error().add_context(path));
  return OpenedPart{std::move(file), std::move(contents).value()};
}

}  // namespace

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const GgufLimits& limits) {
  MLXN_ASSIGN(GgufContents contents, parse_gguf(bytes, limits));
  GgufFile file;
  file.version_ = contents.version;
  file.metadata_ = std::move(contents.metadata);
  file.add_part(nullptr, bytes, std::move(contents.tensors));
  MLXN_TRY(file.build_index());
  return file;
}

Result<GgufFile> GgufFile::open(const std::string& path, const GgufLimits& limits) {
  MLXN_ASSIGN(OpenedPart part, open_part(path, limits));
  GgufFile file;
  file.version_ = part.contents.version;
  file.metadata_ = std::move(part.contents.metadata);
  file.add_part(std::move(part.file), {}, std::move(part.contents.tensors));
  auto count = file.metadata_.unsigned_integer("split.count", 1);
  if (!count) return std::move(count.error().add_context(path));
  Status status;
  if (*count > 1) status = file.open_other_parts(path, *count, limits);
  if (status) status = file.build_index();
  if (!status) return std::move(status.error().add_context(path));
  return file;
}

Status GgufFile::open_other_parts(const std::string& path, uint64_t count,
                                  const GgufLimits& limits) {
  if (count > limits.parts || count > kMaxPartNumber)
    return corrupt(str("a model in ", count, " parts, expected at most ", limits.parts));
  MLXN_ASSIGN(const uint64_t number, metadata_.unsigned_integer("split.no"));
  const std::string suffix = part_suffix(number, count);
  if (number >= count || !path.ends_with(suffix))
    return corrupt(str("part ", number, " (from 0) of ", count, " does not fit the file's name"));
  const std::string stem = path.substr(0, path.size() - suffix.size());
  if (number != 0)
    return Error(ErrorCode::kInvalidArgument,
                 str("part ", number + 1, " of a split model, ", "expected the first: ", stem,
                     part_suffix(0, count)));
  for (uint64_t i = 1; i < count; ++i) {
    MLXN_ASSIGN(OpenedPart part, open_part(stem + part_suffix(i, count), limits));
    if (auto fits = check_part(part.contents.metadata, i, count); !fits)
      return std::move(fits.error().add_context(part.file->path()));
    if (part.contents.tensors.size() > limits.tensors - tensors().size())
      return corrupt(str("more than ", limits.tensors, " tensors in all parts"));
    add_part(std::move(part.file), {}, std::move(part.contents.tensors));
  }
  MLXN_ASSIGN(const uint64_t expected,
              metadata_.unsigned_integer("split.tensors.count", tensors().size()));
  if (expected == tensors().size()) return {};
  return corrupt(str(tensors().size(), " tensors in ", count, " parts, expected ", expected));
}

}  // namespace mlxn::io
