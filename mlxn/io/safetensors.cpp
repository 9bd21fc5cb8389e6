#include "mlxn/io/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "mlxn/base/strings.h"
#include "mlxn/io/internal/json_document.h"
#include "mlxn/io/internal/safetensors_parse.h"

namespace mlxn::io {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

// A model must not reach outside its folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

// File name -> its tensors, from "weight_map".
using Shards = std::map<std::string, std::vector<std::string>>;
Result<Shards> read_index(const MappedFile& file, const SafetensorsLimits& limits) {
  if (file.size() > limits.header_bytes)
    return corrupt(
        str("an index of ", file.size(), " bytes, expected at most ", limits.header_bytes));
  MLXN_ASSIGN(const auto bytes, file.bytes());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  MLXN_ASSIGN(const json index, parse_json(text, kSafetensorsDepth));
  const json* weights = member(index, "weight_map");
  if (!weights || !weights->is_object()) return corrupt("no object weight_map");
  Shards out;
  for (const auto& [name, value] : weights->items()) {
    const auto* shard = value.get_ptr<const std::string*>();
    if (!shard || !is_plain_name(*shard))
      return corrupt(str("tensor '", name, "' in ", value.is_string() ? *shard : value.type_name(),
                         ", expected the name of a file in the same folder"));
    out[*shard].push_back(name);
  }
  if (weights->size() > limits.tensors)
    return corrupt(str(weights->size(), " tensors, expected at most ", limits.tensors));
  if (out.size() > limits.files)
    return corrupt(str(out.size(), " files, expected at most ", limits.files));
  return out;
}

struct OpenedFile {
  std::shared_ptr<const MappedFile> file;
  SafetensorsContents contents;
};

Result<OpenedFile> open_file(const std::string& path, const SafetensorsLimits& limits) {
  MLXN_ASSIGN(auto mapped, MappedFile::open(path));
  auto file = std::make_shared<const MappedFile>(std::move(mapped));
  MLXN_ASSIGN(const auto bytes, file->bytes());
  auto contents = parse_safetensors(bytes, limits);
  if (!contents) return std::move(contents.error().add_context(path));
  return OpenedFile{std::move(file), std::move(contents).value()};
}

// Leaves the tensors that the index names, in their order; each must be there.
Status keep_named(std::vector<TensorInfo>& tensors, const std::vector<std::string>& names) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  std::erase_if(tensors, [&](const TensorInfo& tensor) { return !wanted.contains(tensor.name); });
  if (tensors.size() == names.size()) return {};
  for (const std::string& name : names) {
    if (std::ranges::find(tensors, name, &TensorInfo::name) == tensors.end())
      return corrupt(str("no tensor '", name, "', which the index says is here"));
  }
  return corrupt("a tensor is there twice");
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                               const SafetensorsLimits& limits) {
  MLXN_ASSIGN(SafetensorsContents contents, parse_safetensors(bytes, limits));
  SafetensorsFile file;
  file.metadata_ = std::move(contents.metadata);
  file.add_part(nullptr, bytes, std::move(contents.tensors));
  MLXN_TRY(file.build_index());
  return file;
}

Result<SafetensorsFile> SafetensorsFile::open_one(const std::string& path,
                                                  const SafetensorsLimits& limits) {
  MLXN_ASSIGN(OpenedFile opened, open_file(path, limits));
  SafetensorsFile file;
  file.metadata_ = std::move(opened.contents.metadata);
  file.add_part(std::move(opened.file), {}, std::move(opened.contents.tensors));
  MLXN_TRY(file.build_index());
  return file;
}

Result<SafetensorsFile> SafetensorsFile::open_index(const std::string& path,
                                                    const SafetensorsLimits& limits) {
  MLXN_ASSIGN(const auto mapped, MappedFile::open(path));
  auto shards = read_index(mapped, limits);
  if (!shards) return std::move(shards.error().add_context(path));
  SafetensorsFile all;
  for (const auto& [name, tensors] : *shards) {
    MLXN_ASSIGN(OpenedFile one, open_file((fs::path(path).parent_path() / name).string(), limits));
    if (auto kept = keep_named(one.contents.tensors, tensors); !kept)
      return std::move(kept.error().add_context(one.file->path()));
    if (all.parts() == 0) all.metadata_ = std::move(one.contents.metadata);
    all.add_part(std::move(one.file), {}, std::move(one.contents.tensors));
  }
  MLXN_TRY(all.build_index());
  return all;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path,
                                              const SafetensorsLimits& limits) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path index = fs::path(path) / "model.safetensors.index.json";
    if (fs::exists(index, ignored)) return open_index(index.string(), limits);
    return open_one((fs::path(path) / "model.safetensors").string(), limits);
  }
  return path.ends_with(".json") ? open_index(path, limits) : open_one(path, limits);
}

}  // namespace mlxn::io
