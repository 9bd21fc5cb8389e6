// Reader of GGUF model files, versions 2 and 3, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/io/mapped_file.h"
#include "mlxn/io/metadata.h"

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

struct TensorInfo {
  std::string name;
  uint32_t type = 0;           // GGUF's number
  std::string_view type_name;  // "q4_0", "unknown"
  std::optional<Dtype> dtype;  // nothing: we cannot compute with it
  std::vector<uint64_t> dims;  // dims[0] varies fastest; up to 4, none for a single value
  uint64_t elements = 0;
  uint64_t bytes = 0;   // 0 when the type is unknown
  uint64_t offset = 0;  // of the first byte, from the start of the part
  uint32_t part = 0;    // which file of a split model
};

// Metadata and tensors of one model. Everything was checked when open() or parse() returns: names
// are unique, every tensor of a known type lies inside its file, aligned, and touches no other.
// Objects are immutable; all functions are thread-safe.
//
// Errors: kIo (the file cannot be read or became shorter), kCorruptData (the bytes are not a valid
// file, or ask for more than the limits), kUnsupported (version 1, newer than 3, big-endian).
class GgufFile {
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
  std::span<const TensorInfo> tensors() const { return tensors_; }  // in the order of the files
  const TensorInfo* find(std::string_view name) const;              // null: no such tensor

  // The bytes of a tensor of this file, without a copy; they live as long as this object and
  // mapping(tensor.part). kUnsupported when the type is unknown.
  Result<std::span<const std::byte>> data(const TensorInfo& tensor) const;

  uint32_t parts() const { return static_cast<uint32_t>(parts_.size()); }
  // The map of a part, to keep it alive or to read it as a whole; null after parse().
  std::shared_ptr<const MappedFile> mapping(uint32_t part) const { return parts_[part].file; }

 private:
  struct Part {
    std::shared_ptr<const MappedFile> file;  // null: `memory` is what there is
    std::span<const std::byte> memory;
  };
  GgufFile() = default;
  static Result<GgufFile> open_part(const std::string& path, const GgufLimits& limits);
  Status open_other_parts(uint64_t count, const GgufLimits& limits);
  Status append(GgufFile&& part, const GgufLimits& limits);
  Status index_tensors();

  uint32_t version_ = 0;
  Metadata metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string_view, size_t> index_;  // names live in tensors_
  std::vector<Part> parts_;
};

}  // namespace mlxn::io
