#include "metal/msl/frontend/source_files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "metal/msl/frontend/prelude.h"
#include "metal/msl/frontend/stdlib_files.h"

namespace mlxn::msl {

namespace {

// Names users include; their content is in the prelude already.
constexpr const char* kPublicHeaders[] = {"metal_stdlib",
                                          "metal_algorithm",
                                          "metal_array",
                                          "metal_assert",
                                          "metal_atomic",
                                          "metal_command_buffer",
                                          "metal_common",
                                          "metal_compute",
                                          "metal_config",
                                          "metal_curves",
                                          "metal_extended_vector",
                                          "metal_geometric",
                                          "metal_graphics",
                                          "metal_imageblocks",
                                          "metal_initializer_list",
                                          "metal_integer",
                                          "metal_limits",
                                          "metal_logging",
                                          "metal_math",
                                          "metal_matrix",
                                          "metal_mesh",
                                          "metal_numeric",
                                          "metal_pack",
                                          "metal_packed_vector",
                                          "metal_pull_interpolation",
                                          "metal_quadgroup",
                                          "metal_raytracing",
                                          "metal_relational",
                                          "metal_simdgroup",
                                          "metal_simdgroup_matrix",
                                          "metal_tessellation",
                                          "metal_texture",
                                          "metal_tile",
                                          "metal_tuple",
                                          "metal_type_traits",
                                          "metal_types",
                                          "metal_uniform",
                                          "metal_utility",
                                          "metal_vector",
                                          "metal_visible_function_table"};

// Types under the names host code has for them: outside the prelude, which Metal's own is without.
constexpr const char* kSimdHeaders[] = {"simd/simd.h",         "simd/base.h",
                                        "simd/vector_types.h", "simd/matrix_types.h",
                                        "simd/packed.h",       "simd/types.h"};

// Metal 4 tensor primitives: outside the prelude, since their names are common words.
constexpr const char* kTensorHeaders[] = {"metal_tensor", "metal_cooperative_tensor",
                                          "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
                                          "MetalPerformancePrimitives/MPPTensorOpsMatMul2d.h"};

bool is_below(llvm::StringRef path, llvm::StringRef folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || folder.ends_with("/") || path[folder.size()] == '/');
}

// Shows only paths below the given folders, links resolved.
class RestrictedFileSystem : public llvm::vfs::ProxyFileSystem {
 public:
  explicit RestrictedFileSystem(const std::vector<std::string>& folders)
      : ProxyFileSystem(llvm::vfs::createPhysicalFileSystem()) {
    for (const std::string& folder : folders) {
      llvm::SmallString<256> real;
      if (!ProxyFileSystem::getRealPath(folder, real)) folders_.push_back(std::string(real));
    }
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    if (!is_allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::status(path);
  }

  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(
      const llvm::Twine& path) override {
    if (!is_allowed(path)) return std::make_error_code(std::errc::no_such_file_or_directory);
    return ProxyFileSystem::openFileForRead(path);
  }

 private:
  bool is_allowed(const llvm::Twine& path) {
    llvm::SmallString<256> real;
    if (ProxyFileSystem::getRealPath(path, real)) return false;
    for (const std::string& folder : folders_)
      if (is_below(real, folder)) return true;
    return false;
  }

  std::vector<std::string> folders_;
};

}  // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> make_file_system(
    const std::vector<std::string>& include_dirs, const llvm::MemoryBuffer* prelude) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  auto add = [&](const std::string& name, llvm::StringRef text) {
    std::string path = std::string(kStdlibFolder) + "/" + name;
    memory->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(text, path));
  };
  for (const StdlibFile& file : stdlib_files())
    add(std::string(file.name), llvm::StringRef(file.text.data(), file.text.size()));
  for (const char* name : kPublicHeaders) add(name, "");
  for (const char* name : kSimdHeaders) add(name, "#include \"msl_simd_types.h\"\n");
  for (const char* name : kTensorHeaders) add(name, "#include \"msl_tensor.h\"\n");
  if (prelude)
    memory->addFile(kPreludePch, 0,
                    llvm::MemoryBuffer::getMemBuffer(prelude->getBuffer(), kPreludePch, false));
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      llvm::makeIntrusiveRefCnt<RestrictedFileSystem>(include_dirs));
  overlay->pushOverlay(memory);
  return overlay;
}

}  // namespace mlxn::msl
