#pragma once

#include <span>
#include <string>

#include "mlxn/testing/op_case.h"

namespace mlxn::cases {

// The text of docs/ops.md.
std::string ops_doc(std::span<const OpCases> ops);

}  // namespace mlxn::cases
