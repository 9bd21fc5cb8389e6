#include "apps/metal/arguments.h"

#include <array>
#include <cstdlib>
#include <optional>

#include "mlxn/base/strings.h"

namespace mlxn::metal_tool {

const char* const kMetalHelp =
    R"(Usage: metal [OPTIONS] FILE...

Compiles Metal Shading Language for mlxn. Files ending in .metal are compiled; other files are objects (.air),
archives (.metalar) and libraries (.metallib), which are linked to one library.

  -c                  compile only: one .air for each source
  -E                  preprocess only, to standard output or -o; -P without line marks, -C with comments
  -o FILE             output; default: default.metallib, or NAME.air with -c
  -I DIR              where includes are looked for (also -isystem, -iquote)
  -D NAME[=VALUE]     define a macro; -U NAME removes one; -include FILE reads a file first
  -std=metal3.2       language version (also macos-metal2.4, ios-metal2.4)
  -ffast-math         fast math; -fno-fast-math (default), -fmetal-math-mode=safe|relaxed|fast
  -H                  list the headers that are read
  -MD, -MMD, -MF FILE, -MT NAME, -MP, -M, -MM
                      dependencies for make
  -x metal            all files are sources; - is standard input
  -w                  no warnings
  --version, --help

Options about warnings (-W...), optimisation (-O...), debug information (-g...) and targets (-m..., -target,
-arch) are accepted; a deployment target chooses the language version unless -std does.
)";

