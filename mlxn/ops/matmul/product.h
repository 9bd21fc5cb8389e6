// What matmul and the ops that contain it share on the host.
#pragma once

#include <string>
#include <string_view>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/matmul/matmul.h"

namespace mlxn {

// Sizes of a product whose operands are as matmul wants them; messages begin with `op`.
Result<MatmulArgs> check_product(std::string_view op, const MatmulParams& params);

// "matmul_4_q8_0" for op "matmul" and few rows: the kernel that takes the most rows at once.
Result<std::string> product_kernel_name(std::string_view op, uint32_t rows, Dtype format);

// Fills in the grid, the threads, the kind of dispatch, and that accesses are declared; then
// dispatches.
Status dispatch_product(ComputeEncoder& encoder, const MatmulArgs& args, Dispatch dispatch);

}  // namespace mlxn
