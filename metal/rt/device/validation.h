// Reports of wrong API calls. They go to the log and to the handler of mlxn/metal_extensions.hpp.
#pragma once

#include <string>
#include <string_view>

namespace mlxn::rt {

// Reports "call: text" and returns that message.
std::string report(std::string_view call, std::string_view text);

}  // namespace mlxn::rt
