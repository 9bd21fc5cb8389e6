#include "mlxn/text/tokenizer/internal/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "mlxn/base/strings.h"
#include "mlxn/text/tokenizer/internal/pre_tokenizer_table.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text {
namespace {

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
using Code = std::unique_ptr<pcre2_code, FreeCode>;
using MatchData = std::unique_ptr<pcre2_match_data, FreeMatchData>;
using MatchContext = std::unique_ptr<pcre2_match_context, FreeMatchContext>;

// PCRE2's own \s includes U+180E, which is not White_Space; the members are spelled out instead.
std::string spell_spaces(std::string_view pattern) {
  constexpr std::string_view kSpaces = R"(\p{Z}\x{9}-\x{D}\x{85})";
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] == '\\' && (next == 's' || (next == 'S' && !in_class))) {
      out += in_class ? std::string(kSpaces) : str(next == 's' ? "[" : "[^", kSpaces, "]");
      ++i;
    } else if (pattern[i] == '\\') {
      out += pattern.substr(i, 2);
      ++i;
    } else {
      if (pattern[i] == '[') in_class = true;
      if (pattern[i] == ']') in_class = false;
      out += pattern[i];
    }
  }
  return out;
}

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

Result<Code> compile(std::string_view pattern) {
  const std::string spelled = spell_spaces(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
  if (!code)
    return Error(ErrorCode::kInternal,
                 str("pattern '", spelled, "', offset ", offset, ": ", message_of(error)));
  // Without a just-in-time compiler the interpreter does the same, only slower.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

bool has_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

struct PreTokenizer::Patterns {
  std::vector<Code> codes;
};

namespace {

using Pieces = std::vector<std::string_view>;

// One run of a pattern over text that is valid UTF-8.
class Cutter {
 public:
  explicit Cutter(const pcre2_code* code)
      : code_(code),
        data_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {}

  Status cut(std::string_view text, Pieces& out) {
    if (!data_ || !context_) return Error(ErrorCode::kOutOfMemory, "no memory for matching");
    // Linear in the text: no pattern of ours needs more, and none may run without end.
    const auto limit = static_cast<uint32_t>(std::min<size_t>(text.size() * 64 + 100000, 1u << 31));
    pcre2_set_match_limit(context_.get(), limit);
    pcre2_set_heap_limit(context_.get(), 1u << 20);  // KiB
    size_t done = 0;
    size_t from = 0;
    while (from < text.size()) {
      MLXN_ASSIGN(const bool found, match(text, from));
      if (!found) break;
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data_.get());
      if (span[1] == span[0]) {  // an empty match cuts nothing
        from += utf8_step(text.substr(from)).size;
        continue;
      }
      if (span[0] > done) out.push_back(text.substr(done, span[0] - done));
      out.push_back(text.substr(span[0], span[1] - span[0]));
      done = from = span[1];
    }
    if (done < text.size()) out.push_back(text.substr(done));
    return {};
  }

 private:
  Result<bool> match(std::string_view text, size_t from) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int rc = pcre2_match(code_, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data_.get(),
                         context_.get());
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
      rc = pcre2_match(code_, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       data_.get(), context_.get());
    }
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc < 0)
      return Error(ErrorCode::kOutOfRange, str("cutting ", text.size(), " bytes of text at offset ",
                                               from, ": ", message_of(rc)));
    return true;
  }

  const pcre2_code* code_;
  MatchData data_;
  MatchContext context_;
};

// Runs of valid and of invalid UTF-8, in turn.
struct Run {
  std::string_view text;
  bool valid;
};

std::vector<Run> runs_of(std::string_view text) {
  std::vector<Run> runs;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (runs.empty() || runs.back().valid != step.valid)
      runs.push_back({text.substr(at, 0), step.valid});
    runs.back().text = {runs.back().text.data(), runs.back().text.size() + step.size};
    at += step.size;
  }
  return runs;
}

}  // namespace

std::vector<std::string_view> pre_tokenizer_names() {
  std::vector<std::string_view> names;
  for (const PreTokenizerInfo& info : pre_tokenizers()) {
    for (std::string_view rest = info.names; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      names.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return names;
}

PreTokenizer::PreTokenizer(const PreTokenizerInfo* info, std::unique_ptr<Patterns> patterns)
    : info_(info), patterns_(std::move(patterns)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Result<PreTokenizer> PreTokenizer::create(std::string_view name) {
  for (const PreTokenizerInfo& info : pre_tokenizers()) {
    if (!has_name(info.names, name)) continue;
    auto patterns = std::make_unique<Patterns>();
    for (std::string_view pattern : info.patterns) {
      MLXN_ASSIGN(Code code, compile(pattern));
      patterns->codes.push_back(std::move(code));
    }
    return PreTokenizer(&info, std::move(patterns));
  }
  std::string known;
  for (std::string_view one : pre_tokenizer_names()) known += str(known.empty() ? "" : ", ", one);
  return Error(ErrorCode::kUnsupported,
               str("pre-tokenizer '", name, "' is not known; known are ", known));
}

Result<std::vector<std::string_view>> PreTokenizer::split(std::string_view text) const {
  Pieces out;
  Pieces pieces;
  Pieces cut;
  for (const Run& run : runs_of(text)) {
    pieces.assign(1, run.text);
    for (const Code& code : patterns_->codes) {
      if (!run.valid) break;
      Cutter cutter(code.get());
      cut.clear();
      for (std::string_view piece : pieces) MLXN_TRY(cutter.cut(piece, cut));
      std::swap(pieces, cut);
    }
    out.insert(out.end(), pieces.begin(), pieces.end());
  }
  return out;
}

}  // namespace mlxn::text
