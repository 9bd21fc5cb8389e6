// The library container: magic, version, then source and options as length-prefixed fields.
#include "metal/rt/byte_codec.h"
#include "metal/rt/library.h"
#include "mlxn/base/checked.h"

namespace mlxn::rt {
namespace {

constexpr std::string_view kMagic = "MLXNLIB1";

}  // namespace

bool is_library_container(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::vector<uint8_t> serialize(const LibraryText& library) {
  ByteWriter writer;
  writer.raw(kMagic.data(), kMagic.size());
  writer.text(library.source);
  writer.text(library.options.source_name);
  writer.number(static_cast<uint64_t>(library.options.math_mode));
  writer.number(library.options.language_version);
  writer.number(library.options.macros.size());
  for (const msl::Macro& macro : library.options.macros) {
    writer.text(macro.name);
    writer.text(macro.value);
  }
  writer.number(library.options.include_dirs.size());
  for (const std::string& folder : library.options.include_dirs) writer.text(folder);
  return std::move(writer.out);
}

Result<Ref<LibraryObject>> parse_library(DeviceObject* device, std::string_view bytes) {
  if (!is_library_container(bytes)) {
    return Error(ErrorCode::kUnsupported,
                 str("the data does not begin with '", kMagic,
                     "', expected a library written by mlxn::metal::serialize_library"));
  }
  ByteReader reader(bytes.substr(kMagic.size()));
  std::string source = reader.text();
  msl::CompileOptions options;
  options.source_name = reader.text();
  const uint64_t mode = reader.number();
  const uint64_t version = reader.number();
  for (uint64_t i = 0, n = reader.count(); i < n; ++i) {
    std::string name = reader.text();
    options.macros.push_back({std::move(name), reader.text()});
  }
  for (uint64_t i = 0, n = reader.count(); i < n; ++i)
    options.include_dirs.push_back(reader.text());
  if (!reader.good || !reader.at_end() || mode > static_cast<uint64_t>(msl::MathMode::kFast) ||
      version > UINT32_MAX) {
    return Error(ErrorCode::kCorruptData,
                 str("the library of ", bytes.size(), " bytes is cut short or damaged"));
  }
  options.math_mode = static_cast<msl::MathMode>(mode);
  options.language_version = static_cast<uint32_t>(version);
  return LibraryObject::create(device, std::move(source), options);
}

}  // namespace mlxn::rt
