#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

struct TriSolveParams {
  const Buffer& matrix;  // [batch, n, n], f32, f16 or bf16
  const Buffer& right;   // [batch, n, m], of the same dtype
  const Buffer& output;  // as `right`; may be it
};

// Solves L X = B, where L is the strictly lower part of the matrix with ones on the diagonal; what
// stands on the diagonal and above is not read. Row i is B[i] minus the sum of L[i, j] X[j], added
// up in float from rows already rounded to the dtype. kDtypeMismatch, kShapeMismatch, kOutOfRange,
// kInvalidArgument for wrong arguments.
Status tri_solve(ComputeEncoder& encoder, const TriSolveParams& params);

}  // namespace mlxn
