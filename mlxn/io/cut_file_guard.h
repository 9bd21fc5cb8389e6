// For programs that must live on when a file is cut while it is mapped.
#pragma once

#include <cstddef>

namespace mlxn::io {

// Touching pages that a file has lost raises SIGBUS, which ends the process. After this call such
// pages of a MappedFile read as zeros instead; MappedFile::check_length() then tells that the file
// was cut, so what was read in between must be checked before it is believed. Other SIGBUS signals
// go where they went before. For the whole process and for good: a program decides this, not a
// library.
void survive_cut_files();

// Of MappedFile: memory that a file is mapped to. The first 4096 such maps are guarded.
void add_guarded_map(const void* data, size_t size);
void remove_guarded_map(const void* data);

}  // namespace mlxn::io
