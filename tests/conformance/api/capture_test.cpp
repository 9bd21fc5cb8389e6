// Frame captures and their replay.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "api_test.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mlxn_test {
namespace {

using ::mlxn::metal::replay_capture;
using ::mlxn::metal::ReplayReport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSource = R"(
#include <metal_stdlib>
using namespace metal;
constant int scale [[function_constant(0)]];
struct Settings { uint count; int add; };

kernel void multiply(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                     constant Settings& settings [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  if (i < settings.count) out[i] = in[i] * scale + settings.add;
}

kernel void sum(device const int* in [[buffer(0)]], device atomic_int* out [[buffer(1)]],
                threadgroup int* tile [[threadgroup(0)]],
                uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]],
                uint g [[thread_position_in_grid]]) {
  tile[i] = in[g];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i != 0) return;
  int total = 0;
  for (uint k = 0; k < n; ++k) total += tile[k];
  atomic_fetch_add_explicit(out, total, memory_order_relaxed);
}

struct Table { device int* target; };
kernel void follow(constant Table& table [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  table.target[i] = 1;
}
)";

// One chunk of a capture file; see metal/rt/trace/trace_file.h.
struct ChunkAt {
  uint64_t kind, fields, fields_size, bulk, bulk_size, checksum;  // offsets and sizes
};

class CaptureTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    folder_ = std::filesystem::temp_directory_path() /
              ("mlxn-capture-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
    lib_ = library(kSource);
    multiply = specialised("multiply", 3);
    sum = specialised("sum", 0);
    in = ints(64);
    out = ints(64);
    total = ints(1);
    in->setLabel(string("inputs"));
    total->setLabel(string("total"));
    for (int i = 0; i < 64; ++i) view(in)[i] = i;
  }
  void TearDown() override {
    manager()->stopCapture();
    in.reset();
    out.reset();
    total.reset();
    multiply.reset();
    sum.reset();
    lib_.reset();
    std::filesystem::remove_all(folder_);
    KernelTest::TearDown();
  }

  static MTL::CaptureManager* manager() { return MTL::CaptureManager::sharedCaptureManager(); }
  Ptr<MTL::Buffer> ints(NS::UInteger count) { return buffer(count * sizeof(int)); }
  static int* view(const Ptr<MTL::Buffer>& target) { return static_cast<int*>(target->contents()); }
  std::string path(const char* name = "frame") const { return (folder_ / name).string(); }

  Ptr<MTL::ComputePipelineState> specialised(const char* name, int scale) {
    auto values = TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    values->setConstantValue(&scale, MTL::DataTypeInt, NS::UInteger(0));
    NS::Error* error = nullptr;
    auto function = TransferPtr(lib_->newFunction(string(name), values.get(), &error));
    EXPECT_TRUE(function) << text(error);
    auto state = TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }

  bool start(NS::Object* object, const std::string& file, NS::Error** error = nullptr) {
    auto descriptor = TransferPtr(MTL::CaptureDescriptor::alloc()->init());
    descriptor->setCaptureObject(object);
    descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
    descriptor->setOutputURL(NS::URL::fileURLWithPath(string(file)));
    NS::Error* own = nullptr;
    return manager()->startCapture(descriptor.get(), error ? error : &own);
  }
  std::string start_error(NS::Object* object, const std::string& file) {
    NS::Error* error = nullptr;
    EXPECT_FALSE(start(object, file, &error));
    return text(error);
  }

  // in * 3 + add -> out, then the sum of out -> total.
  void encode(MTL::CommandBuffer* commands, int add) {
    const struct {
      uint32_t count;
      int32_t add;
    } settings = {60, add};
    auto* encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
    encoder->setComputePipelineState(multiply.get());
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 0, 1);
    encoder->setBytes(&settings, sizeof settings, 2);
    encoder->dispatchThreadgroups(MTL::Size(4, 1, 1), MTL::Size(16, 1, 1));
    encoder->memoryBarrier(MTL::BarrierScopeBuffers);
    encoder->setComputePipelineState(sum.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->setBuffer(total.get(), 0, 1);
    encoder->setThreadgroupMemoryLength(64, 0);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(16, 1, 1));
    encoder->endEncoding();
  }
  void run(int add, MTL::CommandQueue* on = nullptr) {
    auto* commands = (on ? on : queue.get())->commandBuffer();
    encode(commands, add);
    EXPECT_EQ(finish(commands), "");
  }

  // Captures two command buffers with a host write between them.
  void capture_two(const std::string& file) {
    ASSERT_TRUE(start(queue.get(), file));
    run(1);
    view(in)[5] = 1000;
    run(2);
    manager()->stopCapture();
  }

  ReplayReport replayed(const std::string& file, MTL::Device* on = nullptr) {
    ReplayReport report;
    NS::Error* error = nullptr;
    EXPECT_TRUE(replay_capture(on ? on : device.get(), file.c_str(), &report, &error))
        << text(error);
    return report;
  }
  std::string replay_error(const std::string& file, ReplayReport* report = nullptr) {
    NS::Error* error = nullptr;
    EXPECT_FALSE(replay_capture(device.get(), file.c_str(), report, &error));
    return text(error);
  }

  static std::string read(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void write(const std::string& file, std::string_view bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  static uint64_t number(const std::string& bytes, uint64_t at) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  static std::vector<ChunkAt> chunks(const std::string& bytes) {
    std::vector<ChunkAt> list;
    for (uint64_t at = 16; at < bytes.size();) {
      const uint64_t fields = number(bytes, at + 8), bulk = number(bytes, at + 16);
      list.push_back(
          {number(bytes, at), at + 24, fields, at + 24 + fields, bulk, at + 24 + fields + bulk});
      at = list.back().checksum + 8;
    }
    return list;
  }
  // Makes the checksum right again after a change.
  static void seal(std::string& bytes, const ChunkAt& chunk) {
    const uint64_t begin = chunk.fields - 24;
    const uint64_t value = XXH3_64bits(bytes.data() + begin, chunk.checksum - begin);
    std::memcpy(bytes.data() + chunk.checksum, &value, sizeof value);
  }
  static const ChunkAt& last_of(const std::vector<ChunkAt>& list, uint64_t kind) {
    return *std::find_if(list.rbegin(), list.rend(),
                         [&](const ChunkAt& one) { return one.kind == kind; });
  }
  static constexpr uint64_t kPipeline = 2, kMemory = 3, kContents = 4, kFinal = 6;
  static uint64_t count_of(const std::vector<ChunkAt>& list, uint64_t kind) {
    return static_cast<uint64_t>(std::ranges::count(list, kind, &ChunkAt::kind));
  }

  Ptr<MTL::ComputePipelineState> multiply, sum;
  Ptr<MTL::Buffer> in, out, total;
  std::filesystem::path folder_;
  Ptr<MTL::Library> lib_;
};

TEST_F(CaptureTest, DescriptorsAreChecked) {
  EXPECT_TRUE(manager()->supportsDestination(MTL::CaptureDestinationGPUTraceDocument));
  EXPECT_FALSE(manager()->supportsDestination(MTL::CaptureDestinationDeveloperTools));
  auto descriptor = TransferPtr(MTL::CaptureDescriptor::alloc()->init());
  NS::Error* error = nullptr;
  EXPECT_FALSE(manager()->startCapture(descriptor.get(), &error));
  EXPECT_EQ(error->code(), MTL::CaptureErrorInvalidDescriptor);
  EXPECT_FALSE(manager()->startCapture(static_cast<MTL::CaptureDescriptor*>(nullptr), &error));
  descriptor->setCaptureObject(device.get());
  EXPECT_FALSE(manager()->startCapture(descriptor.get(), &error));
  EXPECT_EQ(error->code(), MTL::CaptureErrorNotSupported);
  descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
  EXPECT_FALSE(manager()->startCapture(descriptor.get(), &error));
  EXPECT_EQ(error->code(), MTL::CaptureErrorInvalidDescriptor);
  EXPECT_THAT(text(error), HasSubstr("no outputURL"));
  EXPECT_THAT(start_error(in.get(), path()), HasSubstr("no Device, CommandQueue or CaptureScope"));
  EXPECT_THAT(start_error(device.get(), path("no/such/folder")), HasSubstr("cannot create"));
  write(path(), "mine");
  EXPECT_THAT(start_error(device.get(), path()), HasSubstr("exists already"));
  EXPECT_EQ(read(path()), "mine");
  EXPECT_FALSE(manager()->isCapturing());
  manager()->startCapture(queue.get());
  EXPECT_THAT(messages().back(), HasSubstr("startCapture: needs a descriptor"));
}

TEST_F(CaptureTest, OneCaptureAtATime) {
  EXPECT_TRUE(start(device.get(), path()));
  EXPECT_TRUE(manager()->isCapturing());
  EXPECT_THAT(start_error(device.get(), path("other")), HasSubstr("already running"));
  EXPECT_FALSE(std::filesystem::exists(path("other")));
  manager()->stopCapture();
  EXPECT_FALSE(manager()->isCapturing());
  EXPECT_TRUE(start(device.get(), path("other")));
  manager()->stopCapture();
  EXPECT_EQ(replayed(path()).command_buffers, 0u);
}

TEST_F(CaptureTest, APipelineIsStoredOnceForAllThreadgroupSizes) {
  ASSERT_TRUE(start(queue.get(), path()));
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(sum.get());
  encoder->setBuffer(in.get(), 0, 0);
  encoder->setBuffer(total.get(), 0, 1);
  encoder->setThreadgroupMemoryLength(256, 0);
  const NS::UInteger sizes[] = {64, 32, 16, 7, 33, 5, 6};
  for (NS::UInteger size : sizes) {
    encoder->dispatchThreads(MTL::Size(64 / size * size, 1, 1), MTL::Size(size, 1, 1));
  }
  encoder->endEncoding();
  ASSERT_EQ(finish(commands), "");
  manager()->stopCapture();
  EXPECT_EQ(count_of(chunks(read(path())), kPipeline), 1u);
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.dispatches, std::size(sizes));
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
}

