// The developer tools of Metal in one program: metal, metallib, metal-ar, xcrun and sw_vers are
// links to it.
#include <cstdio>
#include <filesystem>
#include <map>

#include "apps/metal/tools.h"

namespace mlxn::metal_tool {

Tool find_tool(const std::string& name) {
  static const std::map<std::string, Tool> tools = {{"metal", run_metal},
                                                    {"metallib", run_metallib},
                                                    {"metal-ar", run_archiver},
                                                    {"xcrun", run_xcrun},
                                                    {"sw_vers", run_sw_vers}};
  const auto found = tools.find(name);
  return found == tools.end() ? nullptr : found->second;
}

}  // namespace mlxn::metal_tool

int main(int argc, char** argv) {
  using namespace mlxn::metal_tool;
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "metal";
  const Tool tool = find_tool(name);
  if (!tool) {
    std::fprintf(stderr, "%s: call this program as metal, metallib, metal-ar, xcrun or sw_vers\n",
                 name.c_str());
    return 2;
  }
  return tool(Words(argv + 1, argv + argc));
}
