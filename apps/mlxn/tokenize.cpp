// mlxn tokenize: text to token ids.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/io/gguf.h"

namespace mlxn::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string prompt;
  bool has_prompt = false, ids = false, no_special = false, parse_special = false;
};

std::string read_all(std::FILE* file) {
  std::string text;
  char part[65536];
  for (size_t size; (size = std::fread(part, 1, sizeof(part), file)) > 0;) text.append(part, size);
  return text;
}

Status tokenize(const Options& options) {
  MLXN_ASSIGN(const io::GgufFile file, io::GgufFile::open(options.model.path));
  MLXN_ASSIGN(const auto tokenizer, text::Tokenizer::create(file.metadata()));
  const std::string text = options.has_prompt ? options.prompt : read_all(stdin);
  MLXN_ASSIGN(const std::vector<int32_t> ids,
              tokenizer->encode(text, {.add_special = !options.no_special,
                                       .parse_special = options.parse_special}));
  if (options.ids) {
    std::printf("%s\n", nlohmann::json(ids).dump().c_str());
    return {};
  }
  for (int32_t id : ids) {
    const std::string piece(tokenizer->piece(id));
    std::printf("%7d  %s\n", id,
                nlohmann::json(piece)
                    .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                    .c_str());
  }
  return {};
}

}  // namespace

void add_tokenize(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "tokenize",
      "Prints the tokens of a text, read from standard input to its end or given by -p.");
  command->footer(
      "Example:  echo -n 'Hello world' | mlxn tokenize -m model.gguf --ids\n"
      "Exit status: 0 done, 1 the model or the text cannot be read.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  CLI::Option* prompt = command->add_option("-p,--prompt", options->prompt, "the text itself");
  command->add_flag("--ids", options->ids, "one JSON list of ids instead of a line for each token");
  command->add_flag("--no-special", options->no_special, "no tokens that begin or end a text");
  command->add_flag("--parse-special", options->parse_special,
                    "control tokens spelled in the text become these tokens");
  command->callback([&run, options, prompt] {
    options->has_prompt = prompt->count() > 0;
    run = [options] {
      const Status status = tokenize(*options);
      return status ? kGood : fail("tokenize", status.error());
    };
  });
}

}  // namespace mlxn::cli
