#include "metal/msl/frontend/clang_arguments.h"

#include "metal/msl/frontend/prelude.h"
#include "metal/msl/frontend/source_files.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

std::vector<std::string> language_arguments(const CompileOptions& options, const Target& target) {
  bool ptx = target.kind == Target::Kind::kPtx;
  std::vector<std::string> args = {"-triple",
                                   ptx ? "nvptx64-nvidia-cuda" : "x86_64-unknown-linux-gnu",
                                   "-x",
                                   "c++",
                                   "-std=gnu++17",
                                   "-fdeclspec",
                                   "-ffreestanding",
                                   "-nostdsysteminc",
                                   "-nobuiltininc",
                                   "-O3",
                                   "-disable-llvm-passes",
                                   "-fno-rtti",
                                   "-fno-threadsafe-statics",
                                   "-fwrapv",
                                   "-fno-finite-loops",
                                   "-fno-strict-return",
                                   "-ffloat16-excess-precision=none",
                                   "-fbfloat16-excess-precision=none",
                                   "-Wno-everything",
                                   "-Wno-error",
                                   "-Wno-invalid-constexpr",
                                   "-Wno-c++11-narrowing",
                                   "-Wno-error=c++11-narrowing",
                                   "-fno-strict-float-cast-overflow",
                                   "-ferror-limit",
                                   "20",
                                   "-ftemplate-depth=512",
                                   "-fconstexpr-depth=512",
                                   "-mrelocation-model",
                                   "pic",
                                   "-pic-level",
                                   "2"};
  if (ptx) args.insert(args.end(), {"-target-feature", "+ptx80"});
  if (options.math_mode == MathMode::kSafe) {
    args.push_back("-ffp-contract=on");
  } else {
    args.insert(args.end(),
                {"-ffp-contract=fast", "-mreassociate", "-freciprocal-math", "-fno-signed-zeros",
                 "-fapprox-func", "-D__METAL_MAYBE_FAST_MATH__=1", "-D__METAL_FAST_MATH__=1"});
  }
  if (options.math_mode == MathMode::kFast) args.push_back("-D__FAST_MATH__=1");
  args.insert(args.end(), {"-internal-isystem", kStdlibFolder});
  return args;
}

std::vector<std::string> arguments_for(const CompileOptions& options,
                                       const FrontendRequest& request, bool precompiled) {
  const Target& target = request.target;
  std::vector<std::string> args = language_arguments(options, target);
  if (request.line_numbers) args.push_back("-debug-info-kind=line-tables-only");
  uint32_t major = options.language_version >> 16, minor = options.language_version & 0xffff;
  args.push_back(str("-D__METAL_VERSION__=", major * 100 + minor * 10));
  for (const Macro& macro : options.macros) args.push_back(str("-D", macro.name, "=", macro.value));
  if (!target.cpu.empty()) args.insert(args.end(), {"-target-cpu", target.cpu});
  std::string features = target.features;
  for (size_t start = 0; start < features.size();) {
    size_t comma = std::min(features.find(',', start), features.size());
    args.insert(args.end(), {"-target-feature", features.substr(start, comma - start)});
    start = comma + 1;
  }
  // The prelude does not depend on the processor, so one precompiled form serves all.
  if (precompiled)
    args.insert(args.end(), {"-include-pch", kPreludePch, "-fno-validate-pch"});
  else
    args.insert(args.end(), {"-include", "msl_prelude.h", "-include", "msl_entry.h"});
  for (const std::string& folder : options.include_dirs) args.insert(args.end(), {"-I", folder});
  return args;
}

}  // namespace mlxn::msl
