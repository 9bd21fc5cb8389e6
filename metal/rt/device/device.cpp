// The device: creation and properties. What it creates lies beside the created classes.
#include "metal/rt/device/device.h"

#include <mutex>

#include "metal/msl/module.h"
#include "metal/rt/cache/kernel_archive.h"
#include "metal/rt/device/counters.h"
#include "metal/rt/executor/executor_registry.h"
#include "metal/rt/foundation/property.h"
#include "metal/rt/memory/resource.h"
#include "mlxn/base/log.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

const ExecutorEntry* find_executor(std::string_view name) {
  for (const ExecutorEntry& entry : executors()) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

std::string executor_names() {
  std::string names;
  for (const ExecutorEntry& entry : executors())
    names += str(names.empty() ? "" : ", ", entry.name);
  return names;
}

// Devices that the whole process shares, made on first use and kept.
Ref<DeviceObject> shared_device(const std::string& executor) {
  static auto& mutex = *new std::mutex;
  static auto& devices = *new std::vector<std::pair<std::string, Ref<DeviceObject>>>;
  std::lock_guard lock(mutex);
  for (auto& [name, device] : devices) {
    if (name == executor) return device;
  }
  metal::DeviceOptions options;
  options.executor = executor;
  auto device = DeviceObject::create(options);
  if (!device) {
    log(LogLevel::kError, device.error().to_string());
    return nullptr;
  }
  return devices.emplace_back(executor, std::move(*device)).second;
}

std::string default_executor() {
  const std::string name = setting_string(Setting::kExecutor);
  return name.empty() ? executors().front().name : name;
}

KernelCache::Options cache_options(const metal::DeviceOptions& options) {
  KernelCache::Options result = KernelCache::default_options();
  if (!options.cache_folder.empty()) result.folder = options.cache_folder;
  if (!options.cache) result.folder.clear();
  return result;
}

}  // namespace

Result<Ref<DeviceObject>> DeviceObject::create(const metal::DeviceOptions& options) {
  const std::string name = options.executor.empty() ? default_executor() : options.executor;
  const ExecutorEntry* entry = find_executor(name);
  if (!entry) {
    return Error(ErrorCode::kDeviceNotFound,
                 str("executor '", name, "', expected one of: ", executor_names()));
  }
  MLXN_ASSIGN(auto executor, entry->create({.worker_count = options.worker_count,
                                            .cpu_target = options.cpu_target,
                                            .dispatch_sampling = options.dispatch_sampling,
                                            .schedule_seed = options.schedule_seed,
                                            .watchdog_ms = options.watchdog_ms,
                                            .guard_memory = options.guard_memory,
                                            .foreign_target = options.foreign_target,
                                            .forced_tier = options.forced_tier,
                                            .reverse_threads = options.reverse_threads}));
  msl::close_gate_at_exit();
  static std::atomic<uint64_t> next_id = 1;
  auto device = make<DeviceObject>();
  device->executor_ = std::make_unique<FaultExecutor>(std::move(executor));
  device->options_ = options;
  device->validates_ = options.validation.value_or(setting_bool(Setting::kValidation));
  device->cache_ = std::make_unique<KernelCache>(cache_options(options));
  device->name = make_string(device->info().name);
  device->architecture = make<ArchitectureObject>();
  device->architecture->name.set(make_string(device->info().target.to_key()));
  device->counterSets = make_counter_sets();
  device->registryID = next_id++;
  return device;
}

SerialWorker& compile_worker() {
  msl::close_gate_at_exit();  // asked by the thread that does not wait for the result
  static auto& worker = *new SerialWorker;
  return worker;
}

}  // namespace mlxn::rt

MTL::Device* mlxn::metal::create_device(const DeviceOptions& options, NS::Error** error) {
  auto device = rt::DeviceObject::create(options);
  if (device) return rt::owned(std::move(*device));
  rt::set_error(error, rt::make_error(rt::kDeviceErrorDomain, 1, device.error().message()));
  return nullptr;
}

void mlxn::metal::inject_fault(MTL::Device* device, Fault fault, uint64_t after) {
  if (auto* self = rt::impl(device)) self->executor().inject(fault, after);
}

std::vector<std::string> mlxn::metal::take_recorded_commands(MTL::Device* device) {
  auto* self = rt::impl(device);
  return self ? self->executor().take_record() : std::vector<std::string>();
}

uint64_t mlxn::metal::host_round_trips(const MTL::Device* device) {
  auto* self = rt::impl(device);
  return self ? self->executor().host_round_trips() : 0;
}

mlxn::metal::CacheCounters mlxn::metal::cache_counters(const MTL::Device* device) {
  auto* self = rt::impl(device);
  return self ? self->cache().counters() : CacheCounters();
}

NS::Data* mlxn::metal::serialize_kernels(const MTL::Device* device) {
  auto* self = rt::impl(device);
  if (!self) return nullptr;
  const Result<std::vector<uint8_t>> bytes = self->cache().serialize();
  if (bytes) return rt::autoreleased(rt::make<rt::DataObject>(bytes->data(), bytes->size()));
  log(LogLevel::kWarning, bytes.error().to_string());
  return nullptr;
}

