// Reader of GGUF model files, versions 2 and 3, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mlxn/base/result.h"
#include "mlxn/io/mapped_file.h"
#include "mlxn/io/metadata.h"
#include "mlxn/io/tensor_table.h"

namespace mlxn::io {

// What a file may ask for. Counts are also bounded by the bytes that are there.
struct GgufLimits {
  uint64_t metadata_entries = 1 << 16;
  uint64_t metadata_memory = uint64_t{512} << 20;  // bytes that all values take in memory
  uint64_t name_bytes = 65535;                     // of a metadata entry or a tensor
  uint64_t tensors = 1 << 18;                      // of all parts together
  uint32_t array_depth = 4;                        // 1: arrays of scalars
  uint64_t alignment = 1 << 20;
  uint32_t parts = 4096;
};

// Metadata and tensors of one model. Everything was checked when open() or parse() returns: names
// are unique, every tensor of a known type lies inside its file, aligned, and touches no other.
// Objects are immutable; all functions are thread-safe.
//
// Errors: kIo (the file cannot be read or became shorter), kCorruptData (the bytes are not a valid
// file, or ask for more than the limits), kUnsupported (version 1, newer than 3, big-endian).
class GgufFile : public TensorTable {
 public:
  GgufFile(GgufFile&&) = default;
  GgufFile& operator=(GgufFile&&) = default;

  // Maps the file. The first part of a split model ("name-00001-of-00003.gguf") opens all parts;
  // the metadata is that of the first.
  static Result<GgufFile> open(const std::string& path, const GgufLimits& limits = {});
  // One file in memory, which must outlive the result. Parts of a split model stand alone here.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, const GgufLimits& limits = {});

  const Metadata& metadata() const { return metadata_; }
  uint32_t version() const { return version_; }

 private:
  GgufFile() = default;
  Status open_other_parts(const std::string& path, uint64_t count, const GgufLimits& limits);

  uint32_t version_ = 0;
  Metadata metadata_;
};

}  // namespace mlxn::io
