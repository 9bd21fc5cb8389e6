// Autorelease pools: one stack of open pools for each thread.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "metal/rt/device/validation.h"
#include "metal/rt/foundation/object.h"
#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

MLXN_RT_OBJECT(NS::AutoreleasePool, PoolObject)

namespace mlxn::rt {
namespace {

struct PoolStack {
  std::vector<PoolObject*> pools;
  ~PoolStack();
};

// Outlives the stack of the thread, so that late releases see that it is gone.
thread_local bool stack_destroyed = false;
thread_local PoolStack stack;

}  // namespace

class PoolObject : public Object {
 public:
  using Api = NS::AutoreleasePool;

  void open() {
    if (open_ || stack_destroyed) return;
    open_ = true;
    thread_ = std::this_thread::get_id();
    stack.pools.push_back(this);
  }

  void add(Object* object) { objects_.push_back(object); }
  size_t size() const { return objects_.size(); }

  // Releases everything added, newest first, also what the releases add.
  void empty() {
    while (!objects_.empty()) {
      Object* object = objects_.back();
      objects_.pop_back();
      object->release();
    }
  }
  void mark_closed() { open_ = false; }

 private:
  ~PoolObject() override {
    if (!open_) return;
    if (thread_ != std::this_thread::get_id()) {
      report("NS::AutoreleasePool::release",
             str("called on another thread than init; ", objects_.size(), " objects are leaked"));
      return;  // the other thread may be using the pool
    }
    close_down_to(this);
  }

  static void close_down_to(PoolObject* last) {
    while (!stack.pools.empty()) {
      PoolObject* top = stack.pools.back();
      top->empty();
      // The releases may have opened pools and left them open; they were closed with their objects.
      std::erase(stack.pools, top);
      top->mark_closed();
      if (top == last) return;
    }
  }

  bool open_ = false;
  std::thread::id thread_;
  RecycledVector<Object*> objects_;
};

namespace {

PoolStack::~PoolStack() {
  while (!pools.empty()) {
    PoolObject* top = pools.back();
    top->empty();
    std::erase(pools, top);
    top->mark_closed();
  }
  stack_destroyed = true;
}

}  // namespace

bool has_pool() {
  return !stack_destroyed && !stack.pools.empty();
}

void add_to_pool(Object* object) {
  if (has_pool()) return stack.pools.back()->add(object);
#ifndef NDEBUG
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) {
    log(LogLevel::kWarning,
        "an object was autoreleased without an NS::AutoreleasePool on this thread and is leaked "
        "(said once)");
  }
#endif
}

}  // namespace mlxn::rt

namespace NS {

using namespace mlxn::rt;

AutoreleasePool* AutoreleasePool::alloc() {
  return api(new PoolObject);
}

AutoreleasePool* AutoreleasePool::init() {
  if (auto* self = impl(this)) self->open();
  return this;
}

void AutoreleasePool::drain() {
  release();
}

void AutoreleasePool::addObject(Object* pObject) {
  auto* self = impl(this);
  if (self && pObject) self->add(impl(pObject));
}

void AutoreleasePool::showPools() {
  size_t depth = 0;
  for (PoolObject* pool : stack.pools) {
    mlxn::log(mlxn::LogLevel::kInfo,
              mlxn::str("autorelease pool ", depth++, ": ", pool->size(), " objects"));
  }
}

}  // namespace NS
