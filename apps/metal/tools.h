// The tools behind one program, each under the name it is called by.
#pragma once

#include <string>
#include <vector>

#include "apps/metal/arguments.h"

namespace mlxn::metal_tool {

using Words = std::vector<std::string>;

// Each returns an exit status; messages go to standard error.
int run_metal(const Words& words);     // compiles and links
int run_metallib(const Words& words);  // links
int run_archiver(const Words& words);  // metal-ar
int run_xcrun(const Words& words);     // calls a tool by its name
int run_sw_vers(const Words& words);

// The tool of this name; null when it is none of these.
using Tool = int (*)(const Words&);
Tool find_tool(const std::string& name);

// The system whose developer tools these stand for.
inline constexpr const char* kMacosVersion = "15.0";
inline constexpr const char* kIosVersion = "18.0";

// "metal: error: what" and status 1.
int complain(const char* tool, const Error& error);
Result<std::string> read_input(const std::string& path);  // - is standard input
// The file appears whole or not at all. - is standard output.
Status write_file(const std::string& path, std::string_view bytes);

// A unit as bytes that an output file will hold.
struct Object {
  std::string name;  // of the file it comes from
  std::string index, text;
};
Result<msl::Preprocessed> preprocess_source(const Arguments& arguments, const std::string& path,
                                            const msl::PreprocessRequest& request);
// The file that -MD and its like ask for, if they do.
Status write_dependencies(const Arguments& arguments, const std::string& path,
                          const msl::Preprocessed& preprocessed);
Result<Object> compile_source(const Arguments& arguments, const std::string& path);
Result<std::vector<Object>> read_objects(const std::string& path);
// One library of all units; two functions of one name are an error.
Status link_objects(const std::vector<Object>& objects, const std::string& output);
std::string library_bytes(const std::vector<Object>& objects);

}  // namespace mlxn::metal_tool
