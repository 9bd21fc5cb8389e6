// metallib and metal-ar: files of units.
#include <algorithm>
#include <filesystem>

#include "apps/metal/tools.h"
#include "metal/msl/library_file.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

namespace {

constexpr const char* kMetallibHelp =
    "Usage: metallib [-o FILE] FILE...\n\n"
    "Links objects (.air) and archives to one library, default.metallib unless -o names it.\n";

constexpr const char* kArchiverHelp =
    "Usage: metal-ar {r|q|t}[c][s][u][v] ARCHIVE [FILE...]\n\n"
    "Archives of objects: r and q add files, t lists the sources in an archive.\n";

Result<std::vector<Object>> read_all(const Words& paths) {
  std::vector<Object> objects;
  for (const std::string& path : paths) {
    MLXN_ASSIGN(auto more, read_objects(path));
    for (Object& object : more) objects.push_back(std::move(object));
  }
  return objects;
}

Result<std::string> source_of(const Object& object) {
  MLXN_ASSIGN(auto text, msl::parse_library_text(object.text));
  return text.options.source_name;
}

// An object takes the place of one that was made from the same source.
Status add_to_archive(const std::string& archive, const Words& paths) {
  std::vector<Object> objects;
  if (std::filesystem::exists(archive)) {
    MLXN_ASSIGN(objects, read_objects(archive));
  }
  MLXN_ASSIGN(auto added, read_all(paths));
  for (Object& object : added) {
    MLXN_ASSIGN(const std::string source, source_of(object));
    auto same = std::find_if(objects.begin(), objects.end(), [&](const Object& other) {
      auto name = source_of(other);
      return name && *name == source;
    });
    if (same != objects.end())
      *same = std::move(object);
    else
      objects.push_back(std::move(object));
  }
  return write_file(archive, library_bytes(objects));
}

Status list_archive(const std::string& archive) {
  MLXN_ASSIGN(auto objects, read_objects(archive));
  std::string names;
  for (const Object& object : objects) {
    MLXN_ASSIGN(const std::string source, source_of(object));
    names += source + "\n";
  }
  return write_file("-", names);
}

Status archive(const Words& words) {
  if (words.size() < 2) return Error(ErrorCode::kInvalidArgument, "no archive is named");
  std::string operation = words[0];
  if (operation.starts_with("-")) operation.erase(0, 1);
  const Words files(words.begin() + 2, words.end());
  if (operation.find_first_of("rq") != std::string::npos) return add_to_archive(words[1], files);
  if (operation.find('t') != std::string::npos) return list_archive(words[1]);
  return Error(ErrorCode::kInvalidArgument,
               str("operation '", words[0], "', expected one with r, q or t"));
}

Status link(const Words& words) {
  std::string output = "default.metallib";
  Words files;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-o") {
      if (++i == words.size()) return Error(ErrorCode::kInvalidArgument, "-o needs a file");
      output = words[i];
    } else if (words[i].starts_with("-")) {
      return Error(ErrorCode::kInvalidArgument, str("unknown option '", words[i], "'"));
    } else {
      files.push_back(words[i]);
    }
  }
  if (files.empty()) return Error(ErrorCode::kInvalidArgument, "no input files");
  MLXN_ASSIGN(auto objects, read_all(files));
  return link_objects(objects, output);
}

bool asks_for_help(const Words& words) {
  return !words.empty() && (words[0] == "--help" || words[0] == "-h");
}

int finish(const char* tool, const Status& status) {
  return status ? 0 : complain(tool, status.error());
}

}  // namespace

int run_metallib(const Words& words) {
  return finish("metallib", asks_for_help(words) ? write_file("-", kMetallibHelp) : link(words));
}

int run_archiver(const Words& words) {
  return finish("metal-ar", asks_for_help(words) ? write_file("-", kArchiverHelp) : archive(words));
}

}  // namespace mlxn::metal_tool
