// The table of kernel sources that the build makes.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

// Every file below mlxn/ops is in the table, and every kernel in it compiles.
TEST(BuiltinKernels, AllCompile) {
  OpDevice& on = *op_devices().front();
  EXPECT_EQ(on.kernels().source_count(), builtin_kernels().size());
  auto names = on.kernels().kernel_names(on.device);
  ASSERT_TRUE(names) << names.error().to_string();
  EXPECT_GE(names->size(), 95u);
  std::vector<PipelineRequest> requests;
  for (const std::string& name : *names) requests.push_back({name});
  const Status status = on.kernels().prewarm(on.device, requests);
  EXPECT_TRUE(status) << status.error().to_string();
}

// What the build compiled serves all machines: nothing is left to the compiler on any level.
TEST(BuiltinKernels, EveryLevelHasItsCode) {
  const bool compiled = !builtin_archives().empty();  // a choice of the build
  for (const char* level : {"x86-64", "x86-64-v2"}) {
    ScopedSetting target(Setting::kCpuTarget, level);
    ScopedSetting tier(Setting::kCpuTier, "-1");  // the build compiles for no forced tier
    NS::Error* error = nullptr;
    metal::DeviceOptions options;
    options.executor = "cpu";
    options.cache = false;
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto owned = NS::TransferPtr(metal::create_device(options, &error));
    ASSERT_TRUE(owned) << level;
    auto device = Device::wrap(owned.get());
    ASSERT_TRUE(device);
    KernelRegistry& registry = builtin_registry(*device);
    auto names = registry.kernel_names(*device);
    ASSERT_TRUE(names) << names.error().to_string();
    ASSERT_TRUE(registry.prewarm(*device, {{names->front()}, {names->back()}}));
    EXPECT_EQ(metal::cache_counters(owned.get()).misses == 0, compiled) << level;
  }
}

// They are a part of every program.
TEST(BuiltinKernels, ArchivesStaySmall) {
  size_t bytes = 0;
  for (const auto& archive : builtin_archives()) bytes += archive.size();
  EXPECT_LT(bytes, 12'000'000u);
}

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Messages of the compiler name the file and line that a person edits.
TEST(BuiltinKernels, LineMarksAreRight) {
  size_t marks = 0;
  for (const BuiltinKernels& file : builtin_kernels()) {
    std::istringstream stream{std::string(file.text)};
    const auto text = lines_of(stream);
    std::vector<std::string> source;
    size_t number = 0;
    for (const std::string& line : text) {
      EXPECT_FALSE(line.starts_with("#include \"")) << line;
      char path[256];
      if (std::sscanf(line.c_str(), "#line %zu \"%255[^\"]\"", &number, path) == 2) {
        std::ifstream in(str(MLXN_SOURCE_DIR "/", path));
        source = lines_of(in);
        ++marks;
        continue;
      }
      ASSERT_LE(number, source.size()) << file.name;
      if (!line.empty()) {
        EXPECT_EQ(line, source[number - 1]);
      }
      ++number;
    }
  }
  EXPECT_GE(marks, 3 * builtin_kernels().size());
}

}  // namespace
}  // namespace mlxn::test
