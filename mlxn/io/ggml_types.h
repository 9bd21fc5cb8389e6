// The tensor types of GGUF files, also those that nothing here can compute with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mlxn/base/dtype.h"

namespace mlxn::io {

struct GgmlType {
  uint32_t number;          // as in the file
  std::string_view name;    // "q4_0"; a Dtype of the same layout has the same name
  uint32_t block_elements;  // 0: the layout is gone from the format, the size is unknown
  uint32_t block_bytes;
  std::optional<Dtype> dtype;
};

std::span<const GgmlType> ggml_types();
const GgmlType* find_ggml_type(uint32_t number);  // null: unknown
const GgmlType* find_ggml_type(Dtype dtype);      // null: GGUF has no such type

}  // namespace mlxn::io
