// The compiler's whole interface. No LLVM or Clang type appears here: the implementation lives in a
// module of its own that is loaded on first use (see module.h), so a program whose kernels are all
// in the cache never loads LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::msl {

enum class MathMode { kSafe, kRelaxed, kFast };

struct Macro {
  std::string name;
  std::string value;
};

struct CompileOptions {
  std::vector<Macro> macros;
  MathMode math_mode = MathMode::kSafe;
  uint32_t language_version = 0x30002;         // major << 16 | minor, as MTL::LanguageVersion
  std::vector<std::string> include_dirs;       // #include "file" is limited to these
  std::string source_name = "program_source";  // shown in diagnostics
};

// Numeric values equal MTL::DataType, so that the runtime passes them through.
using DataType = uint32_t;

// A [[function_constant(n)]] of a library.
struct FunctionConstant {
  std::string name;
  DataType type = 0;
  uint32_t index = 0;
  bool required = true;  // false if only used behind is_function_constant_defined
};

// Value for a function constant, found by name when `name` is not empty, else by index.
struct ConstantValue {
  std::string name;
  uint32_t index = 0;
  DataType type = 0;
  uint8_t bytes[16] = {};  // little endian, as MSL lays the type out
};

struct FunctionInfo {
  std::string name;                         // host name
  std::vector<FunctionConstant> constants;  // those the function depends on
};

struct LibraryInfo {
  std::vector<FunctionInfo> functions;      // in order of appearance
  std::vector<FunctionConstant> constants;  // all that the source declares
  std::string warnings;                     // diagnostics that are not errors
};

enum class ArgumentKind : uint8_t { kBuffer, kThreadgroupMemory };
enum class Access : uint8_t { kReadOnly, kReadWrite, kWriteOnly };

// A member of a struct argument; nested structs name their members "outer.inner".
struct MemberInfo {
  std::string name;
  uint64_t offset = 0;
  DataType type = 0;
  uint32_t array_length = 0;  // 0 when not an array; that of all dimensions together
  uint64_t stride = 0;        // size of an element; of the member when not an array
  // The index in an argument buffer, of the first element; a struct's is that of its first member.
  uint32_t id = 0, id_stride = 1;
};

struct ArgumentInfo {
  std::string name;
  ArgumentKind kind = ArgumentKind::kBuffer;
  Access access = Access::kReadWrite;
  uint32_t index = 0;
  bool active = true;         // still used after optimisation
  bool is_reference = false;  // T& : the bound range must hold at least data_size bytes
  bool is_constant_space = false;
  uint64_t data_size = 0;  // size and alignment of the pointee
  uint64_t alignment = 1;
  DataType type = 0;
  std::vector<MemberInfo> members;  // when the pointee is a struct
};

// How the CPU runs a kernel; numbers are the tiers of the design.
enum class Tier : uint8_t {
  kWorkItemLoop = 0,   // no cross-lane operation: a loop over all threads
  kRegions = 1,        // loops over lanes between cross-lane operations, control flow kept once
  kMaskedRegions = 2,  // the same, with the place each lane has reached kept for each lane
  kCoroutine = 3,      // threads that suspend
};

// The threadgroup sizes code is made for. Tiers 0 and 3 always make code for any size.
struct Shape {
  enum class Kind : uint8_t {
    kFlat32 = 0,  // n x 1 x 1 threads, n a multiple of 32
    kExact = 1,   // size[0] x size[1] x size[2] threads, no others
    kAny = 2,
  };
  Kind kind = Kind::kFlat32;
  uint32_t size[3] = {0, 0, 0};  // kExact only

  bool covers(const uint32_t threads[3]) const {
    switch (kind) {
      case Kind::kFlat32: return threads[0] % 32 == 0 && threads[1] == 1 && threads[2] == 1;
      case Kind::kExact:
        return threads[0] == size[0] && threads[1] == size[1] && threads[2] == size[2];
      default: return true;
    }
  }
  bool operator==(const Shape&) const = default;
};

