// xcrun: finds and runs a developer tool. sw_vers: names the system.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/metal/tools.h"
#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

namespace {

constexpr const char* kXcrunHelp =
    "Usage: xcrun [-sdk NAME] [OPTION] TOOL [ARGUMENTS...]\n\n"
    "Runs metal, metallib or metal-ar of mlxn, or another tool that is on PATH.\n\n"
    "  -sdk NAME, --sdk NAME     macosx (default), iphoneos, ...\n"
    "  --show-sdk-version        version of the SDK\n"
    "  --show-sdk-path           its folder\n"
    "  -f, --find TOOL           path of a tool\n";

// The folder that this program lies in.
std::string own_folder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

// Replaces this process by a tool of the machine.
int run_other(const Words& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  return complain("xcrun", Error(ErrorCode::kIo, str("unable to find utility '", words[0],
                                                     "': ", std::strerror(errno))));
}

Result<std::string> path_of(const std::string& name) {
  if (find_tool(name)) return own_folder() + "/" + name;
  const char* value = ::getenv("PATH");
  const std::string path = value ? value : "";
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return Error(ErrorCode::kIo, str("unable to find utility '", name, "'"));
}

int print(const Result<std::string>& text) {
  if (!text) return complain("xcrun", text.error());
  Status status = write_file("-", *text + "\n");
  return status ? 0 : complain("xcrun", status.error());
}

}  // namespace

int run_xcrun(const Words& words) {
  std::string sdk = "macosx";
  size_t at = 0;
  for (; at < words.size() && words[at].starts_with("-"); ++at) {
    const std::string& word = words[at];
    const bool has_next = at + 1 < words.size();
    if ((word == "-sdk" || word == "--sdk") && has_next)
      sdk = words[++at];
    else if ((word == "-toolchain" || word == "--toolchain") && has_next)
      ++at;
    else if (word == "--show-sdk-version" || word == "-show-sdk-version")
      return print(std::string(sdk.starts_with("iphone") ? kIosVersion : kMacosVersion));
    else if (word == "--show-sdk-path" || word == "-show-sdk-path")
      return print(std::filesystem::path(own_folder()).parent_path().string());
    else if ((word == "-f" || word == "-find" || word == "--find") && has_next)
      return print(path_of(words[at + 1]));
    else if (word == "-h" || word == "--help")
      return print(std::string(kXcrunHelp));
    else if (word != "-r" && word != "--run" && word != "-v" && word != "--verbose" &&
             word != "-n" && word != "--no-cache" && word != "-l" && word != "--log")
      return complain("xcrun", Error(ErrorCode::kInvalidArgument,
                                     str("unknown option or missing value: '", word, "'")));
  }
  if (at == words.size())
    return complain("xcrun", Error(ErrorCode::kInvalidArgument, "no tool is named; see --help"));
  const Words rest(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  const Tool own = find_tool(rest[0]);
  return own ? own(Words(rest.begin() + 1, rest.end())) : run_other(rest);
}

int run_sw_vers(const Words& words) {
  const std::string option = words.empty() ? "" : words[0];
  if (option.ends_with("productVersion")) return print(std::string(kMacosVersion));
  if (option.ends_with("productName")) return print(std::string("macOS"));
  return print(str("ProductName:\t\tmacOS\nProductVersion:\t\t", kMacosVersion));
}

}  // namespace mlxn::metal_tool
