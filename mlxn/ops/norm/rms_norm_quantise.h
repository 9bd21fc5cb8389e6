#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"
#include "mlxn/ops/norm/rms_norm.h"

namespace mlxn {

// rms_norm of f32 rows, followed by quantise_rows of the result, in one dispatch and with the same
// bits. The output is quantise_rows's; rms_norm's own is not written. Errors are those of both.
Status rms_norm_quantise(ComputeEncoder& encoder, const RmsNormParams& params);
extern const FusionRule kRmsNormQuantiseRule;

// The same for add_rms_norm.
Status add_rms_norm_quantise(ComputeEncoder& encoder, const AddRmsNormParams& params);

}  // namespace mlxn
