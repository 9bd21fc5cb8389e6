// Reader of safetensors model files: one file, or several named by an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mlxn/base/result.h"
#include "mlxn/io/mapped_file.h"
#include "mlxn/io/tensor_table.h"

namespace mlxn::io {

// What a file may ask for.
struct SafetensorsLimits {
  uint64_t header_bytes = uint64_t{32} << 20;  // of a file's header, and of an index
  uint64_t tensors = 1 << 18;                  // of all files together
  uint32_t dims = 8;
  uint32_t files = 4096;
};

// Tensors of one model. Everything was checked when open() or parse() returns: names are unique,
// every tensor has the size its shape and dtype ask for, and the tensors of a file cover its data
// without holes or overlaps. Immutable; all functions are thread-safe.
//
// A TensorInfo here has dims[0] varying fastest, as in GGUF: the shape of the file backwards.
// `type_name` is the file's ("BF16"), `type` is 0. A dtype whose size is not known leaves a tensor
// without data.
//
// Errors: kIo and kCorruptData, as in GgufFile.
class SafetensorsFile : public TensorTable {
 public:
  SafetensorsFile(SafetensorsFile&&) = default;
  SafetensorsFile& operator=(SafetensorsFile&&) = default;

  // A file, an index ("*.json"), or a folder with model.safetensors.index.json or
  // model.safetensors. Files of an index lie beside it.
  static Result<SafetensorsFile> open(const std::string& path,
                                      const SafetensorsLimits& limits = {});
  // One file in memory, which must outlive the result.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes,
                                       const SafetensorsLimits& limits = {});

  // "__metadata__" of the first file.
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  SafetensorsFile() = default;
  static Result<SafetensorsFile> open_one(const std::string& path, const SafetensorsLimits& limits);
  static Result<SafetensorsFile> open_index(const std::string& path,
                                            const SafetensorsLimits& limits);

  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace mlxn::io
