// What is wrong with a dispatch is found here, before anything reaches Metal. Internal.
#pragma once

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/dispatch.h"

namespace mlxn {

// Whether the dispatch can run on the context's device.
Status check_dispatch(const Context& context, const Dispatch& dispatch);
// Whether there is memory behind every buffer of a list of accesses.
Status check_declared(ArrayRef<const Buffer*> buffers);

}  // namespace mlxn
