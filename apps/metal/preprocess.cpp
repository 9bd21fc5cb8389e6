// -E, -H and dependency files.
#include <cstdio>
#include <filesystem>
#include <set>

#include "apps/metal/tools.h"
#include "metal/msl/module.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

namespace {

// As make reads names of files.
std::string escaped(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == ' ' || c == '#') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string default_target(const Arguments& arguments, const std::string& path) {
  if (!arguments.output.empty() && !arguments.dependencies.only) return arguments.output;
  return std::filesystem::path(path).filename().replace_extension(".air").string();
}

}  // namespace

Result<msl::Preprocessed> preprocess_source(const Arguments& arguments, const std::string& path,
                                            const msl::PreprocessRequest& request) {
  MLXN_ASSIGN(const msl::Compiler* compiler, msl::compiler());
  MLXN_ASSIGN(std::string source, read_input(path));
  msl::CompileOptions options = arguments.compile;
  options.source_name = path == "-" ? "stdin" : path;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  options.include_dirs.insert(options.include_dirs.begin(), folder.empty() ? "." : folder);
  if (!arguments.preamble.empty())
    source = str(arguments.preamble, "#line 1 \"", options.source_name, "\"\n", source);
  MLXN_ASSIGN(auto preprocessed, compiler->preprocess(source, options, request));
  if (arguments.list_headers)
    for (const msl::IncludedFile& file : preprocessed.files)
      std::fprintf(stderr, "%s %s\n", std::string(file.depth, '.').c_str(), file.path.c_str());
  return preprocessed;
}

Status write_dependencies(const Arguments& arguments, const std::string& path,
                          const msl::Preprocessed& preprocessed) {
  const Dependencies& wanted = arguments.dependencies;
  if (!wanted.wanted) return {};
  std::string rule =
      wanted.target.empty() ? escaped(default_target(arguments, path)) : wanted.target;
  rule += ": " + escaped(path);
  std::string phony;
  std::set<std::string> seen;
  for (const msl::IncludedFile& file : preprocessed.files) {
    if (!seen.insert(file.path).second) continue;
    rule += " \\\n  " + escaped(file.path);
    if (wanted.phony) phony += escaped(file.path) + ":\n";
  }
  std::string name = wanted.file;
  if (name.empty() && wanted.only) name = arguments.output.empty() ? "-" : arguments.output;
  if (name.empty())
    name = std::filesystem::path(default_target(arguments, path)).replace_extension(".d").string();
  return write_file(name, rule + "\n" + phony);
}

}  // namespace mlxn::metal_tool
