// compat: excluded (the kernel cache is ours)
// Two processes that start at once and share a new cache folder: both compile, write, read and
// evict the same entries, and end while a compilation is still under way.
//   cold_cache ROUNDS [FOLDER]      with a folder: one of the two processes
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Metal/Metal.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mlxn/metal_extensions.hpp>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

namespace fs = std::filesystem;
constexpr int kKernels = 6;

NS::String* string(const std::string& text) {
  return NS::String::string(text.c_str(), NS::UTF8StringEncoding);
}

// Adds a number and sums over a simdgroup; another text for each number.
std::string source(int number) {
  return "#include <metal_stdlib>\nusing namespace metal;\n"
         "kernel void k(device int* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
         "  x[i] = simd_sum(x[i] + " +
         std::to_string(number) + ");\n}\n";
}

bool failed(const char* what, int number, const NS::Error* error) {
  std::fprintf(stderr, "kernel %d: %s: %s\n", number, what,
               error ? error->localizedDescription()->utf8String() : "no error");
  return false;
}

bool run_kernel(MTL::Device* device, MTL::CommandQueue* queue, int number) {
  NS::Error* error = nullptr;
  auto library = NS::TransferPtr(device->newLibrary(
      string(source(number)), static_cast<MTL::CompileOptions*>(nullptr), &error));
  if (!library) return failed("library", number, error);
  auto function = NS::TransferPtr(library->newFunction(string("k")));
  auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  auto data = NS::TransferPtr(device->newBuffer(100 * sizeof(int), MTL::ResourceStorageModeShared));
  if (!state) return failed("pipeline", number, error);
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(data.get(), 0, 0);
  // The last threadgroup is cut off, so that code for a second shape is compiled.
  encoder->dispatchThreads(MTL::Size(100, 1, 1), MTL::Size(64, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->error()) return failed("run", number, commands->error());
  const int* values = static_cast<const int*>(data->contents());
  const bool good = values[0] == 32 * number && values[99] == 4 * number;
  return good || failed("result", values[0], nullptr);
}

bool run_kernels(MTL::Device* device, int first, int step) {
  auto* pool = NS::AutoreleasePool::alloc()->init();
  auto queue = NS::TransferPtr(device->newCommandQueue());
  bool good = true;
  for (int i = 0; i < kKernels; ++i) {
    good &= run_kernel(device, queue.get(), (first + i * step) % kKernels + 1);
  }
  pool->release();
  return good;
}

int worker(const std::string& folder) {
  auto* pool = NS::AutoreleasePool::alloc()->init();
  mlxn::metal::DeviceOptions options;
  options.executor = "cpu";
  options.cache_folder = folder;
  NS::Error* error = nullptr;
  auto device = NS::TransferPtr(mlxn::metal::create_device(options, &error));
  if (!device) return 2;
  bool other = false;
  std::thread thread([&] { other = run_kernels(device.get(), 3, 5); });
  const bool own = run_kernels(device.get(), 0, 1);
  thread.join();
  // Nobody waits for this one.
  device->newLibrary(string(source(1000)), nullptr, [](MTL::Library*, NS::Error*) {});
  pool->release();
  return own && other ? 0 : 1;
}

pid_t start(const char* program, const std::string& folder) {
  std::string self = program, rounds = "0", name = folder;
  char* arguments[] = {self.data(), rounds.data(), name.data(), nullptr};
  pid_t child = -1;
  return posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0 ? child
                                                                                          : -1;
}

bool ended_well(pid_t child, int round) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (status == 0) return true;
  std::fprintf(stderr, "round %d: %s %d\n", round, WIFSIGNALED(status) ? "signal" : "exit code",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return false;
}

int parent(const char* program, int rounds) {
  int failures = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string folder = (fs::temp_directory_path() / "mlxn-cold-XXXXXX").string();
    if (!mkdtemp(folder.data())) return 2;
    // Each second time entries must go again at once.
    setenv("MLXN_CACHE_MAX_BYTES", round % 2 ? "64K" : "1G", 1);
    const pid_t one = start(program, folder), two = start(program, folder);
    failures += !ended_well(one, round);
    failures += !ended_well(two, round);
    fs::remove_all(folder);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return worker(argv[2]);
  if (argc == 2) return parent(argv[0], std::atoi(argv[1]));
  std::fprintf(stderr, "Usage: cold_cache ROUNDS [FOLDER]\n");
  return 2;
}
