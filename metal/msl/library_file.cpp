#include "metal/msl/library_file.h"

#include "mlxn/base/byte_codec.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {
namespace {

constexpr std::string_view kMagic = "MLXNLIB2";

}  // namespace

std::vector<uint8_t> serialize(const LibraryText& text) {
  const CompileOptions& options = text.options;
  ByteWriter writer;
  writer.text(text.source);
  writer.text(options.source_name);
  writer.number(static_cast<uint64_t>(options.math_mode));
  writer.number(options.language_version);
  writer.number(options.macros.size());
  for (const Macro& macro : options.macros) {
    writer.text(macro.name);
    writer.text(macro.value);
  }
  writer.number(options.include_dirs.size());
  for (const std::string& folder : options.include_dirs) writer.text(folder);
  return std::move(writer.out);
}

Result<LibraryText> parse_library_text(std::string_view bytes) {
  ByteReader reader(bytes);
  LibraryText text;
  text.source = reader.text();
  CompileOptions& options = text.options;
  options.source_name = reader.text();
  const uint64_t mode = reader.number();
  const uint64_t version = reader.number();
  for (uint64_t i = 0, n = reader.count(); i < n; ++i) {
    std::string name = reader.text();
    options.macros.push_back({std::move(name), reader.text()});
  }
  for (uint64_t i = 0, n = reader.count(); i < n; ++i)
    options.include_dirs.push_back(reader.text());
  if (!reader.good || !reader.at_end() || mode > static_cast<uint64_t>(MathMode::kFast) ||
      version > UINT32_MAX) {
    return Error(ErrorCode::kCorruptData,
                 str("the text of ", bytes.size(), " bytes in a library is cut short or damaged"));
  }
  options.math_mode = static_cast<MathMode>(mode);
  options.language_version = static_cast<uint32_t>(version);
  return text;
}

bool is_library_file(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::vector<uint8_t> write_library_file(const std::vector<StoredUnit>& units) {
  ByteWriter writer;
  writer.raw(kMagic.data(), kMagic.size());
  writer.number(units.size());
  for (const StoredUnit& unit : units) {
    writer.text(unit.index);
    writer.text(unit.text);
  }
  return std::move(writer.out);
}

Result<std::vector<StoredUnit>> read_library_file(std::string_view bytes) {
  if (!is_library_file(bytes))
    return Error(ErrorCode::kUnsupported,
                 str("the data of ", bytes.size(), " bytes does not begin with '", kMagic,
                     "', expected a library made by mlxn"));
  ByteReader reader(bytes.substr(kMagic.size()));
  std::vector<StoredUnit> units(reader.count());
  for (StoredUnit& unit : units) {
    unit.index = reader.take(reader.number());
    unit.text = reader.take(reader.number());
  }
  if (!reader.good || !reader.at_end())
    return Error(ErrorCode::kCorruptData,
                 str("the library of ", bytes.size(), " bytes is cut short or damaged"));
  return units;
}

}  // namespace mlxn::msl
