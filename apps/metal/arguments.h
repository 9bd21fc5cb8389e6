// The command line of Apple's `metal`, as far as build systems use it.
#pragma once

#include <string>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::metal_tool {

enum class Action { kLink, kCompile, kPreprocess };

struct Dependencies {
  bool wanted = false;  // -MD, -MMD, -M, -MM
  bool only = false;    // -M, -MM: instead of other output
  bool phony = false;   // -MP: a rule for each header, so that one may be deleted
  std::string file;     // -MF
  std::string target;   // -MT, -MQ
};

struct Arguments {
  Action action = Action::kLink;
  msl::CompileOptions compile;  // include_dirs: those of -I and its like
  std::string preamble;         // text before each source: -include, -U
  std::vector<std::string> inputs;
  bool inputs_are_source = false;  // -x metal
  std::string output;              // -o
  Dependencies dependencies;
  msl::PreprocessRequest preprocess;
  bool list_headers = false;   // -H
  bool quiet = false;          // -w
  bool wants_version = false;  // --version
  bool wants_help = false;
};

// Options that shape nothing here (warnings, optimisation, debug information) are accepted. Others
// that are unknown are an error.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

// Text of --help.
extern const char* const kMetalHelp;

}  // namespace mlxn::metal_tool
