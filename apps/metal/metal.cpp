// metal: compiles, preprocesses and links.
#include <cstdio>
#include <filesystem>

#include "apps/metal/tools.h"
#include "metal/msl/module.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

namespace {

bool is_source(const Arguments& arguments, const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return arguments.inputs_are_source || path == "-" || extension == ".metal" ||
         extension == ".msl" || extension == ".h";
}

Status preprocess_all(const Arguments& arguments) {
  std::string text;
  for (const std::string& path : arguments.inputs) {
    MLXN_ASSIGN(auto preprocessed, preprocess_source(arguments, path, arguments.preprocess));
    MLXN_TRY(write_dependencies(arguments, path, preprocessed));
    text += preprocessed.text;
  }
  if (arguments.dependencies.only) return {};
  return write_file(arguments.output.empty() ? "-" : arguments.output, text);
}

Status compile_all(const Arguments& arguments) {
  if (!arguments.output.empty() && arguments.inputs.size() > 1)
    return Error(
        ErrorCode::kInvalidArgument,
        str("-o names one file, but ", arguments.inputs.size(), " sources are to be compiled"));
  for (const std::string& path : arguments.inputs) {
    if (!is_source(arguments, path))
      return Error(ErrorCode::kInvalidArgument, str("'", path, "' is no source (.metal)"));
    MLXN_ASSIGN(Object object, compile_source(arguments, path));
    const std::string output =
        arguments.output.empty()
            ? std::filesystem::path(path).filename().replace_extension(".air").string()
            : arguments.output;
    MLXN_TRY(write_file(output, library_bytes({object})));
  }
  return {};
}

Status link_all(const Arguments& arguments) {
  std::vector<Object> objects;
  for (const std::string& path : arguments.inputs) {
    if (is_source(arguments, path)) {
      MLXN_ASSIGN(Object object, compile_source(arguments, path));
      objects.push_back(std::move(object));
      continue;
    }
    MLXN_ASSIGN(auto more, read_objects(path));
    for (Object& object : more) objects.push_back(std::move(object));
  }
  return link_objects(objects, arguments.output.empty() ? "default.metallib" : arguments.output);
}

Status run(const Arguments& arguments) {
  if (arguments.wants_help) return write_file("-", kMetalHelp);
  if (arguments.wants_version)
    return write_file("-", str("Metal of mlxn, code version ", msl::code_version(), "\n"));
  if (arguments.inputs.empty()) return Error(ErrorCode::kInvalidArgument, "no input files");
  if (arguments.action == Action::kPreprocess || arguments.dependencies.only)
    return preprocess_all(arguments);
  return arguments.action == Action::kCompile ? compile_all(arguments) : link_all(arguments);
}

}  // namespace

int run_metal(const Words& words) {
  auto arguments = parse_arguments(words);
  if (!arguments) return complain("metal", arguments.error());
  Status status = run(*arguments);
  return status ? 0 : complain("metal", status.error());
}

}  // namespace mlxn::metal_tool
