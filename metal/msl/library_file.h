// Libraries as files. A library holds one unit for each source it was made from: the unit's text
// (source and options) and its index (the functions and constants in it). One format serves for
// objects (.air), archives and libraries (.metallib); to link is to put units side by side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::msl {

// What a unit is made from.
struct LibraryText {
  std::string source;
  CompileOptions options;
};

std::vector<uint8_t> serialize(const LibraryText& text);
Result<LibraryText> parse_library_text(std::string_view bytes);

// A unit inside a file: what serialize() made of its description and of its text.
struct StoredUnit {
  std::string_view index, text;
};

// Whether the bytes begin as a library file does.
bool is_library_file(std::string_view bytes);
std::vector<uint8_t> write_library_file(const std::vector<StoredUnit>& units);
// The units of a file, as views of its bytes. Their contents are checked when they are parsed.
Result<std::vector<StoredUnit>> read_library_file(std::string_view bytes);

}  // namespace mlxn::msl