// One compiled entry point inside an Image.
struct Kernel {
  std::string name;    // host name
  std::string symbol;  // in the object code
  Tier tier = Tier::kCoroutine;
  std::vector<ArgumentInfo> arguments;
  uint64_t static_threadgroup_bytes = 0;
  uint64_t frame_bytes = 0;  // coroutine tier: per thread, multiple of 64
  // Tiers 1 and 2: the size of MslThreadgroup::context is the first plus the second for each
  // simdgroup present. Multiples of 64.
  uint64_t context_bytes = 0, context_bytes_per_simdgroup = 0;
  Shape shape{Shape::Kind::kAny};  // the threadgroups it may run
  // Tier 0: threads see the grid but nothing of their threadgroup, so neighbours along x may run as
  // one threadgroup (of at most 1024 threads along x, more in all).
  bool grid_only = false;
  uint32_t max_total_threads = 1024;
  uint32_t required_threads[3] = {0, 0, 0};  // reqd_work_group_size equivalent, 0 when free
};

// Compiled code: an ELF relocatable object (cpu) or PTX text (ptx) with its kernels.
struct Image {
  std::string target;  // Target::to_key() of what it was made for
  std::vector<uint8_t> code;
  std::vector<Kernel> kernels;
};

// Binary form for the disk cache. parse() checks every count and span.
std::vector<uint8_t> serialize(const Image& image);
Result<Image> parse_image(const std::vector<uint8_t>& bytes);
std::vector<uint8_t> serialize(const LibraryInfo& info);
Result<LibraryInfo> parse_library_info(const std::vector<uint8_t>& bytes);

struct Target {
  enum class Kind { kCpu, kPtx } kind = Kind::kCpu;
  std::string cpu;       // LLVM name, e.g. "x86-64-v3", or "native"; for ptx "sm_90"
  std::string features;  // LLVM feature string, may be empty
  std::string to_key() const;
};

// kLoweredIr: the code of the tiers before it is optimised. kExplanation: which tier each kernel
// takes and why, with source lines.
enum class Emit { kCode, kLlvmIr, kLoweredIr, kAssembly, kExplanation };

struct CompileRequest {
  std::vector<std::string> entry_points;  // host names; empty = all
  std::vector<ConstantValue> constants;
  Target target;
  Shape shape;              // cpu: threadgroup sizes to compile for
  Emit emit = Emit::kCode;  // all others: Image::code holds the text
  bool allow_unset_constants =
      false;             // compile kernels whose constants have no value (checking only)
  int forced_tier = -1;  // the lowest tier to use, where a kernel allows it; -1: 0
  // False: coroutines of code as the front end made it, by which optimised code can be judged, with
  // memory that nobody writes around private arrays.
  bool optimise = true;
  std::string libdevice;  // ptx: bitcode with NVIDIA's math functions; empty: calls stay external
};

// A library: source that has been preprocessed, indexed and checked once. Immutable; compile() may
// be called from several threads.
class Library {
 public:
  virtual ~Library() = default;
  virtual const LibraryInfo& info() const = 0;
  virtual Result<Image> compile(const CompileRequest& request) const = 0;
};

// A file that a source includes, directly (depth 1) or through others. Built-in headers are no
// files.
struct IncludedFile {
  std::string path;
  uint32_t depth = 1;
};

struct Preprocessed {
  std::string text;  // compiles on its own, to the same as the source it was made from
  std::vector<IncludedFile> files;  // in the order they are entered; each once for each time
};

struct PreprocessRequest {
  bool line_marks = true;  // #line directives, so that diagnostics still name the user's files
  bool comments = false;   // keep them
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  // Fails with kCompileFailed; the message holds diagnostics "file:line:column: error: text".
  virtual Result<std::unique_ptr<Library>> create_library(std::string_view source,
                                                          const CompileOptions& options) const = 0;
  // Names of the kernels in a source, from its tokens alone: nothing is parsed or checked.
  virtual Result<std::vector<std::string>> entry_points(std::string_view source,
                                                        const CompileOptions& options) const = 0;
  // Expands macros and includes, for tools on a developer's own machine: unlike those of
  // create_library, includes may lead to any file. Relative names are looked for in include_dirs.
  virtual Result<Preprocessed> preprocess(std::string_view source, const CompileOptions& options,
                                          const PreprocessRequest& request) const = 0;
  // All kernels of a source with their arguments. Bodies of templates are not looked at, and no
  // code is made: what only code tells, such as tiers and unused arguments, keeps its default.
  virtual Result<std::vector<Kernel>> kernels(std::string_view source,
                                              const CompileOptions& options) const = 0;
  // Changes whenever generated code may change; part of every cache key.
  virtual std::string version() const = 0;
};

}  // namespace mlxn::msl
