// Usage: gguf_copy IN OUT [ALIGNMENT]
// Reads a GGUF file and writes all it says, with our reader and our writer.
#include <cstdio>
#include <cstdlib>

#include "mlxn/io/gguf.h"
#include "mlxn/io/gguf_writer.h"

namespace {

mlxn::Status copy(const char* from, const char* to, uint64_t alignment) {
  MLXN_ASSIGN(const auto file, mlxn::io::GgufFile::open(from));
  mlxn::io::GgufWriter writer(alignment);
  for (const auto& [name, value] : file.metadata().entries()) {
    if (name != "general.alignment") MLXN_TRY(writer.add(name, value));
  }
  for (const auto& tensor : file.tensors()) {
    MLXN_ASSIGN(const auto bytes, file.data(tensor));
    MLXN_TRY(writer.add_tensor(tensor.name, tensor.type, tensor.dims, bytes));
  }
  return writer.write(to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  const auto done = copy(argv[1], argv[2], argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 32);
  if (!done) std::printf("%s\n", done.error().to_string().c_str());
  return done ? 0 : 1;
}
