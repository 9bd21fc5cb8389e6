#pragma once

#include <string>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::mslc {

// The command line, checked.
struct Options {
  std::vector<std::string> files;  // folders are expanded to the .metal files below them
  msl::CompileOptions compile;
  msl::Target target;
  std::vector<msl::ConstantValue> constants;
  std::vector<std::string> entries;  // empty: all
  msl::Shape shape;                  // threadgroup sizes to compile for
  std::string emit;                  // "", "lowered", "ir", "asm", "obj", "ptx"
  std::string output;                // "" or "-": standard output
  bool check = false;
  bool list = false;
  bool explain = false;
  bool build = false;  // --list: compile, to show what the code needs
  bool json = false;
  std::string libdevice;  // ptx: path of libdevice bitcode, or empty
  int tier = -1;          // the lowest to use; -1: the compiler chooses
  unsigned jobs = 0;      // 0: all cores
};

// Compile options for one file: its own folder is searched for includes too.
msl::CompileOptions options_for(const Options& options, const std::string& path);

// What the options say about every compilation; entry points and constants are the caller's.
msl::CompileRequest request_for(const Options& options);

// "flat" (n x 1 x 1 threads, n a multiple of 32), "any" or "8x8x1".
Result<msl::Shape> parse_shape(const std::string& text);
std::string to_string(const msl::Shape& shape);

// Parses "name=value" or "index=value"; the type comes from the library's declaration.
struct ConstantText {
  std::string key, value;
};
Result<std::vector<msl::ConstantValue>> resolve_constants(const std::vector<ConstantText>& texts,
                                                          const msl::LibraryInfo& info);

// The modes of the tool; each returns the exit status.
int run_check(const Options& options, const msl::Compiler& compiler,
              const std::vector<ConstantText>& constants);
int run_list(const Options& options, const msl::Compiler& compiler,
             const std::vector<ConstantText>& constants);
int run_emit(const Options& options, const msl::Compiler& compiler,
             const std::vector<ConstantText>& constants);
int run_explain(const Options& options, const msl::Compiler& compiler,
                const std::vector<ConstantText>& constants);

}  // namespace mlxn::mslc
