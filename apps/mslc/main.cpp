// mslc, the offline MSL compiler.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/mslc/options.h"
#include "metal/msl/module.h"
#include "mlxn/base/strings.h"

namespace mlxn::mslc {

msl::CompileOptions options_for(const Options& options, const std::string& path) {
  msl::CompileOptions result = options.compile;
  result.source_name = path;
  std::string folder = std::filesystem::path(path).parent_path().string();
  result.include_dirs.push_back(folder.empty() ? "." : folder);
  return result;
}

msl::CompileRequest request_for(const Options& options) {
  msl::CompileRequest request;
  request.target = options.target;
  request.shape = options.shape;
  request.forced_tier = options.tier;
  request.libdevice = options.libdevice;
  request.allow_unset_constants = true;
  return request;
}

namespace {

std::vector<std::string> expand_folders(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, ignored))
      if (entry.path().extension() == ".metal") found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Where the CUDA toolkit puts its math library; empty when there is none.
std::string find_libdevice() {
  for (const char* root : {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"}) {
    std::string path = str(root, "/nvvm/libdevice/libdevice.10.bc");
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

struct Arguments {
  Options options;
  std::vector<std::string> macros, constants;
  std::string target = "cpu", cpu, features, math = "safe", standard = "metal3.2", shape = "flat";
};

void declare(CLI::App& app, Arguments& arguments) {
  Options& options = arguments.options;
  app.add_option("files", options.files,
                 "MSL files, or folders with .metal files; with --explain, a file and entry points")
      ->required();
  app.add_flag("--check", options.check,
               "build every entry point and print 'N of M entry points compiled'");
  app.add_flag("--list", options.list, "list entry points with their arguments");
  app.add_flag("--build", options.build,
               "with --list: compile, and show tiers, memory and unused arguments too");
  app.add_flag("--json", options.json, "machine-readable --list");
  app.add_option("--emit", options.emit,
                 "what to write: lowered (IR before optimisation), ir, asm, obj or ptx")
      ->check(CLI::IsMember({"lowered", "ir", "asm", "obj", "ptx"}));
  app.add_flag("--explain", options.explain,
               "say which tier each entry point takes and why, with source lines");
  app.add_option(
      "--shape", arguments.shape,
      "threadgroups to compile for: flat (n x 1 x 1 threads, n a multiple of 32; default), "
      "any, or a size such as 8x8x1");
  app.add_option("-o,--output", options.output, "output file (default: standard output)");
  app.add_option("-e,--entry", options.entries,
                 "entry point by name; repeat for several (default: all)")
      ->allow_extra_args(false);
  app.add_option("-I", options.compile.include_dirs, "folder for #include; repeat for several")
      ->allow_extra_args(false);
  app.add_option("-D", arguments.macros, "NAME or NAME=VALUE; repeat for several")
      ->allow_extra_args(false);
  app.add_option("-c,--constant", arguments.constants,
                 "function constant, NAME=VALUE or INDEX=VALUE")
      ->allow_extra_args(false);
  app.add_option("--target", arguments.target, "cpu or ptx")->check(CLI::IsMember({"cpu", "ptx"}));
  app.add_option("--cpu", arguments.cpu,
                 "processor: x86-64-v3 (default), x86-64-v4, native, ...; for ptx sm_90, ...");
  app.add_option("--features", arguments.features, "LLVM feature string, e.g. +avx512bf16");
  app.add_option("--libdevice", options.libdevice,
                 "ptx: NVIDIA's libdevice.10.bc (default: from the CUDA toolkit)");
  app.add_option("--math", arguments.math, "safe, relaxed or fast")
      ->check(CLI::IsMember({"safe", "relaxed", "fast"}));
  app.add_option("--std", arguments.standard, "language version, metal2.0 to metal4.0");
  app.add_option(
         "--tier", options.tier,
         "lowest execution tier to use: 0 (work-item loop), 1 (regions), 2 (masked regions) "
         "or 3 (coroutines)")
      ->check(CLI::Range(0, 3));
  app.add_option("-j,--jobs", options.jobs, "threads for --check (default: all cores)");
}

Status finish(Arguments& arguments, std::vector<ConstantText>& constants) {
  Options& options = arguments.options;
  if (options.explain) {
    options.entries.insert(options.entries.end(), options.files.begin() + 1, options.files.end());
    options.files.resize(1);
  } else {
    options.files = expand_folders(options.files);
  }
  MLXN_ASSIGN(options.shape, parse_shape(arguments.shape));
  for (const std::string& macro : arguments.macros) {
    size_t equals = macro.find('=');
    options.compile.macros.push_back(
        {macro.substr(0, equals), equals == std::string::npos ? "1" : macro.substr(equals + 1)});
  }
  for (const std::string& constant : arguments.constants) {
    size_t equals = constant.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(ErrorCode::kInvalidArgument,
                   str("--constant wants NAME=VALUE, not '", constant, "'"));
    constants.push_back({constant.substr(0, equals), constant.substr(equals + 1)});
  }
  bool ptx = arguments.target == "ptx" || options.emit == "ptx";
  options.target.kind = ptx ? msl::Target::Kind::kPtx : msl::Target::Kind::kCpu;
  options.target.cpu = !arguments.cpu.empty() ? arguments.cpu : ptx ? "sm_90" : "x86-64-v3";
  options.target.features = arguments.features;
  if (ptx && options.libdevice.empty()) options.libdevice = find_libdevice();
  options.compile.math_mode = arguments.math == "safe"   ? msl::MathMode::kSafe
                              : arguments.math == "fast" ? msl::MathMode::kFast
                                                         : msl::MathMode::kRelaxed;
  unsigned major = 0, minor = 0;
  if (std::sscanf(arguments.standard.c_str(), "metal%u.%u", &major, &minor) != 2 || major < 1 ||
      major > 4 || minor > 9)
    return Error(ErrorCode::kInvalidArgument,
                 str("--std wants metalX.Y, not '", arguments.standard, "'"));
  options.compile.language_version = major << 16 | minor;
  return {};
}

int run_mode(const Options& options, const msl::Compiler& compiler,
             const std::vector<ConstantText>& constants) {
  if (options.explain) return run_explain(options, compiler, constants);
  if (options.check) return run_check(options, compiler, constants);
  if (!options.emit.empty()) return run_emit(options, compiler, constants);
  return run_list(options, compiler, constants);
}

int run(int argc, char** argv) {
  CLI::App app{
      "mslc: compiles Metal Shading Language kernels for CPUs and NVIDIA GPUs.\n\n"
      "  mslc --list FILE                 entry points and their arguments\n"
      "  mslc --check FILE...             does everything compile?\n"
      "  mslc --emit asm -e NAME FILE     look at generated code\n"
      "  mslc --explain FILE NAME         how does a kernel run on a CPU, and why?"};
  Arguments arguments;
  declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  std::vector<ConstantText> constants;
  if (Status status = finish(arguments, constants); !status) {
    std::fprintf(stderr, "mslc: %s\n", status.error().message().c_str());
    return 2;
  }
  auto compiler = msl::compiler();
  if (!compiler) {
    std::fprintf(stderr, "mslc: %s\n", compiler.error().message().c_str());
    return 2;
  }
  int status = run_mode(arguments.options, **compiler, constants);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::fprintf(stderr, "mslc: cannot write to standard output\n");
  return 1;
}

}  // namespace

}  // namespace mlxn::mslc

int main(int argc, char** argv) {
  return mlxn::mslc::run(argc, argv);
}
