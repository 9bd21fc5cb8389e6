// mlxn info: what a model file holds.
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/printable.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/gguf.h"

namespace mlxn::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  bool tensors = false, full = false, json = false;
};

constexpr uint64_t kShownElements = 4;
constexpr size_t kShownText = 60;

Json to_json(const io::MetaArray& array, uint64_t most);

Json to_json(const io::MetaValue& value, uint64_t most) {
  return std::visit(
      [&](const auto& data) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(data)>, io::MetaArray>)
          return to_json(data, most);
        else
          return data;
      },
      value.data);
}

Json to_json(const io::MetaArray& array, uint64_t most) {
  Json list = Json::array();
  std::visit(
      [&](const auto& elements) {
        for (const auto& element : elements) {
          if (list.size() >= most) break;
          if constexpr (std::is_same_v<std::decay_t<decltype(element)>, io::MetaArray>)
            list.push_back(to_json(element, most));
          else
            list.push_back(static_cast<std::decay_t<decltype(element)>>(element));
        }
      },
      array.elements);
  return list;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A value on one line, cut unless all of it is wanted.
std::string shown(const io::MetaValue& value, bool full) {
  if (const io::MetaArray* array = value.array(); array && !full && array->size() > kShownElements)
    return str(dump(to_json(value, kShownElements)), " ... ", array->size(), " in all");
  std::string text = dump(to_json(value, UINT64_MAX));
  if (!full && text.size() > kShownText)
    text = str(text.substr(0, kShownText), "... ", text.size() - 2, " bytes");
  return text;
}

std::string gigabytes(uint64_t bytes) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.2f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

struct Totals {
  uint64_t parameters = 0, bytes = 0, unusable = 0;
  std::map<std::string, std::pair<uint64_t, uint64_t>> types;  // tensors, bytes
};

Totals totals_of(const io::GgufFile& file) {
  Totals totals;
  for (const io::TensorInfo& tensor : file.tensors()) {
    totals.parameters += tensor.elements;
    totals.bytes += tensor.bytes;
    totals.unusable += !tensor.dtype;
    auto& [count, bytes] = totals.types[std::string(tensor.type_name)];
    ++count;
    bytes += tensor.bytes;
  }
  return totals;
}

std::string dims_text(const io::TensorInfo& tensor) {
  std::string text;
  for (uint64_t size : tensor.dims) text += str(text.empty() ? "" : " x ", size);
  return text.empty() ? "1" : text;
}

// Keys and values of a context, when the file says what it takes to know.
uint64_t cache_bytes(const io::Metadata& metadata, uint64_t context) {
  const auto name = metadata.text("general.architecture", "");
  auto number = [&](const char* key, uint64_t fallback) {
    return metadata.unsigned_integer(str(*name, ".", key), fallback).value_or(fallback);
  };
  const uint64_t heads = number("attention.head_count", 0);
  if (heads == 0) return 0;
  const uint64_t dim = number("attention.key_length", number("embedding_length", 0) / heads);
  if (context == 0) context = number("context_length", 0);
  return 2 * 2 * number("block_count", 0) * number("attention.head_count_kv", heads) * dim *
         context;
}

void print_text(const Options& options, const io::GgufFile& file) {
  const Totals totals = totals_of(file);
  std::printf("GGUF version %u, %u part(s), %zu metadata entries, %zu tensors\n", file.version(),
              file.parts(), file.metadata().entries().size(), file.tensors().size());
  for (const auto& [name, value] : file.metadata().entries())
    std::printf("  %-44s %-7s %s\n", printable(name).c_str(),
                std::string(to_string(value.type)).c_str(),
                printable(shown(value, options.full)).c_str());
  if (options.tensors) {
    std::printf("tensors\n");
    for (const io::TensorInfo& tensor : file.tensors())
      std::printf("  %-44s %-8s %12" PRIu64 " bytes  %s\n", printable(tensor.name).c_str(),
                  std::string(tensor.type_name).c_str(), tensor.bytes, dims_text(tensor).c_str());
  }
  std::printf("types\n");
  for (const auto& [type, sum] : totals.types)
    std::printf("  %-8s %6" PRIu64 " tensors  %s\n", type.c_str(), sum.first,
                gigabytes(sum.second).c_str());
  std::printf("parameters      %.2f M\n", static_cast<double>(totals.parameters) / 1e6);
  std::printf("weights         %s, on processors copied in another order unless --exact\n",
              gigabytes(totals.bytes).c_str());
  if (const uint64_t cache = cache_bytes(file.metadata(), options.model.context))
    std::printf("KV cache (f16)  %s for a context of %s\n", gigabytes(cache).c_str(),
                options.model.context ? str(options.model.context).c_str() : "the trained length");
  if (totals.unusable)
    std::printf("%" PRIu64 " tensors have a type that no kernel can read\n", totals.unusable);
}

void print_json(const Options& options, const io::GgufFile& file) {
  Json metadata = Json::object(), tensors = Json::array();
  for (const auto& [name, value] : file.metadata().entries())
    metadata[name] = to_json(value, options.full ? UINT64_MAX : kShownElements);
  for (const io::TensorInfo& tensor : file.tensors())
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type_name},
                       {"dims", tensor.dims},
                       {"bytes", tensor.bytes},
                       {"usable", tensor.dtype.has_value()}});
  const Totals totals = totals_of(file);
  const Json all = {{"version", file.version()},
                    {"parts", file.parts()},
                    {"parameters", totals.parameters},
                    {"weight_bytes", totals.bytes},
                    {"cache_bytes", cache_bytes(file.metadata(), options.model.context)},
                    {"metadata", metadata},
                    {"tensors", tensors}};
  std::printf("%s\n", all.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "info", "Shows metadata, tensors, types and the memory a model needs. Loads nothing.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  command->add_option("-c,--context", options->model.context,
                      "context to give the cache's size for");
  command->add_flag("--tensors", options->tensors, "list all tensors");
  command->add_flag("--full", options->full, "whole strings and arrays");
  command->add_flag("--json", options->json, "one JSON object; long arrays are cut without --full");
  command->footer("Exit status: 0 the file is in order, 1 it is not.");
  command->callback([&run, options] {
    run = [options] {
      const auto file = io::GgufFile::open(options->model.path);
      if (!file) return fail("info", file.error());
      options->json ? print_json(*options, *file) : print_text(*options, *file);
      return kGood;
    };
  });
}

}  // namespace mlxn::cli