TEST_F(CaptureTest, AReplayGivesTheSameBytes) {
  capture_two(path());
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.command_buffers, 2u);
  EXPECT_EQ(report.dispatches, 4u);
  EXPECT_EQ(report.barriers, 2u);
  EXPECT_EQ(report.memories, 3u);
  EXPECT_EQ(report.bytes_compared, 64 * sizeof(int) + sizeof(int));  // out and total
  EXPECT_EQ(report.mismatching_memories, 0u);
  EXPECT_EQ(report.first_mismatch, "");
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_GT(report.gpu_ns, 0u);
  EXPECT_TRUE(messages().empty());
}

TEST_F(CaptureTest, OtherDevicesGiveTheSameBytes) {
  capture_two(path());
  for (uint32_t workers : {1, 5}) {
    mlxn::metal::DeviceOptions options;
    options.executor = "cpu";
    options.worker_count = workers;
    options.cache = false;
    options.schedule_seed = workers;
    NS::Error* error = nullptr;
    auto other = TransferPtr(mlxn::metal::create_device(options, &error));
    ASSERT_EQ(mlxn::metal::describe_device(other.get()).worker_count, workers);
    EXPECT_EQ(replayed(path(), other.get()).mismatching_memories, 0u) << workers;
  }
  // The null device runs no kernel, so the comparison must see it.
  EXPECT_EQ(replayed(path(), make_device("null").get()).mismatching_memories, 2u);
}

TEST_F(CaptureTest, WritesOfTheHostAreStored) {
  capture_two(path());
  EXPECT_EQ(count_of(chunks(read(path())), kContents), 1u);
  ASSERT_TRUE(start(queue.get(), path("quiet")));
  run(1);
  run(2);
  manager()->stopCapture();
  EXPECT_EQ(count_of(chunks(read(path("quiet"))), kContents), 0u);
  EXPECT_EQ(replayed(path("quiet")).mismatching_memories, 0u);
}

TEST_F(CaptureTest, WritesOfTheHostAfterTheLastBufferDoNotCount) {
  ASSERT_TRUE(start(queue.get(), path()));
  run(1);
  view(out)[3] = -1;
  manager()->stopCapture();
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
  EXPECT_EQ(report.bytes_compared, 65 * sizeof(int));
}

