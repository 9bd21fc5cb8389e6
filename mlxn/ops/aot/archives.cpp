// The archives that archives.S brings in.
#include <vector>

#include "mlxn/ops/builtin_kernels.h"

namespace {

struct Archive {
  const std::byte *begin, *end;
};

}  // namespace

extern "C" {
extern const Archive mlxn_builtin_archives[], mlxn_builtin_archives_end[];
}

namespace mlxn {

std::span<const std::span<const std::byte>> builtin_archives() {
  static const auto archives = [] {
    std::vector<std::span<const std::byte>> all;
    for (const Archive& one : std::span(mlxn_builtin_archives, mlxn_builtin_archives_end)) {
      all.emplace_back(one.begin, one.end);
    }
    return all;
  }();
  return archives;
}

}  // namespace mlxn
