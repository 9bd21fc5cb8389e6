// JSON from files that nobody vouches for. Inside this folder only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "mlxn/base/result.h"

namespace mlxn::io {

// The whole text as one value. kCorruptData for anything that is not valid JSON, for an object with
// a name twice, and for values nested deeper than `depth` (1: no object or array inside another).
Result<nlohmann::json> parse_json(std::string_view text, int depth);

// A member of an object; null when `object` is none or has no such member.
const nlohmann::json* member(const nlohmann::json& object, std::string_view name);

}  // namespace mlxn::io
