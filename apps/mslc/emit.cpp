// --emit, --explain and --list.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/mslc/options.h"
#include "mlxn/base/read_file.h"
#include "mlxn/base/strings.h"

namespace mlxn::mslc {

namespace {

int complain(const std::string& path, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), error.message().c_str());
  return 1;
}

Result<msl::Image> compile(const Options& options, const msl::Compiler& compiler,
                           const std::string& path, const std::vector<ConstantText>& constants,
                           msl::Emit emit) {
  MLXN_ASSIGN(std::string source, read_file(path));
  MLXN_ASSIGN(auto library, compiler.create_library(source, options_for(options, path)));
  msl::CompileRequest request = request_for(options);
  request.entry_points = options.entries;
  request.emit = emit;
  MLXN_ASSIGN(request.constants, resolve_constants(constants, library->info()));
  return library->compile(request);
}

const char* kind_name(const msl::ArgumentInfo& argument) {
  return argument.kind == msl::ArgumentKind::kThreadgroupMemory ? "threadgroup" : "buffer";
}

const char* access_name(const msl::ArgumentInfo& argument) {
  return argument.access == msl::Access::kReadOnly ? "read" : "read-write";
}

// What is known without code, and what only code tells.
void print_kernel(const msl::Kernel& kernel, bool built) {
  std::printf("%s  max threads %u", kernel.name.c_str(), kernel.max_total_threads);
  if (built)
    std::printf(", tier %d, shape %s, threadgroup memory %llu", int(kernel.tier),
                to_string(kernel.shape).c_str(),
                static_cast<unsigned long long>(kernel.static_threadgroup_bytes));
  if (built && (kernel.tier == msl::Tier::kRegions || kernel.tier == msl::Tier::kMaskedRegions))
    std::printf(", context %llu + %llu for each simdgroup",
                static_cast<unsigned long long>(kernel.context_bytes),
                static_cast<unsigned long long>(kernel.context_bytes_per_simdgroup));
  std::printf("\n");
  for (const msl::ArgumentInfo& argument : kernel.arguments)
    std::printf("  %-11s %2u  %-24s %-10s element %llu bytes%s\n", kind_name(argument),
                argument.index, argument.name.c_str(), access_name(argument),
                static_cast<unsigned long long>(argument.data_size),
                argument.active ? "" : " (unused)");
}

nlohmann::json to_json(const msl::Kernel& kernel, bool built) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const msl::ArgumentInfo& argument : kernel.arguments) {
    nlohmann::json members = nlohmann::json::array();
    for (const msl::MemberInfo& member : argument.members)
      members.push_back({{"name", member.name},
                         {"offset", member.offset},
                         {"type", member.type},
                         {"array", member.array_length}});
    arguments.push_back({{"name", argument.name},
                         {"kind", kind_name(argument)},
                         {"index", argument.index},
                         {"access", access_name(argument)},
                         {"active", argument.active},
                         {"size", argument.data_size},
                         {"alignment", argument.alignment},
                         {"type", argument.type},
                         {"members", members}});
  }
  nlohmann::json result = {
      {"name", kernel.name}, {"max_threads", kernel.max_total_threads}, {"arguments", arguments}};
  if (!built) return result;
  result["tier"] = int(kernel.tier);
  result["shape"] = to_string(kernel.shape);
  result["context"] = kernel.context_bytes;
  result["context_per_simdgroup"] = kernel.context_bytes_per_simdgroup;
  result["threadgroup_memory"] = kernel.static_threadgroup_bytes;
  result["frame"] = kernel.frame_bytes;
  return result;
}

Result<std::vector<msl::Kernel>> built_kernels(const Options& options,
                                               const msl::Compiler& compiler,
                                               const std::string& path,
                                               const std::vector<ConstantText>& constants) {
  MLXN_ASSIGN(msl::Image image, compile(options, compiler, path, constants, msl::Emit::kCode));
  return std::move(image.kernels);
}

// The kernels of a file that are asked for, as its declarations show them.
Result<std::vector<msl::Kernel>> declared_kernels(const Options& options,
                                                  const msl::Compiler& compiler,
                                                  const std::string& path) {
  MLXN_ASSIGN(std::string source, read_file(path));
  MLXN_ASSIGN(auto kernels, compiler.kernels(source, options_for(options, path)));
  if (options.entries.empty()) return kernels;
  std::vector<msl::Kernel> wanted;
  for (const std::string& name : options.entries) {
    auto found = std::find_if(kernels.begin(), kernels.end(),
                              [&](const msl::Kernel& kernel) { return kernel.name == name; });
    if (found == kernels.end())
      return Error(ErrorCode::kFunctionNotFound, str("no kernel named '", name, "'"));
    wanted.push_back(*found);
  }
  return wanted;
}

// Writes what the compiler makes of one file to the output.
int write_compiled(const Options& options, const msl::Compiler& compiler,
                   const std::vector<ConstantText>& constants, msl::Emit emit) {
  auto image = compile(options, compiler, options.files[0], constants, emit);
  if (!image) return complain(options.files[0], image.error());
  bool to_stdout = options.output.empty() || options.output == "-";
  std::FILE* out = to_stdout ? stdout : std::fopen(options.output.c_str(), "wb");
  bool written =
      out && std::fwrite(image->code.data(), 1, image->code.size(), out) == image->code.size();
  if (out && !to_stdout) written &= std::fclose(out) == 0;
  if (!written) return complain(options.output, Error(ErrorCode::kIo, "cannot write the output"));
  return 0;
}

}  // namespace

int run_emit(const Options& options, const msl::Compiler& compiler,
             const std::vector<ConstantText>& constants) {
  if (options.files.size() != 1) {
    std::fprintf(stderr, "mslc: --emit takes one file, not %zu\n", options.files.size());
    return 2;
  }
  msl::Emit emit = options.emit == "ir"        ? msl::Emit::kLlvmIr
                   : options.emit == "lowered" ? msl::Emit::kLoweredIr
                   : options.emit == "asm"     ? msl::Emit::kAssembly
                                               : msl::Emit::kCode;
  return write_compiled(options, compiler, constants, emit);
}

int run_explain(const Options& options, const msl::Compiler& compiler,
                const std::vector<ConstantText>& constants) {
  return write_compiled(options, compiler, constants, msl::Emit::kExplanation);
}

int run_list(const Options& options, const msl::Compiler& compiler,
             const std::vector<ConstantText>& constants) {
  int status = 0;
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& path : options.files) {
    auto kernels = options.build ? built_kernels(options, compiler, path, constants)
                                 : declared_kernels(options, compiler, path);
    if (!kernels) {
      status = complain(path, kernels.error());
      continue;
    }
    for (const msl::Kernel& kernel : *kernels) {
      if (options.json)
        all.push_back(to_json(kernel, options.build));
      else
        print_kernel(kernel, options.build);
    }
  }
  if (options.json) std::printf("%s\n", all.dump(2).c_str());
  return status;
}

}  // namespace mlxn::mslc
