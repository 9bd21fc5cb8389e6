// The quantised layout of MLX's safetensors models: `X.weight` holds codes in u32 words, `X.scales`
// and `X.biases` one number for each group of a row; value = scale * code + bias.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mlxn/base/result.h"
#include "mlxn/io/safetensors.h"

namespace mlxn::io {

// What config.json says under "quantization".
struct MlxFormat {
  uint32_t group_size = 64;  // elements that share a scale: a multiple of 8
  uint32_t bits = 4;         // of a code: 2, 3, 4, 5, 6 or 8
};
struct MlxQuantisation {
  MlxFormat common;
  // Layers with a format of their own; nothing: not quantised.
  std::map<std::string, std::optional<MlxFormat>, std::less<>> layers;

  std::optional<MlxFormat> format_of(std::string_view layer) const;
};

// The text of config.json. Nothing when the model is not quantised. kCorruptData for values that
// are not possible, kUnsupported for a mode other than "affine".
Result<std::optional<MlxQuantisation>> read_mlx_quantisation(std::string_view config);

// A quantised matrix: rows x columns values.
struct MlxMatrix {
  const TensorInfo* weight = nullptr;
  const TensorInfo* scales = nullptr;
  const TensorInfo* biases = nullptr;
  MlxFormat format;
  uint64_t rows = 0;
  uint64_t columns = 0;
};

// The matrix of a layer ("model.layers.0.mlp.up_proj"). Nothing when the layer has no scales; all
// three shapes and dtypes are checked against the format (kCorruptData).
Result<std::optional<MlxMatrix>> find_mlx_matrix(const SafetensorsFile& file,
                                                 std::string_view layer,
                                                 const MlxQuantisation& quantisation);

// All values, row by row, computed in f32. values.size() must be rows * columns.
Status dequantise(const SafetensorsFile& file, const MlxMatrix& matrix, std::span<float> values);

}  // namespace mlxn::io
