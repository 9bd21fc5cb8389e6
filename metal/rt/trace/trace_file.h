// The file of a frame capture.
//
// It begins with a magic word and a version; chunks follow, up to the last one, kEnd. A chunk is
// its kind, the size of its fields and the size of its bulk (three 64-bit numbers), then the fields
// (byte_codec.h), the bulk, and a checksum of all that. Libraries, pipelines and memories are
// numbered in the order of their chunks.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::rt {

enum class Chunk : uint64_t {
  kLibrary = 1,  // bulk: the library container
  kPipeline,     // library, function, reads addresses, limits, constants
  kMemory,       // label; bulk: contents before the first use
  kContents,     // memory; bulk: what the host made of it before the next list
  kList,         // label, first of its command buffer, inline bytes, commands
  kFinal,        // memory, what is known, hash, ranges not to compare; bulk: contents at the end
  kEnd,          // number of chunks before it
};

// How commands of a kList chunk begin.
enum class TracedCommand : uint64_t { kDispatch = 1, kCopy, kFill, kBarrier };
// In place of a memory's number: bytes of the list; no indirect buffer.
inline constexpr uint64_t kNoMemory = ~uint64_t{0};
// What a kFinal chunk knows.
enum class FinalKind : uint64_t { kContents, kHash };

// A running hash of bytes.
class ByteHash {
 public:
  ByteHash();
  ~ByteHash();
  void add(const void* bytes, uint64_t size);
  uint64_t value() const;
  static uint64_t of(const void* bytes, uint64_t size);

 private:
  void* const state_;
};

// Writes a new file. The first failure sticks and removes the file.
class TraceWriter {
 public:
  // Fails when the path exists or cannot be created.
  static Result<std::unique_ptr<TraceWriter>> create(const std::string& path);
  ~TraceWriter();  // removes the file unless close() succeeded

  // Returns the hash of the bulk. The bulk may change meanwhile: file and hash are of one state.
  Result<uint64_t> write(Chunk kind, const std::vector<uint8_t>& fields,
                         std::span<const std::byte> bulk = {});
  // Adds the end.
  Status close();

 private:
  TraceWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}
  Status append(const void* bytes, uint64_t size);
  Status check_path() const;
  void remove();

  int file_;
  const std::string path_;
  uint64_t chunks_ = 0;
  std::vector<std::byte> piece_;
};

// Reads a file whose contents are not to be trusted: every size is checked against what is left.
class TraceReader {
 public:
  static Result<std::unique_ptr<TraceReader>> open(const std::string& path);
  ~TraceReader();

  struct Head {
    Chunk kind = Chunk::kEnd;
    std::string fields;
    uint64_t bulk_size = 0;
  };
  // The next chunk without its bulk, which read_bulk must take before the next call. The fields can
  // be trusted only after read_bulk.
  Result<Head> next();
  using Take = std::function<Status(std::span<const std::byte>)>;
  // Hands the bulk over in pieces and verifies the checksum of the chunk.
  Status read_bulk(const Take& take = {});

 private:
  TraceReader(int file, uint64_t size) : file_(file), left_(size) {}
  Status read(void* bytes, uint64_t size);
  Error damaged(const std::string& what) const;

  int file_;
  uint64_t left_;
  uint64_t position_ = 0;
  uint64_t bulk_left_ = 0;
  uint64_t chunks_ = 0;
  std::unique_ptr<ByteHash> hash_;
};

}  // namespace mlxn::rt
