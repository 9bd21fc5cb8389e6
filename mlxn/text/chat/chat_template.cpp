#include "mlxn/text/chat/chat_template.h"

#include <utility>

#include "mlxn/text/template/internal/template_ast.h"
#include "mlxn/text/template/internal/template_evaluator.h"

namespace mlxn::text {

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const TemplateLimits& limits) {
  MLXN_ASSIGN(std::unique_ptr<detail::TemplateProgram> program,
              detail::parse_template(source, limits));
  return ChatTemplate(std::move(program));
}

Result<std::string> ChatTemplate::render_variables(const ValueDict& variables,
                                                   std::optional<int64_t> now) const {
  return detail::Evaluator(*program_, variables, now).run();
}

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  ValueList messages;
  for (const ChatMessage& message : input.messages) {
    ValueDict fields = {{"role", message.role}, {"content", message.content}};
    fields.insert(fields.end(), message.extra.begin(), message.extra.end());
    messages.emplace_back(std::move(fields));
  }
  ValueDict variables = {{"messages", std::move(messages)},
                         {"add_generation_prompt", input.add_generation_prompt},
                         {"bos_token", input.bos_token},
                         {"eos_token", input.eos_token}};
  variables.insert(variables.end(), input.variables.begin(), input.variables.end());
  return render_variables(variables, input.now);
}

}  // namespace mlxn::text
