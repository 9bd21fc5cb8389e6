#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/activation/glu_kind.h"

namespace mlxn {

struct GluParams {
  const Buffer& gate;          // f32, f16 or bf16; without `up` both side by side: [..., 2 n]
  const Buffer& output;        // of the gate's dtype; as many elements as the gate alone
  const Buffer* up = nullptr;  // of the gate's dtype and element count
  GluKind kind = GluKind::kSwiglu;
  bool gate_second = false;  // of a row of both; not with `up`
  float alpha = 1.702f;      // of kSwigluOai
  float limit = 7;           // of kSwigluOai: gate at most this, up from its negative to it
};

// output = f(gate) * up with the kind's f, computed in float and rounded once. The output may be
// gate or up, but not a part of a row of both. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status glu(ComputeEncoder& encoder, const GluParams& params);

}  // namespace mlxn