namespace {

// "3.2" -> 3 << 16 | 2; 0 when it is none.
uint32_t parse_version(std::string_view text) {
  char* end = nullptr;
  const std::string copy(text);
  const unsigned long major = std::strtoul(copy.c_str(), &end, 10);
  if (end == copy.c_str() || major > 99) return 0;
  unsigned long minor = 0;
  if (*end == '.') minor = std::strtoul(end + 1, &end, 10);
  return minor > 99 ? 0 : static_cast<uint32_t>(major << 16 | minor);
}

// The language version that came with a system. Versions of iOS count three more than those of
// macOS.
uint32_t language_of_system(uint32_t macos_major) {
  if (macos_major >= 26) return 4 << 16;
  if (macos_major >= 15) return 3 << 16 | 2;
  if (macos_major == 14) return 3 << 16 | 1;
  if (macos_major == 13) return 3 << 16;
  return 2 << 16 | (macos_major == 12 ? 4 : 3);
}

// Options that are accepted and shape nothing, by how they begin.
bool is_harmless(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kBegins = {"-W",
                                                               "-O",
                                                               "-g",
                                                               "-frecord-sources",
                                                               "-fmetal-enable-logging",
                                                               "-fno-metal-enable-logging",
                                                               "-fpreserve-invariance",
                                                               "-ffp-contract",
                                                               "-fdiagnostics",
                                                               "-fcolor-diagnostics",
                                                               "-m",
                                                               "-pipe"};
  for (std::string_view begin : kBegins)
    if (word.starts_with(begin)) return true;
  return word == "-v" || word == "-q" || word == "-fno-color-diagnostics" || word == "-s";
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  Result<Arguments> run() {
    for (at_ = 0; at_ < words_.size(); ++at_) MLXN_TRY(parse_word(words_[at_]));
    if (language_ == 0) language_ = system_language_;
    if (language_ != 0) out_.compile.language_version = language_;
    return std::move(out_);
  }

 private:
  Status parse_word(const std::string& word) {
    if (word == "-" || !word.starts_with("-")) {
      out_.inputs.push_back(word);
      return {};
    }
    if (parse_flag(word)) return {};
    if (word.starts_with("-std=")) return parse_standard(word.substr(5));
    if (word.starts_with("-fmetal-math-mode=")) return parse_math(word.substr(18));
    if (parse_system(word)) return {};
    for (const char* option : {"-isystem", "-iquote", "-include", "-target", "-arch", "-isysroot",
                               "-MF", "-MT", "-MQ", "-I", "-D", "-U", "-o", "-x"})
      if (word.starts_with(option)) return parse_value(option, word);
    if (is_harmless(word)) return {};
    return Error(ErrorCode::kInvalidArgument, str("unknown option '", word, "'"));
  }

  // Options without a value.
  bool parse_flag(const std::string& word) {
    Dependencies& dependencies = out_.dependencies;
    if (word == "-c")
      out_.action = Action::kCompile;
    else if (word == "-E")
      out_.action = Action::kPreprocess;
    else if (word == "-P")
      out_.preprocess.line_marks = false;
    else if (word == "-C" || word == "-CC")
      out_.preprocess.comments = true;
    else if (word == "-H")
      out_.list_headers = true;
    else if (word == "-w")
      out_.quiet = true;
    else if (word == "-MD" || word == "-MMD")
      dependencies.wanted = true;
    else if (word == "-M" || word == "-MM")
      dependencies.wanted = dependencies.only = true;
    else if (word == "-MP")
      dependencies.phony = true;
    else if (word == "-ffast-math")
      out_.compile.math_mode = msl::MathMode::kFast;
    else if (word == "-fno-fast-math")
      out_.compile.math_mode = msl::MathMode::kSafe;
    else if (word == "--version" || word == "-version")
      out_.wants_version = true;
    else if (word == "--help" || word == "-help" || word == "-h")
      out_.wants_help = true;
    else
      return false;
    return true;
  }

  Status parse_standard(const std::string& text) {
    const size_t name = text.find("metal");
    if (name != std::string::npos)
      language_ = parse_version(std::string_view(text).substr(name + 5));
    if (language_ != 0) return {};
    return Error(ErrorCode::kInvalidArgument,
                 str("unknown language '", text, "', expected one such as metal3.2"));
  }

  Status parse_math(const std::string& text) {
    if (text == "safe")
      out_.compile.math_mode = msl::MathMode::kSafe;
    else if (text == "relaxed")
      out_.compile.math_mode = msl::MathMode::kRelaxed;
    else if (text == "fast")
      out_.compile.math_mode = msl::MathMode::kFast;
    else
      return Error(ErrorCode::kInvalidArgument,
                   str("math mode '", text, "', expected safe, relaxed or fast"));
    return {};
  }

  // -mmacosx-version-min=14.0 and its like.
  bool parse_system(const std::string& word) {
    const size_t equal = word.find("-version-min=");
    if (!word.starts_with("-m") || equal == std::string::npos) return false;
    const uint32_t major = parse_version(std::string_view(word).substr(equal + 13)) >> 16;
    const bool macos = word.starts_with("-mmacos");
    system_language_ =
        language_of_system(macos || major >= 26 ? major : major - std::min(major, 3u));
    return true;
  }

  // The value stands behind the option, in the same word or the next one.
  Status parse_value(const std::string& option, const std::string& word) {
    std::string value = word.substr(option.size());
    if (value.empty()) {
      if (at_ + 1 == words_.size())
        return Error(ErrorCode::kInvalidArgument, str("option '", option, "' needs a value"));
      value = words_[++at_];
    }
    if (option == "-I" || option == "-isystem" || option == "-iquote")
      out_.compile.include_dirs.push_back(value);
    else if (option == "-D")
      add_macro(value);
    else if (option == "-U")
      out_.preamble += str("#undef ", value, "\n");
    else if (option == "-include")
      out_.preamble += str("#include \"", value, "\"\n");
    else if (option == "-o")
      out_.output = value;
    else if (option == "-MF")
      out_.dependencies.file = value;
    else if (option == "-MT" || option == "-MQ")
      out_.dependencies.target = value;
    else if (option == "-x" && value != "metal")
      return Error(ErrorCode::kInvalidArgument, str("language '", value, "', expected metal"));
    else if (option == "-x")
      out_.inputs_are_source = true;
    return {};
  }

  void add_macro(const std::string& text) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos)
      out_.compile.macros.push_back({text, "1"});
    else
      out_.compile.macros.push_back({text.substr(0, equal), text.substr(equal + 1)});
  }

  const std::vector<std::string>& words_;
  size_t at_ = 0;
  uint32_t language_ = 0, system_language_ = 0;
  Arguments out_;
};

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  return Parser(words).run();
}

}  // namespace mlxn::metal_tool