bool mlxn::metal::add_kernel_archive(const void* bytes, std::size_t size) {
  const Status status = rt::add_archive({static_cast<const uint8_t*>(bytes), size});
  if (!status) log(LogLevel::kWarning, status.error().to_string());
  return status.has_value();
}

namespace MTL {

using namespace mlxn::rt;

Device* CreateSystemDefaultDevice() {
  return owned(shared_device(default_executor()));
}

NS::Array* CopyAllDevices() {
  std::vector<Ref<DeviceObject>> devices;
  for (const ExecutorEntry& entry : executors()) {
    if (!entry.real) continue;
    if (auto device = shared_device(entry.name)) devices.push_back(std::move(device));
  }
  return owned(make_array(devices));
}

MLXN_ALLOC(Architecture)
MLXN_LABEL_GETTER(Architecture, name)

MLXN_OBJECT_GETTER(Device, NS::String, name)
MLXN_OBJECT_GETTER(Device, Architecture, architecture)
MLXN_OBJECT_GETTER(Device, NS::Array, counterSets)
MLXN_GETTER(Device, uint64_t, registryID)
MLXN_VALUE(Device, bool, shouldMaximizeConcurrentCompilation,
           setShouldMaximizeConcurrentCompilation)

// A value of the executor's description; zero for a null device.
#define MLXN_DEVICE_INFO(Type, getter, value)        \
  Type Device::getter() const {                      \
    auto* self = impl(this);                         \
    return self ? Type(self->info().value) : Type(); \
  }
MLXN_DEVICE_INFO(bool, hasUnifiedMemory, unified_memory)
// A quarter is left to the host and the system.
MLXN_DEVICE_INFO(uint64_t, recommendedMaxWorkingSetSize, total_memory / 4 * 3)
MLXN_DEVICE_INFO(NS::UInteger, maxBufferLength, max_buffer_length)
MLXN_DEVICE_INFO(NS::UInteger, maxThreadgroupMemoryLength, max_threadgroup_memory)
#undef MLXN_DEVICE_INFO

NS::UInteger Device::currentAllocatedSize() const {
  auto* self = impl(this);
  return self ? self->executor().allocated_bytes() : 0;
}

Size Device::maxThreadsPerThreadgroup() const {
  auto* self = impl(this);
  const NS::UInteger count = self ? self->info().max_threads_per_threadgroup : 0;
  return Size(count, count, count);
}

DeviceLocation Device::location() const {
  return DeviceLocationBuiltIn;
}
NS::UInteger Device::locationNumber() const {
  return 0;
}
uint64_t Device::maxTransferRate() const {
  return 0;
}
bool Device::isLowPower() const {
  return false;
}
bool Device::isHeadless() const {
  return true;
}
bool Device::isRemovable() const {
  return false;
}
bool Device::lowPower() const {
  return isLowPower();
}
bool Device::headless() const {
  return isHeadless();
}
bool Device::removable() const {
  return isRemovable();
}
uint64_t Device::peerGroupID() const {
  return 0;
}
uint32_t Device::peerIndex() const {
  return 0;
}
uint32_t Device::peerCount() const {
  return 0;
}
bool Device::supportsDynamicLibraries() const {
  return false;
}
bool Device::supportsFunctionPointers() const {
  return false;
}
bool Device::supportsRaytracing() const {
  return false;
}
ArgumentBuffersTier Device::argumentBuffersSupport() const {
  return ArgumentBuffersTier2;
}
ReadWriteTextureTier Device::readWriteTextureSupport() const {
  return ReadWriteTextureTierNone;
}
NS::UInteger Device::maximumConcurrentCompilationTaskCount() const {
  return 1;
}
uint64_t Device::queryTimestampFrequency() {
  return 1'000'000'000;
}

// The compute features of these families are all here; Apple9 and Metal4 add some that are not.
bool Device::supportsFamily(GPUFamily family) {
  if (!impl(this)) return false;
  return (family >= GPUFamilyApple1 && family <= GPUFamilyApple8) || family == GPUFamilyMac2 ||
         (family >= GPUFamilyCommon1 && family <= GPUFamilyCommon3) || family == GPUFamilyMetal3;
}

bool Device::supportsCounterSampling(CounterSamplingPoint point) {
  auto* self = impl(this);
  if (!self) return false;
  switch (point) {
    case CounterSamplingPointAtStageBoundary: return true;
    case CounterSamplingPointAtDispatchBoundary:
    case CounterSamplingPointAtBlitBoundary: return self->info().dispatch_sampling;
    default: return false;
  }
}

void Device::sampleTimestamps(Timestamp* cpuTimestamp, Timestamp* gpuTimestamp) {
  auto* self = impl(this);
  const Timestamp now = self ? self->executor().timestamp_ns() : 0;
  if (cpuTimestamp) *cpuTimestamp = now;
  if (gpuTimestamp) *gpuTimestamp = now;
}

}  // namespace MTL