TEST_F(CaptureTest, ADifferenceIsReportedWithMemoryAndOffset) {
  capture_two(path());
  std::string bytes = read(path());
  const ChunkAt chunk = last_of(chunks(bytes), kFinal);
  ASSERT_EQ(chunk.bulk_size, sizeof(int));  // the total comes last
  bytes[chunk.bulk + 1] ^= 0x40;
  write(path(), bytes);
  EXPECT_THAT(replay_error(path()), HasSubstr("the checksum of a chunk does not match"));
  seal(bytes, chunk);
  write(path(), bytes);
  ReplayReport report = replayed(path());
  EXPECT_EQ(report.mismatching_memories, 1u);
  EXPECT_THAT(report.first_mismatch, HasSubstr("memory 2 'total' at byte 1: "));

  // Other inputs give other results.
  bytes = read(path());
  const auto list = chunks(bytes);
  const ChunkAt& first = *std::ranges::find(list, kMemory, &ChunkAt::kind);
  bytes[first.bulk] += 1;
  seal(bytes, first);
  write(path(), bytes);
  EXPECT_EQ(replayed(path()).mismatching_memories, 1u);  // the second run had new inputs
}

TEST_F(CaptureTest, ACutFileIsAnError) {
  capture_two(path());
  const std::string bytes = read(path());
  ASSERT_GT(bytes.size(), 1000u);
  for (size_t size = 0; size < bytes.size(); size += 64) {
    write(path("cut"), bytes.substr(0, size));
    EXPECT_THAT(replay_error(path("cut")), HasSubstr("capture")) << size;
  }
  write(path("cut"), bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(replay_error(path("cut")), HasSubstr("cut short"));
  write(path("cut"), bytes + "x");
  EXPECT_THAT(replay_error(path("cut")), HasSubstr("damaged"));
}

// Every byte of what steers the replay, in a chunk of each kind, one after the other, with a right
// checksum: it may still run, but must not crash, hang or take much memory.
TEST_F(CaptureTest, HostileFieldsAreErrorsOrHarmless) {
  capture_two(path());
  const std::string bytes = read(path());
  auto null_device = make_device("null");
  std::set<uint64_t> seen;
  for (const ChunkAt& chunk : chunks(bytes)) {
    if (!seen.insert(chunk.kind).second) continue;  // the first of each kind
    for (uint64_t at = chunk.fields - 24; at < chunk.fields + chunk.fields_size; ++at) {
      for (char value : {'\xff', '\x01'}) {
        if (bytes[at] == value) continue;
        std::string changed = bytes;
        changed[at] = value;
        seal(changed, chunk);
        write(path("bad"), changed);
        ReplayReport report;
        NS::Error* error = nullptr;
        const bool ran = replay_capture(null_device.get(), path("bad").c_str(), &report, &error);
        EXPECT_EQ(ran, error == nullptr);
      }
    }
    renew_pool();
  }
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_LT(null_device->currentAllocatedSize(), 1u << 20);
}

TEST_F(CaptureTest, WrongFilesAreErrors) {
  EXPECT_THAT(replay_error(path("none")), HasSubstr("cannot open"));
  EXPECT_THAT(replay_error(folder_.string()), HasSubstr("not a plain file"));
  write(path(), std::string(1000, 'a'));
  EXPECT_THAT(replay_error(path()), HasSubstr("is not a capture"));
  write(path(), std::string("MLXNCAP\n\x09\0\0\0\0\0\0\0", 16));
  EXPECT_THAT(replay_error(path()), HasSubstr("version 9 of the format, expected 1"));
  NS::Error* error = nullptr;
  EXPECT_FALSE(replay_capture(nullptr, path().c_str(), nullptr, &error));
  EXPECT_FALSE(replay_capture(device.get(), nullptr, nullptr, &error));
}

TEST_F(CaptureTest, OnlyTheCapturedQueueIsRecorded) {
  auto other = TransferPtr(device->newCommandQueue());
  ASSERT_TRUE(start(queue.get(), path("queue")));
  run(1);
  run(2, other.get());
  manager()->stopCapture();
  EXPECT_EQ(replayed(path("queue")).command_buffers, 1u);

  ASSERT_TRUE(start(device.get(), path("device")));
  run(1);
  run(2, other.get());
  manager()->stopCapture();
  run(3);
  EXPECT_EQ(replayed(path("device")).command_buffers, 2u);
  EXPECT_EQ(replayed(path("device")).mismatching_memories, 0u);
}

TEST_F(CaptureTest, AScopeGatesWhatIsRecorded) {
  auto scope = TransferPtr(manager()->newCaptureScope(queue.get()));
  scope->setLabel(string("step"));
  EXPECT_EQ(scope->commandQueue(), queue.get());
  EXPECT_EQ(scope->device(), device.get());
  manager()->setDefaultCaptureScope(scope.get());
  EXPECT_EQ(manager()->defaultCaptureScope(), scope.get());
  manager()->setDefaultCaptureScope(nullptr);
  ASSERT_TRUE(start(scope.get(), path()));
  run(1);
  scope->beginScope();
  run(2);
  run(3);
  scope->endScope();
  run(4);
  manager()->stopCapture();
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.command_buffers, 2u);
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
}

