#pragma once

#include <string>
#include <string_view>

namespace mlxn {

// Text from files, models and sources as a terminal may get it: control characters other than
// newline and tab, which could move the cursor, change the title or hide what is written, are
// spelled \x1b.
std::string printable(std::string_view text);

}  // namespace mlxn
