#include "mlxn/ops/fusion_rules.h"

#include "mlxn/ops/matmul/matmul_silu_mul.h"
#include "mlxn/ops/norm/rms_norm.h"

namespace mlxn {

ArrayRef<FusionRule> fusion_rules() {
  static const FusionRule kRules[] = {kMatmulSiluMulRule, kRmsNormMulRule, kAddRmsNormRule};
  return kRules;
}

}  // namespace mlxn
