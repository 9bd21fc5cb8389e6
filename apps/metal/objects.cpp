// Units: made from sources, read from files, put together to libraries.
#include <cstdio>
#include <filesystem>
#include <unordered_map>

#include "apps/metal/tools.h"
#include "metal/msl/library_file.h"
#include "metal/msl/module.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

namespace {

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<Object> compile_source(const Arguments& arguments, const std::string& path) {
  MLXN_ASSIGN(const msl::Compiler* compiler, msl::compiler());
  MLXN_ASSIGN(auto preprocessed, preprocess_source(arguments, path, {}));
  msl::LibraryText text;
  text.source = std::move(preprocessed.text);
  text.options.source_name = path;
  text.options.math_mode = arguments.compile.math_mode;
  text.options.language_version = arguments.compile.language_version;
  MLXN_ASSIGN(auto library, compiler->create_library(text.source, text.options));
  if (!arguments.quiet && !library->info().warnings.empty())
    std::fprintf(stderr, "%s\n", library->info().warnings.c_str());
  MLXN_TRY(write_dependencies(arguments, path, preprocessed));
  return Object{path, text_of(msl::serialize(library->info())), text_of(msl::serialize(text))};
}

Result<std::vector<Object>> read_objects(const std::string& path) {
  MLXN_ASSIGN(const std::string bytes, read_input(path));
  auto units = msl::read_library_file(bytes);
  if (!units) return Error(units.error().code(), str(path, ": ", units.error().message()));
  std::vector<Object> objects;
  for (const msl::StoredUnit& unit : *units)
    objects.push_back({path, std::string(unit.index), std::string(unit.text)});
  return objects;
}

std::string library_bytes(const std::vector<Object>& objects) {
  std::vector<msl::StoredUnit> units;
  for (const Object& object : objects) units.push_back({object.index, object.text});
  return text_of(msl::write_library_file(units));
}

Status link_objects(const std::vector<Object>& objects, const std::string& output) {
  std::unordered_map<std::string, const Object*> owners;
  for (const Object& object : objects) {
    auto info = msl::parse_library_info({object.index.begin(), object.index.end()});
    if (!info) return Error(info.error().code(), str(object.name, ": ", info.error().message()));
    for (const msl::FunctionInfo& function : info->functions) {
      auto [owner, is_new] = owners.emplace(function.name, &object);
      if (!is_new)
        return Error(ErrorCode::kInvalidArgument,
                     str("function '", function.name, "' is in '", owner->second->name,
                         "' and in '", object.name, "'"));
    }
  }
  return write_file(output, library_bytes(objects));
}

}  // namespace mlxn::metal_tool
