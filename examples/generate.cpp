// Answers one message: generate MODEL.gguf MESSAGE. Ends with 1 when there is no answer.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <cstdio>

#include "mlxn/core/device/open_device.h"
#include "mlxn/model/chat.h"

using namespace mlxn;

void show(std::string_view part) {
  std::fwrite(part.data(), 1, part.size(), stdout);
  std::fflush(stdout);
}

Status run(const std::string& path, const std::string& message) {
  MLXN_ASSIGN(const Device device, open_device({.threads = 2}));
  MLXN_ASSIGN(const auto model, model::Model::load(device, path));
  MLXN_ASSIGN(auto tokenizer, text::Tokenizer::create(model->metadata()));
  MLXN_ASSIGN(model::Chat chat, model::Chat::create(model, std::move(tokenizer)));

  model::GenerateOptions options;
  options.sampler.temperature = 0;  // always the likeliest token
  options.max_tokens = 64;
  MLXN_ASSIGN(const auto answer, chat.answer(message, options, {.text = show}));
  std::printf("\n%zu tokens behind %zu of the prompt\n", answer.tokens.size(),
              static_cast<size_t>(answer.prompt_tokens));
  return {};
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MODEL.gguf MESSAGE\n", argv[0]);
    return 1;
  }
  Status status = run(argv[1], argv[2]);
  if (!status) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
