#include "mlxn/ops/fusion_rules.h"

#include "mlxn/ops/activation/silu_mul_quantise.h"
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/kv/rope_kv_write.h"
#include "mlxn/ops/matmul/matmul_silu_mul.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/norm/rms_norm_quantise.h"

namespace mlxn {

ArrayRef<FusionRule> fusion_rules() {
  static const FusionRule kRules[] = {
      kMatmulSiluMulRule,   kRmsNormMulRule,        kAddRmsNormRule, kRmsNormQuantiseRule,
      kSiluMulQuantiseRule, kAttentionQuantiseRule, kRopeKvWriteRule};
  return kRules;
}

}  // namespace mlxn
