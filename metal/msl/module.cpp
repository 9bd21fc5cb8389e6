#include "metal/msl/module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <mutex>

#include "metal/msl/code_version.h"  // made by the build
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {
namespace {

constexpr const char* kModuleFile = "libmlxn_msl.so";
constexpr const char* kModuleSymbol = "mlxn_msl_compiler";

// Folder of the binary this code is part of, with a slash at its end; empty when unknown.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&code_version), &info) == 0 || !info.dli_fname)
    return {};
  // A program that was found through PATH or a link is known here by that name alone.
  std::error_code failed;
  std::string path = std::filesystem::canonical(
      std::strchr(info.dli_fname, '/') ? info.dli_fname : "/proc/self/exe", failed);
  return failed ? std::string() : path.substr(0, path.rfind('/') + 1);
}

Result<const Compiler*> load_module() {
  MLXN_ASSIGN(const ModulePlace place, find_module());
  const std::string& path = place.path;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return Error(ErrorCode::kUnsupported, str("cannot load the MSL compiler: ", dlerror()));
  }
  auto entry = reinterpret_cast<CompilerEntry>(dlsym(handle, kModuleSymbol));
  if (!entry) {
    dlclose(handle);
    return Error(ErrorCode::kUnsupported, str(path, " has no symbol ", kModuleSymbol));
  }
  const std::string version = code_version();
  if (const Compiler* found = entry(version.c_str())) return found;
  dlclose(handle);
  return Error(ErrorCode::kInvalidState,
               str(path, " is of another build: this library expects version ", version));
}

}  // namespace

std::string code_version() {
  return MLXN_MSL_CODE_VERSION;
}

Result<ModulePlace> find_module() {
  if (std::string path = setting_string(Setting::kMslModule); !path.empty()) {
    return ModulePlace{path, "setting msl_module"};
  }
  const std::string folder = own_folder();
  const ModulePlace places[] = {{folder + kModuleFile, "beside the library"},
                                {folder + "../lib/" + kModuleFile, "in ../lib"}};
  for (const ModulePlace& place : places) {
    if (access(place.path.c_str(), R_OK) == 0) return place;
  }
  return Error(ErrorCode::kUnsupported,
               str("the MSL compiler ", kModuleFile, " lies neither in ", folder, " nor in ",
                   folder, "../lib/; set MLXN_MSL_MODULE to its path"));
}

Result<const Compiler*> compiler() {
  static std::mutex mutex;
  static const Compiler* loaded = nullptr;
  std::lock_guard lock(mutex);
  if (!loaded) {
    MLXN_ASSIGN(loaded, load_module());
  }
  return loaded;
}

}  // namespace mlxn::msl
