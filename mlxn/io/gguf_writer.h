// Writer of GGUF model files, version 3, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/io/metadata.h"

namespace mlxn::io {

// Collects metadata and tensors, then writes all of it. What is added is checked by the rules of
// the reader (kInvalidArgument), so that every file that is written can be read. Not thread-safe.
class GgufWriter {
 public:
  // Gives the bytes of a tensor when they are written; they must stay until the next call of any
  // source or the end of the write.
  using TensorSource = std::function<Result<std::span<const std::byte>>()>;

  // Tensors start at multiples of `alignment`, a power of two. One other than GGUF's own 32 is
  // written as metadata "general.alignment".
  explicit GgufWriter(uint64_t alignment = 32) : alignment_(alignment) {}

  // Integers must fit the type they are marked with, and the elements of an array its type.
  Status add(std::string name, MetaValue value);
  // `type` is GGUF's number; dims[0] varies fastest. Borrowed bytes must stay until the write.
  Status add_tensor(std::string name, uint32_t type, std::vector<uint64_t> dims,
                    std::span<const std::byte> bytes);
  Status add_tensor(std::string name, uint32_t type, std::vector<uint64_t> dims,
                    TensorSource source);
  // The same with a type by our name; kUnsupported when GGUF has none for it.
  Status add_tensor(std::string name, Dtype dtype, std::vector<uint64_t> dims,
                    std::span<const std::byte> bytes);

  // Writes a file beside `path` and renames it, so that `path` is the old file or the whole new
  // one. On failure (kIo, or the error of a source) the new file is removed.
  Status write(const std::string& path) const;
  Result<std::vector<std::byte>> to_bytes() const;

 private:
  struct Tensor {
    std::string name;
    uint32_t type;
    std::vector<uint64_t> dims;
    uint64_t bytes;
    uint64_t offset;  // from the start of the data
    TensorSource source;
  };
  using Sink = std::function<Status(std::span<const std::byte>)>;
  std::vector<std::byte> head() const;
  Status write_to(const Sink& sink) const;

  uint64_t alignment_;
  uint64_t data_bytes_ = 0;
  Metadata metadata_;
  std::vector<Tensor> tensors_;
  std::set<std::string> tensor_names_;
};

}  // namespace mlxn::io
