#include "metal/rt/trace/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "mlxn/base/byte_codec.h"
#include "mlxn/base/strings.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mlxn::rt {
namespace {

constexpr char kMagic[8] = {'M', 'L', 'X', 'N', 'C', 'A', 'P', '\n'};
constexpr uint64_t kVersion = 1;
constexpr uint64_t kPiece = 1 << 20;
constexpr uint64_t kMaxFields = 1 << 30;  // held in memory, and a file may be larger than that

struct FileHead {
  char magic[8];
  uint64_t version;
};

struct ChunkHead {
  uint64_t kind, fields_size, bulk_size;
};

Error io_error(const std::string& what) {
  const int code = errno;
  return Error(ErrorCode::kIo, str(what, ": ", std::strerror(code)));
}

}  // namespace

static XXH3_state_t* xxh(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

ByteHash::ByteHash() : state_(XXH3_createState()) {
  XXH3_64bits_reset(xxh(state_));
}
ByteHash::~ByteHash() {
  XXH3_freeState(xxh(state_));
}
void ByteHash::add(const void* bytes, uint64_t size) {
  XXH3_64bits_update(xxh(state_), bytes, size);
}
uint64_t ByteHash::value() const {
  return XXH3_64bits_digest(xxh(state_));
}
uint64_t ByteHash::of(const void* bytes, uint64_t size) {
  return XXH3_64bits(bytes, size);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) {
    if (errno == EEXIST) {
      return Error(ErrorCode::kIo, str("'", path, "' exists already, expected a new file"));
    }
    return io_error(str("cannot create '", path, "'"));
  }
  std::unique_ptr<TraceWriter> writer(new TraceWriter(file, path));
  FileHead head{{}, kVersion};
  std::copy(std::begin(kMagic), std::end(kMagic), head.magic);
  MLXN_TRY(writer->append(&head, sizeof head));
  return writer;
}

TraceWriter::~TraceWriter() {
  remove();
}

void TraceWriter::remove() {
  if (file_ < 0) return;
  if (check_path()) unlink(path_.c_str());
  ::close(std::exchange(file_, -1));
}

