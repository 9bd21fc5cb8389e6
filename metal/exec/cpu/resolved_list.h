#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "metal/exec/cpu/cpu_dispatch.h"
#include "metal/rt/executor/prepared_list.h"

namespace mlxn::cpu {

// The dispatches of a prepared list, resolved once; each with why it cannot run.
class ResolvedList : public rt::PreparedList::Compiled {
 public:
  explicit ResolvedList(const rt::CommandList& list) : dispatches_(list.commands.size()) {
    for (size_t i = 0; i < dispatches_.size(); ++i) {
      const auto* dispatch = std::get_if<rt::Dispatch>(&list.commands[i]);
      if (!dispatch) continue;
      auto& [prepared, status] = dispatches_[i].emplace();
      status = prepared.prepare(*dispatch, list);
    }
  }
  static const ResolvedList& of(const rt::PreparedList& prepared) {
    return static_cast<const ResolvedList&>(prepared.compiled(
        [](const auto& self) { return std::make_unique<ResolvedList>(self.list); }));
  }

  // Null: the command is a barrier.
  Result<const PreparedDispatch*> at(size_t index) const {
    const auto& found = dispatches_[index];
    if (!found) return nullptr;
    MLXN_TRY(found->second);
    return &found->first;
  }

 private:
  std::vector<std::optional<std::pair<PreparedDispatch, Status>>> dispatches_;
};

}  // namespace mlxn::cpu
