// dispatch_data_t: bytes that a library is made from.
#include "metal/rt/foundation/dispatch_data.h"

#include <new>

#include "mlxn/base/strings.h"

namespace {

constexpr uint64_t kMagic = 0x617461446e786c6d;  // "mlxnData"

}  // namespace

struct dispatch_data_s {
  uint64_t magic = kMagic;  // another implementation's object begins differently
  std::string bytes;
};

namespace mlxn::rt {

Result<std::string> bytes_of(dispatch_data_t data) {
  if (!data) return Error(ErrorCode::kInvalidArgument, "no data, expected a library's bytes");
  if (data->magic != kMagic)
    return Error(ErrorCode::kInvalidArgument,
                 "data of another libdispatch, expected that of the SDK's dispatch/dispatch.h");
  return data->bytes;
}

}  // namespace mlxn::rt

extern "C" {

MLXN_METAL_API dispatch_data_t mlxn_dispatch_data_create(const void* bytes, size_t size) {
  if (!bytes && size > 0) return nullptr;
  auto* data = new (std::nothrow) dispatch_data_s;
  if (data && size > 0) data->bytes.assign(static_cast<const char*>(bytes), size);
  return data;
}

MLXN_METAL_API void mlxn_dispatch_data_release(dispatch_data_t data) {
  if (data && data->magic == kMagic) delete data;
}

}  // extern "C"
