// Answers requests of the reference scripts: one JSON object on a line in, one out.
//   {"op": "encode", "text": T, "special": BOOL}     -> {"ids": [...]}     (with a model)
//   {"op": "split", "pre": NAME, "text": T}          -> {"pieces": [...]}
//   {"op": "render", "template": T, "variables": {}} -> {"text": T}
// Errors are {"error": TEXT}.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "mlxn/io/gguf.h"
#include "mlxn/text/chat/chat_template.h"
#include "mlxn/text/tokenizer/internal/pre_tokenizer.h"
#include "mlxn/text/tokenizer/tokenizer.h"

namespace {

using Json = nlohmann::ordered_json;  // dictionaries keep their order
using namespace mlxn;

Json failure(const Error& error) {
  return {{"error", error.to_string()}};
}

Json encode(const text::Tokenizer* tokenizer, const Json& request) {
  if (!tokenizer) return {{"error", "no model was given"}};
  const auto ids = tokenizer->encode(request["text"].get<std::string>(),
                                     {.add_special = false, .parse_special = request["special"]});
  if (!ids) return failure(ids.error());
  return {{"ids", *ids}};
}

Json split(const Json& request) {
  const auto cutter = text::PreTokenizer::create(request["pre"].get<std::string>());
  if (!cutter) return failure(cutter.error());
  const std::string input = request["text"];
  const auto pieces = cutter->split(input);
  if (!pieces) return failure(pieces.error());
  Json out = Json::array();
  for (std::string_view piece : *pieces) out.push_back(std::string(piece));
  return {{"pieces", out}};
}

Json render(const Json& request) {
  const auto parsed = text::ChatTemplate::parse(request["template"].get<std::string>());
  if (!parsed) return failure(parsed.error());
  const auto variables = text::parse_json(request["variables"].dump());
  if (!variables) return failure(variables.error());
  const auto out = parsed->render_variables(*variables->dict(), 1700000000);
  if (!out) return failure(out.error());
  return {{"text", *out}};
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<text::Tokenizer> tokenizer;
  if (argc > 1) {
    const auto file = io::GgufFile::open(argv[1]);
    if (!file) return std::cerr << file.error().to_string() << "\n", 1;
    auto made = text::Tokenizer::create(file->metadata());
    if (!made) return std::cerr << made.error().to_string() << "\n", 1;
    tokenizer = std::move(made).value();
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    const Json request = Json::parse(line);
    const std::string op = request["op"];
    Json answer = op == "encode"  ? encode(tokenizer.get(), request)
                  : op == "split" ? split(request)
                                  : render(request);
    std::cout << answer.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
  }
  return 0;
}
