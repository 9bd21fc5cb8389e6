// Chat templates of model files: a sandboxed subset of Jinja.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/text/template/value.h"

namespace mlxn::text {

// Everything a hostile template could use up. Passing one is kOutOfRange.
struct TemplateLimits {
  uint64_t source_bytes = 1 << 20;
  uint64_t steps = 4'000'000;  // nodes evaluated, plus one for each 64 bytes or item made
  uint32_t depth = 256;        // nesting of expressions and blocks, and of macro calls
  uint64_t output_bytes = 16 << 20;
};

struct ChatMessage {
  std::string role;
  std::string content;
  ValueDict extra = {};  // further fields: tool_calls, name, ...; content here replaces the above
};

struct ChatInput {
  std::vector<ChatMessage> messages;
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  ValueDict variables = {};  // e.g. tools, enable_thinking; they win over the names above
  // What strftime_now shows, in seconds since 1970 (UTC). Not set: strftime_now is undefined.
  std::optional<int64_t> now = {};
};

namespace detail {
struct TemplateProgram;
}

// Blocks are trimmed as model authors expect (Jinja's trim_blocks and lstrip_blocks are on). Names
// that are not defined are empty text, as in Jinja; using one as a value is an error. Templates see
// plain data only: no objects of the host, no files, no loading of other templates. Immutable;
// thread-safe.
class ChatTemplate {
 public:
  // kInvalidArgument: not a template; kUnsupported: valid Jinja that is not known here. Both give
  // line and column.
  static Result<ChatTemplate> parse(std::string_view source, const TemplateLimits& limits);
  static Result<ChatTemplate> parse(std::string_view source) { return parse(source, {}); }

  // kInvalidArgument when the template fails, with line and column, or calls raise_exception.
  Result<std::string> render(const ChatInput& input) const;
  // The same with nothing but these names defined.
  Result<std::string> render_variables(const ValueDict& variables,
                                       std::optional<int64_t> now = {}) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const detail::TemplateProgram> program)
      : program_(std::move(program)) {}
  std::shared_ptr<const detail::TemplateProgram> program_;
};

}  // namespace mlxn::text
