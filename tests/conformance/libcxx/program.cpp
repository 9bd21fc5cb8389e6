// compat: excluded (functions as deallocators are ours, Apple has blocks)
// Handlers cross between two C++ standard libraries: this program is built with libc++.
#include <Metal/Metal.hpp>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace {

// Counts what it is told and waits for it.
class Tally {
 public:
  void add(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex_);
    seen_ += what;
    changed_.notify_all();
  }
  std::string wait(std::size_t length) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return seen_.size() >= length; });
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string seen_;
};

int check(const char* what, bool good) {
  if (!good) std::fprintf(stderr, "wrong: %s\n", what);
  return good ? 0 : 1;
}

int run(MTL::Device* device) {
  auto tally = std::make_shared<Tally>();
  auto queue = NS::TransferPtr(device->newCommandQueue());
  auto* source = NS::String::string("kernel void k(device float* x [[buffer(0)]]) { x[0] = 7; }",
                                    NS::UTF8StringEncoding);
  NS::SharedPtr<MTL::ComputePipelineState> state;
  device->newLibrary(source, nullptr, [&, tally](MTL::Library* library, NS::Error*) {
    auto function =
        NS::TransferPtr(library->newFunction(NS::String::string("k", NS::UTF8StringEncoding)));
    NS::Error* error = nullptr;
    state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    tally->add("l");
  });
  int failures = check("library", tally->wait(1) == "l" && state);
  if (failures) return failures;

  alignas(16384) static float memory[4096];
  auto buffer =
      NS::TransferPtr(device->newBuffer(memory, sizeof(memory), MTL::ResourceStorageModeShared,
                                        [tally](void*, NS::UInteger) { tally->add("f"); }));
  auto* commands = queue->commandBuffer();
  const std::function<void(MTL::CommandBuffer*)> completed = [tally](MTL::CommandBuffer* done) {
    tally->add(done->status() == MTL::CommandBufferStatusCompleted ? "c" : "e");
  };
  MTL::HandlerFunction scheduled = [tally](MTL::CommandBuffer*) { tally->add("s"); };
  MTL::HandlerFunction copy = scheduled, empty;
  failures += check("empty", !empty && copy && !MTL::HandlerFunction(decltype(completed)()));
  commands->addScheduledHandler(copy);
  commands->addCompletedHandler(completed);
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(buffer.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(1, 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  failures += check("handlers", tally->wait(3) == "lsc") + check("result", memory[0] == 7);

  auto event = NS::TransferPtr(device->newSharedEvent());
  event->notifyListener(
      MTL::SharedEventListener::sharedListener(), 3,
      [tally](MTL::SharedEvent*, uint64_t value) { tally->add(value == 3 ? "n" : "?"); });
  event->setSignaledValue(3);
  failures += check("listener", tally->wait(4) == "lscn");
  buffer.reset();
  return failures;
}

}  // namespace

int main() {
  auto* pool = NS::AutoreleasePool::alloc()->init();
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  const int failures = check("device", static_cast<bool>(device)) ? 1 : run(device.get());
  pool->release();
  return failures == 0 ? 0 : 1;
}
