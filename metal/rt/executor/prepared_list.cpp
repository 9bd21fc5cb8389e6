#include "metal/rt/executor/prepared_list.h"

#include <algorithm>
#include <cstring>

#include "mlxn/base/checked.h"

namespace mlxn::rt {

PreparedList::Range PreparedList::clamp(Range range) const {
  const uint64_t places = begins.size() - 1, first = std::min(range.first, places);
  return {first, std::min(range.count, places - first)};
}

const Error* PreparedList::error_at(uint64_t place) const {
  const auto found = std::ranges::lower_bound(wrong, place, {}, &std::pair<uint64_t, Error>::first);
  return found != wrong.end() && found->first == place ? &found->second : nullptr;
}

Result<PreparedList::Range> range_of(const Execute& execute, const std::byte* indirect) {
  if (!execute.indirect) return PreparedList::Range{execute.first, execute.count};
  uint32_t range[2];
  const uint64_t size = execute.indirect->size;
  if (!indirect || !span_fits(execute.indirect_offset, sizeof(range), size)) {
    return Error(ErrorCode::kInvalidArgument,
                 str("execution range at byte ", execute.indirect_offset, " of a buffer of ", size,
                     " bytes", indirect ? "" : " that the host cannot see"));
  }
  std::memcpy(range, indirect + execute.indirect_offset, sizeof(range));
  return PreparedList::Range{range[0], range[1]};
}

}  // namespace mlxn::rt