TEST_F(CaptureTest, TheFileWaitsForCommittedBuffers) {
  auto event = TransferPtr(device->newSharedEvent());
  ASSERT_TRUE(start(queue.get(), path()));
  auto commands = NS::RetainPtr(queue->commandBuffer());
  encode(commands.get(), 1);
  commands->encodeWait(event.get(), 1);
  encode(commands.get(), 2);
  commands->commit();
  manager()->stopCapture();
  EXPECT_FALSE(manager()->isCapturing());
  event->setSignaledValue(1);
  commands->waitUntilCompleted();
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.command_buffers, 1u);
  EXPECT_EQ(report.dispatches, 4u);
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
}

TEST_F(CaptureTest, BlitsHeapsIndirectAndUnretained) {
  auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
  descriptor->setSize(4096);
  descriptor->setResourceOptions(MTL::ResourceStorageModeShared);
  auto heap = TransferPtr(device->newHeap(descriptor.get()));
  auto filler = TransferPtr(heap->newBuffer(256, MTL::ResourceStorageModeShared));
  out = TransferPtr(heap->newBuffer(256, MTL::ResourceStorageModeShared));
  auto counts = buffer(12);
  const uint32_t groups[] = {4, 1, 1};
  std::memcpy(counts->contents(), groups, sizeof groups);
  const struct {
    uint32_t count;
    int32_t add;
  } settings = {60, 7};

  ASSERT_TRUE(start(queue.get(), path()));
  auto* commands = queue->commandBufferWithUnretainedReferences();
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(filler.get(), NS::Range(3, 100), 0x21);
  blit->copyFromBuffer(filler.get(), 0, in.get(), 8, 32);
  blit->endEncoding();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(multiply.get());
  encoder->setBuffer(in.get(), 0, 0);
  encoder->setBuffer(out.get(), 0, 1);
  encoder->setBytes(&settings, sizeof settings, 2);
  encoder->dispatchThreadgroups(counts.get(), 0, MTL::Size(16, 1, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  manager()->stopCapture();
  EXPECT_EQ(view(out)[2], 0x21000000 * 3 + 7);
  const ReplayReport report = replayed(path());
  EXPECT_EQ(report.memories, 3u);
  EXPECT_EQ(report.dispatches, 1u);
  EXPECT_EQ(report.mismatching_memories, 0u) << report.first_mismatch;
  EXPECT_TRUE(messages().empty());
}

TEST_F(CaptureTest, TimesAreNotCompared) {
  auto descriptor = TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  descriptor->setCounterSet(device->counterSets()->object<MTL::CounterSet>(0));
  descriptor->setSampleCount(2);
  NS::Error* error = nullptr;
  auto samples = TransferPtr(device->newCounterSampleBuffer(descriptor.get(), &error));
  auto times = buffer(64), copied = buffer(64);
  ASSERT_TRUE(start(queue.get(), path()));
  auto* commands = queue->commandBuffer();
  encode(commands, 1);
  auto* blit = commands->blitCommandEncoder();
  blit->sampleCountersInBuffer(samples.get(), 0, true);
  blit->sampleCountersInBuffer(samples.get(), 1, true);
  blit->resolveCounters(samples.get(), NS::Range(0, 2), times.get(), 16);
  blit->copyFromBuffer(times.get(), 24, copied.get(), 0, 40);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  manager()->stopCapture();
  EXPECT_EQ(replayed(path()).mismatching_memories, 0u) << replayed(path()).first_mismatch;
}

TEST_F(CaptureTest, KernelsThatReadAddressesAreNotReplayed) {
  auto follow = specialised("follow", 0);
  const uint64_t address = out->gpuAddress();
  ASSERT_TRUE(start(queue.get(), path()));
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(follow.get());
  encoder->setBytes(&address, sizeof address, 0);
  encoder->useResource(out.get(), MTL::ResourceUsageWrite);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(4, 1, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  manager()->stopCapture();
  ReplayReport report;
  EXPECT_THAT(replay_error(path(), &report), HasSubstr("not replayable"));
  EXPECT_THAT(report.notes,
              ElementsAre("kernel 'follow' reads addresses from a buffer; not replayable"));
}

// A disk that is full: writes fail from some size on.
TEST_F(CaptureTest, AFullDiskEndsTheCaptureAndNothingElse) {
  capture_two(path("whole"));
  const rlim_t whole = read(path("whole")).size();
  rlimit saved = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &saved), 0);
  auto* const old = std::signal(SIGXFSZ, SIG_IGN);
  for (rlim_t most : {rlim_t{100}, whole / 2, whole - 100, whole - 8}) {
    const rlimit tight = {most, saved.rlim_max};
    ASSERT_TRUE(start(queue.get(), path()));
    setrlimit(RLIMIT_FSIZE, &tight);
    view(in)[5] = 5;
    run(1);
    view(in)[5] = 6;
    run(2);
    manager()->stopCapture();
    setrlimit(RLIMIT_FSIZE, &saved);
    EXPECT_FALSE(manager()->isCapturing());
    EXPECT_FALSE(std::filesystem::exists(path())) << most;
    ASSERT_FALSE(messages().empty()) << most;
    EXPECT_THAT(messages().back(), HasSubstr("stopCapture: the capture failed")) << most;
  }
  std::signal(SIGXFSZ, old);
  capture_two(path());
  EXPECT_EQ(replayed(path()).mismatching_memories, 0u);
}

TEST_F(CaptureTest, ARemovedFolderIsReported) {
  std::filesystem::create_directory(folder_ / "sub");
  ASSERT_TRUE(start(queue.get(), path("sub/frame")));
  run(1);
  std::filesystem::remove_all(folder_ / "sub");
  run(2);
  manager()->stopCapture();
  EXPECT_THAT(messages().back(), HasSubstr("was removed or replaced"));
  EXPECT_FALSE(manager()->isCapturing());
  run(3);
}

TEST_F(CaptureTest, AFailedBufferIsPartOfTheCapture) {
  ASSERT_TRUE(start(queue.get(), path()));
  run(1);
  mlxn::metal::inject_fault(device.get(), mlxn::metal::Fault::kRun, 0);
  auto* commands = queue->commandBuffer();
  encode(commands, 5);
  EXPECT_THAT(finish(commands), HasSubstr("injected"));
  manager()->stopCapture();
  EXPECT_EQ(replayed(path()).command_buffers, 2u);
  EXPECT_EQ(replayed(path()).mismatching_memories, 2u);  // the replay does not fail
}

TEST_F(CaptureTest, FailuresOfAReplayAreErrors) {
  capture_two(path());
  using mlxn::metal::Fault;
  mlxn::metal::inject_fault(device.get(), Fault::kAllocation, 1);
  EXPECT_THAT(replay_error(path()), HasSubstr("no buffer of 256 bytes for memory 1"));
  mlxn::metal::inject_fault(device.get(), Fault::kPipeline, 1);
  EXPECT_THAT(replay_error(path()), HasSubstr("injected failure of a pipeline"));
  mlxn::metal::inject_fault(device.get(), Fault::kRun, 1);
  EXPECT_THAT(replay_error(path()), HasSubstr("injected failure of a run"));
}

}  // namespace
}  // namespace mlxn_test
