// The archives that archives.S brings in.
#include "mlxn/ops/builtin_kernels.h"

extern "C" {
extern const std::byte mlxn_builtin_v1[], mlxn_builtin_v1_end[];
extern const std::byte mlxn_builtin_v3[], mlxn_builtin_v3_end[];
extern const std::byte mlxn_builtin_v4[], mlxn_builtin_v4_end[];
extern const std::byte mlxn_builtin_v4_dot[], mlxn_builtin_v4_dot_end[];
}

namespace mlxn {

std::span<const std::span<const std::byte>> builtin_archives() {
  static const std::span<const std::byte> archives[] = {
      {mlxn_builtin_v1, mlxn_builtin_v1_end},
      {mlxn_builtin_v3, mlxn_builtin_v3_end},
      {mlxn_builtin_v4, mlxn_builtin_v4_end},
      {mlxn_builtin_v4_dot, mlxn_builtin_v4_dot_end}};
  return archives;
}

}  // namespace mlxn
