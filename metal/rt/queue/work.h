// A command list with what it needs until it has run.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metal/rt/executor/executor.h"
#include "metal/rt/memory/resource.h"

namespace mlxn::rt {

// Where a command list uses an object, to name it when it was released too early.
struct UsePlace {
  enum Role { kBound, kIndirect, kPipeline, kTransfer, kDeclared } role = kBound;
  const Pipeline* pipeline = nullptr;  // of the dispatch; null while a bound buffer is not used
  uint32_t index = 0;
  std::string_view call = {};  // a literal
  const char* kind = "buffer";
};

// Reused through the queue, so that encoding into a warm one does not allocate.
class Work {
 public:
  // Forgets everything but the storage.
  void clear();
  // For another command buffer.
  void begin(bool retained);
  uint64_t capacity_bytes() const;

  // Keeps an object until the list has run: retained, or else watched, with what it stands for kept
  // alive. Returns the number of the watch.
  size_t hold(AllocationObject* object, const UsePlace& place) {
    if (!retained_) {
      watches_.push_back({object->life, place});
      return watches_.size() - 1;
    }
    // Several threads may use the object at once; then it is retained more than once, no harm.
    if (object->last_work.load(std::memory_order_relaxed) != id_) {
      object->last_work.store(id_, std::memory_order_relaxed);
      kept_.emplace_back(object);
    }
    return 0;
  }
  // Always retained: what is not an allocation.
  void keep(Object* object) { kept_.emplace_back(object); }

  // A dispatch uses the bound buffer with this watch.
  void mark_used(size_t watch, const Pipeline* pipeline) {
    UsePlace& place = watches_[watch].place;
    if (!place.pipeline) place.pipeline = pipeline;
  }

  // All allocations the list uses, some more than once.
  template <class Function>
  void for_each_life(Function function) const {
    for (const Ref<Object>& object : kept_) {
      auto* allocation = dynamic_cast<const AllocationObject*>(object.get());
      if (allocation) function(*allocation->life);
    }
    for (const Watch& watch : watches_) function(*watch.life);
  }

  bool retained() const { return retained_; }
  // The name and place of an object that is gone; empty when all are there.
  std::string released() const;
  // Puts a barrier at the end unless one is there.
  void barrier() {
    auto& commands = list.commands;
    if (!commands.empty() && !std::holds_alternative<Barrier>(commands.back())) {
      commands.emplace_back(Barrier());
    }
  }

  CommandList list;

 private:
  struct Watch {
    std::shared_ptr<const Life> life;
    UsePlace place;
  };

  uint64_t id_ = 0;  // never the same twice
  bool retained_ = true;
  std::vector<Ref<Object>> kept_;
  std::vector<Watch> watches_;
};

}  // namespace mlxn::rt
