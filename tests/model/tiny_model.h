// A Llama-type model of some kilobytes with random weights, to be written with or without faults.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "mlxn/io/ggml_types.h"
#include "mlxn/io/gguf_writer.h"
#include "tests/io/temp_folder.h"

namespace mlxn::model {

inline io::MetaValue number(uint64_t value) {
  return {io::MetaType::kU32, value};
}
inline io::MetaValue real(double value) {
  return {io::MetaType::kF32, value};
}
inline io::MetaValue words(std::string value) {
  return {io::MetaType::kString, std::move(value)};
}

struct TinyModel {
  static constexpr uint64_t kHidden = 64, kHeads = 2, kKvHeads = 1, kHeadDim = 32,
                            kFeedForward = 96, kVocabulary = 12, kLayers = 2;
  struct Tensor {
    uint32_t type = 0;           // GGUF's number; 0: f32
    std::vector<uint64_t> dims;  // dims[0] varies fastest
  };
  std::map<std::string, io::MetaValue> metadata;
  std::map<std::string, Tensor> tensors;

  TinyModel() {
    std::vector<std::string> tokens;
    for (uint64_t i = 0; i < kVocabulary; ++i) tokens.push_back(std::string(1, char('a' + i)));
    metadata = {{"general.architecture", words("llama")},
                {"llama.block_count", number(kLayers)},
                {"llama.embedding_length", number(kHidden)},
                {"llama.feed_forward_length", number(kFeedForward)},
                {"llama.attention.head_count", number(kHeads)},
                {"llama.attention.head_count_kv", number(kKvHeads)},
                {"llama.attention.layer_norm_rms_epsilon", real(1e-5)},
                {"llama.context_length", number(128)},
                {"tokenizer.ggml.tokens",
                 {io::MetaType::kArray, io::MetaArray{io::MetaType::kString, tokens}}}};
    tensors = {{"token_embd.weight", {0, {kHidden, kVocabulary}}},
               {"output_norm.weight", {0, {kHidden}}},
               {"output.weight", {0, {kHidden, kVocabulary}}}};
    for (uint64_t i = 0; i < kLayers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      tensors[layer + "attn_norm.weight"] = {0, {kHidden}};
      tensors[layer + "attn_q.weight"] = {0, {kHidden, kHeads * kHeadDim}};
      tensors[layer + "attn_k.weight"] = {0, {kHidden, kKvHeads * kHeadDim}};
      tensors[layer + "attn_v.weight"] = {0, {kHidden, kKvHeads * kHeadDim}};
      tensors[layer + "attn_output.weight"] = {0, {kHeads * kHeadDim, kHidden}};
      tensors[layer + "ffn_norm.weight"] = {0, {kHidden}};
      tensors[layer + "ffn_gate.weight"] = {0, {kHidden, kFeedForward}};
      tensors[layer + "ffn_up.weight"] = {0, {kHidden, kFeedForward}};
      tensors[layer + "ffn_down.weight"] = {0, {kFeedForward, kHidden}};
    }
  }

  // The same numbers for the same tensors each time.
  std::string write(const io::TempFolder& folder) const {
    io::GgufWriter writer;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-0.2f, 0.2f);
    std::vector<std::vector<float>> data;
    data.reserve(tensors.size());
    for (const auto& [name, value] : metadata) EXPECT_TRUE(writer.add(name, value)) << name;
    for (const auto& [name, tensor] : tensors) {
      uint64_t elements = 1;
      for (uint64_t size : tensor.dims) elements *= size;
      std::vector<float>& floats = data.emplace_back(elements);
      for (float& value : floats) value = values(random);
      const io::GgmlType& type = *io::find_ggml_type(tensor.type);
      const auto bytes = std::as_bytes(std::span(floats));  // of other types any will do
      const Status added =
          writer.add_tensor(name, tensor.type, tensor.dims,
                            bytes.first(elements / type.block_elements * type.block_bytes));
      EXPECT_TRUE(added) << added.error().to_string();
    }
    const std::string path = folder.path("tiny.gguf");
    const Status written = writer.write(path);
    EXPECT_TRUE(written) << written.error().to_string();
    return path;
  }
};

}  // namespace mlxn::model
