// Binary form of compiled kernels. Each structure lists its fields once, in visit(); the writer and
// the reader are two archives that walk the same list, so they cannot disagree.
#include <cstring>
#include <type_traits>

#include "metal/msl/interface.h"
#include "mlxn/base/byte_codec.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {
namespace {

constexpr uint32_t kImageMagic = 0x494e584d;    // "MXNI"
constexpr uint32_t kLibraryMagic = 0x4c4e584d;  // "MXNL"
constexpr uint32_t kFormatVersion = 5;

class Writer {
 public:
  static constexpr bool kReads = false;

  void bytes(const void* data, size_t size) { writer_.raw(data, size); }
  bool count(size_t& n, size_t) {
    writer_.number(n);
    return true;
  }
  bool failed() const { return false; }
  std::vector<uint8_t> take() { return std::move(writer_.out); }

 private:
  ByteWriter writer_;
};

// The first problem sticks; later reads then do nothing.
class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(const std::vector<uint8_t>& in)
      : reader_({reinterpret_cast<const char*>(in.data()), in.size()}) {}

  void bytes(void* data, size_t size) {
    if (failed()) return;
    if (size > left()) return fail(str("needs ", size, " bytes, only ", left(), " are left"));
    const std::string_view taken = reader_.take(size);
    if (size > 0) std::memcpy(data, taken.data(), size);
  }
  // Reads a number of elements; each takes at least min_bytes of what is left.
  bool count(size_t& n, size_t min_bytes) {
    uint64_t wide = 0;
    bytes(&wide, sizeof(wide));
    if (!failed() && wide > left() / min_bytes) {
      fail(str("count ", wide, " does not fit into the ", left(), " bytes left"));
    }
    n = failed() ? 0 : static_cast<size_t>(wide);
    return !failed();
  }
  void fail(const std::string& what) {
    if (!failed()) problem_ = str("at byte ", reader_.position(), ": ", what);
  }
  bool failed() const { return !problem_.empty(); }
  const std::string& problem() const { return problem_; }
  size_t left() const { return reader_.left(); }

 private:
  ByteReader reader_;
  std::string problem_;
};

template <class Archive, class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
void field(Archive& archive, T& value) {
  archive.bytes(&value, sizeof(value));
}

// A value below `limit` in one byte: enums and flags.
template <class Archive, class T>
void small_field(Archive& archive, T& value, unsigned limit) {
  uint8_t byte = Archive::kReads ? 0 : static_cast<uint8_t>(value);
  archive.bytes(&byte, 1);
  if constexpr (Archive::kReads) {
    if (byte >= limit) return archive.fail(str("value ", int{byte}, ", expected below ", limit));
    value = static_cast<T>(byte);
  }
}

template <class Archive>
void field(Archive& archive, bool& value) {
  small_field(archive, value, 2);
}

template <class Archive>
void field(Archive& archive, std::string& value) {
  size_t n = value.size();
  if (!archive.count(n, 1)) return;
  if constexpr (Archive::kReads) value.resize(n);
  archive.bytes(value.data(), n);
}

template <class Archive>
void field(Archive& archive, std::vector<uint8_t>& value) {
  size_t n = value.size();
  if (!archive.count(n, 1)) return;
  if constexpr (Archive::kReads) value.resize(n);
  archive.bytes(value.data(), n);
}

template <class Archive, class T>
void field(Archive& archive, std::vector<T>& values) {
  size_t n = values.size();
  if (!archive.count(n, 8)) return;  // every structure below starts with a string: 8 bytes or more
  // Elements are added one by one, so a false count costs no more memory than its bytes allow.
  for (size_t i = 0; i < n && !archive.failed(); ++i) {
    if constexpr (Archive::kReads) values.emplace_back();
    visit(archive, values[i]);
  }
}

template <class Archive, class... Fields>
void fields(Archive& archive, Fields&... values) {
  (field(archive, values), ...);
}

template <class Archive>
void visit(Archive& archive, FunctionConstant& c) {
  fields(archive, c.name, c.type, c.index, c.required);
}

template <class Archive>
void visit(Archive& archive, FunctionInfo& f) {
  fields(archive, f.name, f.constants);
}

template <class Archive>
void visit(Archive& archive, MemberInfo& m) {
  fields(archive, m.name, m.offset, m.type, m.array_length, m.stride, m.id, m.id_stride);
}

template <class Archive>
void visit(Archive& archive, ArgumentInfo& a) {
  field(archive, a.name);
  small_field(archive, a.kind, 2);
  small_field(archive, a.access, 3);
  fields(archive, a.index, a.active, a.is_reference, a.is_constant_space, a.data_size, a.alignment,
         a.type, a.members);
}

template <class Archive>
void visit(Archive& archive, Kernel& k) {
  fields(archive, k.name, k.symbol);
  small_field(archive, k.tier, 4);
  fields(archive, k.arguments, k.static_threadgroup_bytes, k.frame_bytes, k.max_total_threads,
         k.required_threads[0], k.required_threads[1], k.required_threads[2], k.context_bytes,
         k.context_bytes_per_simdgroup);
  small_field(archive, k.shape.kind, 3);
  fields(archive, k.shape.size[0], k.shape.size[1], k.shape.size[2], k.grid_only);
}

template <class Archive>
void visit(Archive& archive, Image& image) {
  fields(archive, image.target, image.code, image.kernels);
}

template <class Archive>
void visit(Archive& archive, LibraryInfo& info) {
  fields(archive, info.functions, info.constants, info.warnings);
}

template <class T>
std::vector<uint8_t> write(const T& value, uint32_t magic) {
  Writer writer;
  uint32_t version = kFormatVersion;
  fields(writer, magic, version);
  visit(writer, const_cast<T&>(value));  // a Writer only reads its fields
  return writer.take();
}

template <class T>
Result<T> read(const std::vector<uint8_t>& bytes, uint32_t magic, const char* what) {
  Reader reader(bytes);
  uint32_t found_magic = 0, found_version = 0;
  fields(reader, found_magic, found_version);
  if (!reader.failed() && found_magic != magic) {
    reader.fail(str("magic ", found_magic, ", expected ", magic));
  }
  if (!reader.failed() && found_version != kFormatVersion) {
    reader.fail(str("format version ", found_version, ", expected ", kFormatVersion));
  }
  T value;
  visit(reader, value);
  if (!reader.failed() && reader.left() > 0) reader.fail(str(reader.left(), " bytes too many"));
  if (reader.failed()) return Error(ErrorCode::kCorruptData, str(what, " ", reader.problem()));
  return value;
}

}  // namespace

std::vector<uint8_t> serialize(const Image& image) {
  return write(image, kImageMagic);
}
std::vector<uint8_t> serialize(const LibraryInfo& info) {
  return write(info, kLibraryMagic);
}

Result<Image> parse_image(const std::vector<uint8_t>& bytes) {
  return read<Image>(bytes, kImageMagic, "kernel image");
}

Result<LibraryInfo> parse_library_info(const std::vector<uint8_t>& bytes) {
  return read<LibraryInfo>(bytes, kLibraryMagic, "library description");
}

std::string Target::to_key() const {
  return str(kind == Kind::kCpu ? "cpu" : "ptx", ";", cpu, ";", features);
}

}  // namespace mlxn::msl