Status TraceWriter::append(const void* bytes, uint64_t size) {
  auto* at = static_cast<const char*>(bytes);
  while (file_ >= 0 && size != 0) {
    const ssize_t written = ::write(file_, at, std::min<uint64_t>(size, kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      Error error = io_error(str("cannot write to '", path_, "'"));
      remove();
      return error;
    }
    at += written;
    size -= static_cast<uint64_t>(written);
  }
  if (file_ < 0) return Error(ErrorCode::kIo, str("'", path_, "' is closed"));
  return {};
}

Result<uint64_t> TraceWriter::write(Chunk kind, const std::vector<uint8_t>& fields,
                                    std::span<const std::byte> bulk) {
  const ChunkHead head{static_cast<uint64_t>(kind), fields.size(), bulk.size()};
  ByteHash checksum, bulk_hash;
  checksum.add(&head, sizeof head);
  checksum.add(fields.data(), fields.size());
  MLXN_TRY(append(&head, sizeof head));
  MLXN_TRY(append(fields.data(), fields.size()));
  for (uint64_t done = 0; done < bulk.size(); done += kPiece) {
    const auto piece = bulk.subspan(done, std::min(kPiece, bulk.size() - done));
    piece_.assign(piece.begin(), piece.end());
    checksum.add(piece_.data(), piece_.size());
    bulk_hash.add(piece_.data(), piece_.size());
    MLXN_TRY(append(piece_.data(), piece_.size()));
  }
  const uint64_t value = checksum.value();
  MLXN_TRY(append(&value, sizeof value));
  ++chunks_;
  return bulk_hash.value();
}

// Whether the path still names our file.
Status TraceWriter::check_path() const {
  struct stat mine = {}, there = {};
  if (fstat(file_, &mine) == 0 && stat(path_.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
      mine.st_dev == there.st_dev) {
    return {};
  }
  return Error(ErrorCode::kIo, str("'", path_, "' was removed or replaced during the capture"));
}

Status TraceWriter::close() {
  ByteWriter fields;
  fields.number(chunks_);
  MLXN_ASSIGN([[maybe_unused]] const uint64_t hash, write(Chunk::kEnd, fields.out));
  MLXN_TRY(check_path());
  if (::close(std::exchange(file_, -1)) == 0) return {};
  Error error = io_error(str("cannot write to '", path_, "'"));
  unlink(path_.c_str());
  return error;
}

Result<std::unique_ptr<TraceReader>> TraceReader::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return io_error(str("cannot open '", path, "'"));
  struct stat facts = {};
  const bool plain = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  std::unique_ptr<TraceReader> reader(
      new TraceReader(file, plain ? static_cast<uint64_t>(facts.st_size) : 0));
  if (!plain) return Error(ErrorCode::kIo, str("'", path, "' is not a plain file"));
  FileHead head;
  if (!reader->read(&head, sizeof head) || !std::ranges::equal(head.magic, kMagic)) {
    return Error(ErrorCode::kCorruptData, str("'", path, "' is not a capture"));
  }
  if (head.version != kVersion) {
    return Error(ErrorCode::kUnsupported, str("'", path, "' has version ", head.version,
                                              " of the format, expected ", kVersion));
  }
  return reader;
}

TraceReader::~TraceReader() {
  ::close(file_);
}

Error TraceReader::damaged(const std::string& what) const {
  return Error(ErrorCode::kCorruptData,
               str("the capture is cut short or damaged at byte ", position_, ": ", what));
}

Status TraceReader::read(void* bytes, uint64_t size) {
  if (size > left_) return damaged(str(size, " bytes expected, ", left_, " are left"));
  auto* at = static_cast<char*>(bytes);
  while (size != 0) {
    const ssize_t got = pread(file_, at, size, static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot read the capture");
    if (got == 0) return damaged("the file ended while it was read");
    at += got;
    size -= static_cast<uint64_t>(got);
    position_ += static_cast<uint64_t>(got);
    left_ -= static_cast<uint64_t>(got);
  }
  return {};
}

Result<TraceReader::Head> TraceReader::next() {
  ChunkHead head;
  MLXN_TRY(read(&head, sizeof head));
  if (head.kind < static_cast<uint64_t>(Chunk::kLibrary) ||
      head.kind > static_cast<uint64_t>(Chunk::kEnd)) {
    return damaged(str("kind ", head.kind, " of a chunk is not known"));
  }
  if (head.fields_size > std::min(left_, kMaxFields) || head.bulk_size > left_ - head.fields_size) {
    return damaged(str("a chunk of ", head.fields_size, " and ", head.bulk_size, " bytes, but ",
                       left_, " are left"));
  }
  Head out{static_cast<Chunk>(head.kind), std::string(head.fields_size, '\0'), head.bulk_size};
  MLXN_TRY(read(out.fields.data(), out.fields.size()));
  hash_ = std::make_unique<ByteHash>();
  hash_->add(&head, sizeof head);
  hash_->add(out.fields.data(), out.fields.size());
  bulk_left_ = head.bulk_size;
  if (out.kind != Chunk::kEnd) {
    ++chunks_;
    return out;
  }
  ByteReader fields(out.fields);
  const uint64_t count = fields.number();
  MLXN_TRY(read_bulk());
  if (!fields.good || count != chunks_ || left_ != 0) {
    return damaged(str(chunks_, " chunks with ", left_, " bytes after them, expected ", count));
  }
  return out;
}

Status TraceReader::read_bulk(const Take& take) {
  std::vector<std::byte> piece(std::min(bulk_left_, kPiece));
  while (bulk_left_ != 0) {
    const std::span part(piece.data(), std::min(bulk_left_, kPiece));
    MLXN_TRY(read(part.data(), part.size()));
    hash_->add(part.data(), part.size());
    bulk_left_ -= part.size();
    if (take) MLXN_TRY(take(part));
  }
  uint64_t stored = 0;
  MLXN_TRY(read(&stored, sizeof stored));
  if (stored != hash_->value()) return damaged("the checksum of a chunk does not match");
  return {};
}

}  // namespace mlxn::rt
