// Libraries: indexing source, looking functions up, compiling them.
#include "metal/rt/library.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "metal/msl/module.h"
#include "metal/rt/kernel_archive.h"
#include "metal/rt/target_levels.h"
#include "metal/rt/validation.h"
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

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// "; did you mean 'a' or 'b'?" for names close to a wrong one.
std::string suggestions(const msl::LibraryInfo& info, std::string_view name) {
  constexpr size_t kMost = 3, kLongest = 200;
  if (name.size() > kLongest) return "";
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const auto& function : info.functions) {
    if (function.name.size() > kLongest) continue;
    const size_t distance = edit_distance(name, function.name);
    if (distance <= 1 + name.size() / 3) near.emplace_back(distance, function.name);
  }
  std::sort(near.begin(), near.end());
  if (near.size() > kMost) near.resize(kMost);
  std::string out;
  for (auto& [distance, candidate] : near)
    out += str(out.empty() ? "" : " or ", "'", candidate, "'");
  return out.empty() ? out : "; did you mean " + out + "?";
}

bool names(const msl::ConstantValue& value, const msl::FunctionConstant& constant) {
  return value.name.empty() ? value.index == constant.index : value.name == constant.name;
}

// Setting save_msl: a file that compiles on its own, named after its content. A folder that cannot
// be written to gives a warning and no error.
void save(const LibraryText& text, const CacheKey& key) {
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

// The key of code in an archive that this target can run.
std::optional<CacheKey> archived(const CacheKey& library, const msl::CompileRequest& request) {
  if (!has_archives()) return std::nullopt;
  msl::CompileRequest plain = request;
  for (msl::Target& level : plain_levels(request.target)) {
    plain.target = std::move(level);
    CacheKey key = image_key(library, plain);
    if (find_in_archives(key.digest, key.text)) return key;
  }
  return std::nullopt;
}

}  // namespace

Result<Ref<LibraryObject>> LibraryObject::create(DeviceObject* device, std::string source,
                                                 const msl::CompileOptions& options) {
  auto library = make<LibraryObject>();
  library->device = Ref(device);
  library->text = std::make_shared<LibraryText>(std::move(source), options);
  if (!device->info().compiles) {
    library->info = std::make_shared<msl::LibraryInfo>(identifiers_of(library->text->source));
    return library;
  }
  library->key_ = library_key(library->text->source, options);
  save(*library->text, library->key_);
  MLXN_ASSIGN(library->info,
              device->cache().library_info(library->key_, [&]() -> Result<msl::LibraryInfo> {
                MLXN_ASSIGN(const msl::Library* compiled, library->compiled());
                return compiled->info();
              }));
  return library;
}

Result<const msl::Library*> LibraryObject::compiled() {
  std::lock_guard lock(mutex_);
  if (!compiled_) {
    MLXN_ASSIGN(const msl::Compiler* compiler, msl::compiler());
    MLXN_ASSIGN(compiled_, compiler->create_library(text->source, text->options));
  }
  return const_cast<const msl::Library*>(compiled_.get());
}

const msl::FunctionInfo* LibraryObject::find(std::string_view name) const {
  for (const auto& function : info->functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

// Which constants a function needs is known when its code has been folded, so all values for
// constants of the library are kept; values for others are ignored.
Result<std::vector<msl::ConstantValue>> LibraryObject::known_values(
    const ConstantValuesObject& values) const {
  if (!values.problem.empty()) return Error(ErrorCode::kInvalidArgument, values.problem);
  std::vector<msl::ConstantValue> kept;
  for (const msl::ConstantValue& value : values.values) {
    for (const msl::FunctionConstant& constant : info->constants) {
      if (!names(value, constant)) continue;
      if (constant.type != value.type) {
        return Error(ErrorCode::kInvalidArgument,
                     str("function constant '", constant.name, "' (index ", constant.index,
                         ") was given a value of type ", type_name(value.type), ", expected ",
                         type_name(constant.type)));
      }
      kept.push_back(value);
      break;
    }
  }
  return kept;
}

Result<Ref<FunctionObject>> LibraryObject::function(const std::string& name,
                                                    const ConstantValuesObject* values) {
  const msl::FunctionInfo* found = find(name);
  if (!found) {
    return Error(ErrorCode::kFunctionNotFound,
                 str("the library has no function '", name, "' among its ", info->functions.size(),
                     suggestions(*info, name)));
  }
  auto function = make<FunctionObject>();
  function->library = Ref(this);
  function->name = make_string(name);
  function->info = found;
  if (values) {
    MLXN_ASSIGN(function->constants, known_values(*values));
  }
  return function;
}

Result<std::shared_ptr<const msl::Image>> LibraryObject::compile(
    const std::string& name, const std::vector<msl::ConstantValue>& constants,
    const msl::Shape& shape) {
  if (!device->info().compiles) {
    auto image = std::make_shared<msl::Image>();
    image->kernels.emplace_back().name = name;
    return std::shared_ptr<const msl::Image>(std::move(image));
  }
  msl::CompileRequest request;
  request.entry_points = {name};
  request.constants = constants;
  request.target = device->info().target;
  request.shape = shape;
  request.forced_tier = device->options().forced_tier;
  if (std::optional<CacheKey> ready = archived(key_, request))
    return device->cache().image(*ready, [&] { return Error(ErrorCode::kInternal, name); });
  return device->cache().image(image_key(key_, request), [&]() -> Result<msl::Image> {
    MLXN_ASSIGN(const msl::Library* library, compiled());
    return library->compile(request);
  });
}

Ref<ErrorObject> library_error(std::string_view call, const Error& error) {
  MTL::LibraryError code = MTL::LibraryErrorInternal;
  switch (error.code()) {
    case ErrorCode::kCompileFailed:
    case ErrorCode::kInvalidArgument: code = MTL::LibraryErrorCompileFailure; break;
    case ErrorCode::kFunctionNotFound: code = MTL::LibraryErrorFunctionNotFound; break;
    case ErrorCode::kIo: code = MTL::LibraryErrorFileNotFound; break;
    case ErrorCode::kUnsupported:
    case ErrorCode::kCorruptData: code = MTL::LibraryErrorUnsupported; break;
    default: break;
  }
  return make_error(kLibraryErrorDomain, code, str(call, ": ", error.message()));
}

}  // namespace mlxn::rt
