// Conversions between UTF-8 and the other encodings of NS::String.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "Foundation/NSString.hpp"

namespace mlxn::rt {

// The bytes as UTF-8; nothing when they are not valid in the encoding or it is not supported. Bytes
// above 127 in "ASCII" are taken as UTF-8 where they are that, else as ISO Latin 1: programs give
// sources with a few such characters in comments as ASCII.
std::optional<std::string> decode(std::string_view bytes, NS::StringEncoding encoding);

// The reverse; nothing when a character has no place in the encoding or it is not supported.
std::optional<std::string> encode(std::string_view utf8, NS::StringEncoding encoding);

std::u16string to_utf16(std::string_view utf8);

}  // namespace mlxn::rt
