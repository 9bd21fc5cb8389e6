#include "metal/rt/library/library_unit.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "metal/msl/module.h"
#include "metal/rt/cache/kernel_archive.h"
#include "mlxn/base/log.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Without a compiler every identifier of the source may be a function.
msl::LibraryInfo identifiers_of(std::string_view source) {
  msl::LibraryInfo info;
  std::set<std::string_view> seen;
  for (size_t at = 0; at < source.size();) {
    if (!is_word(source[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < source.size() && is_word(source[end])) ++end;
    const std::string_view word = source.substr(at, end - at);
    if (!std::isdigit(static_cast<unsigned char>(word[0])) && seen.insert(word).second) {
      info.functions.push_back({std::string(word), {}});
    }
    at = end;
  }
  return info;
}

// Setting save_msl: a file that compiles on its own, named after its content. A folder that cannot
// be written to gives a warning and no error.
void save(const msl::LibraryText& text, const CacheKey& key) {
  namespace fs = std::filesystem;
  const fs::path folder = setting_string(Setting::kSaveMsl);
  if (folder.empty()) return;
  std::error_code ignored;  // the stream tells
  fs::create_directories(folder, ignored);
  const fs::path path = folder / (key.digest.to_hex() + ".metal");
  std::ofstream out(path, std::ios::binary);
  for (const msl::Macro& macro : text.options.macros)
    out << "#define " << macro.name << " " << macro.value << "\n";
  out << text.source << "\n";
  if (!out.flush()) log(LogLevel::kWarning, str("save_msl: cannot write '", path.string(), "'"));
}

// The key of code in an archive that the device can run.
std::optional<CacheKey> archived(const DeviceInfo& device, const CacheKey& library,
                                 const msl::CompileRequest& request) {
  if (!has_archives()) return std::nullopt;
  msl::CompileRequest other = request;
  for (const msl::Target& target : device.other_targets) {
    other.target = target;
    CacheKey key = image_key(library, other);
    if (archives_have(key.digest, key.text)) return key;
  }
  return std::nullopt;
}

std::string_view view_of(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::shared_ptr<LibraryUnit>> LibraryUnit::create(DeviceObject& device,
                                                         msl::LibraryText text) {
  auto unit = std::make_shared<LibraryUnit>();
  unit->text_ = std::move(text);
  unit->has_text_ = true;
  if (!device.info().compiles) {
    unit->info_ = std::make_shared<msl::LibraryInfo>(identifiers_of(unit->text_.source));
    return unit;
  }
  unit->key_ = library_key(unit->text_.source, unit->text_.options);
  save(unit->text_, unit->key_);
  MLXN_ASSIGN(unit->info_,
              device.cache().library_info(unit->key_, [&]() -> Result<msl::LibraryInfo> {
                MLXN_ASSIGN(const msl::Library* compiled, unit->compiled());
                return compiled->info();
              }));
  return unit;
}

Result<std::shared_ptr<LibraryUnit>> LibraryUnit::open(const msl::StoredUnit& stored,
                                                       std::shared_ptr<const std::string> file) {
  auto unit = std::make_shared<LibraryUnit>();
  MLXN_ASSIGN(msl::LibraryInfo info,
              msl::parse_library_info({stored.index.begin(), stored.index.end()}));
  unit->info_ = std::make_shared<msl::LibraryInfo>(std::move(info));
  unit->file_ = std::move(file);
  unit->stored_ = stored;
  return unit;
}

Status LibraryUnit::read_text() {
  std::lock_guard lock(mutex_);
  if (has_text_) return {};
  MLXN_ASSIGN(text_, msl::parse_library_text(stored_.text));
  key_ = library_key(text_.source, text_.options);
  save(text_, key_);
  has_text_ = true;
  return {};
}

Result<const msl::Library*> LibraryUnit::compiled() {
  std::lock_guard lock(mutex_);
  if (!compiled_) {
    MLXN_ASSIGN(const msl::Compiler* compiler, msl::compiler());
    MLXN_ASSIGN(compiled_, compiler->create_library(text_.source, text_.options));
  }
  return const_cast<const msl::Library*>(compiled_.get());
}

Result<std::shared_ptr<const msl::Image>> LibraryUnit::compile(DeviceObject& device,
                                                               const msl::CompileRequest& request) {
  const std::string& name = request.entry_points.front();
  if (!device.info().compiles) {
    auto image = std::make_shared<msl::Image>();
    image->kernels.emplace_back().name = name;
    return std::shared_ptr<const msl::Image>(std::move(image));
  }
  MLXN_TRY(read_text());
  if (std::optional<CacheKey> ready = archived(device.info(), key_, request))
    return device.cache().image(*ready, [&] {
      return Error(ErrorCode::kCorruptData, str("the archive with kernel '", name, "' is damaged"));
    });
  return device.cache().image(image_key(key_, request), [&]() -> Result<msl::Image> {
    MLXN_ASSIGN(const msl::Library* library, compiled());
    return library->compile(request);
  });
}

void LibraryUnit::store(std::vector<msl::StoredUnit>& units,
                        std::vector<std::vector<uint8_t>>& bytes) const {
  if (file_) {
    units.push_back(stored_);
    return;
  }
  bytes.push_back(msl::serialize(*info_));
  bytes.push_back(msl::serialize(text_));
  units.push_back({view_of(bytes[bytes.size() - 2]), view_of(bytes.back())});
}

std::vector<uint8_t> LibraryUnit::serialize() const {
  std::vector<msl::StoredUnit> units;
  std::vector<std::vector<uint8_t>> bytes;
  store(units, bytes);
  return msl::write_library_file(units);
}

}  // namespace mlxn::rt
