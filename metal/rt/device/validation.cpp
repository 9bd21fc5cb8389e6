#include "metal/rt/device/validation.h"

#include <memory>
#include <mutex>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/metal_extensions.hpp"

namespace mlxn::rt {
namespace {

using metal::ValidationHandler;

struct HandlerSlot {
  std::mutex mutex;
  std::shared_ptr<const ValidationHandler> handler;
};

// Never destroyed: queue threads may report while the process ends.
HandlerSlot& slot() {
  static auto& instance = *new HandlerSlot;
  return instance;
}

}  // namespace

std::string report(std::string_view call, std::string_view text) {
  std::string message = str(call, ": ", text);
  log(LogLevel::kError, message);
  std::shared_ptr<const ValidationHandler> handler;
  {
    std::lock_guard lock(slot().mutex);
    handler = slot().handler;
  }
  if (handler) (*handler)(message.c_str());
  return message;
}

}  // namespace mlxn::rt

void mlxn::metal::set_validation_handler(ValidationHandler handler) {
  auto next = handler ? std::make_shared<const ValidationHandler>(std::move(handler)) : nullptr;
  std::lock_guard lock(rt::slot().mutex);
  rt::slot().handler = std::move(next);
}
