// What delta_net and its chunked form ask of their arguments.
#pragma once

#include <string_view>

#include "mlxn/ops/ssm/delta_net.h"
#include "mlxn/ops/ssm/delta_net_args.h"

namespace mlxn {

// All but chunk and chunks.
Result<DeltaNetArgs> check_delta_net(std::string_view op, const DeltaNetParams& params);

}  // namespace mlxn
