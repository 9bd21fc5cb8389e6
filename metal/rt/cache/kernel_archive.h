// Compiled kernels that come with a program: entries of a kernel cache in one block of memory,
// compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "metal/rt/cache/cache_store.h"
#include "mlxn/base/result.h"

namespace mlxn::rt {

// A block of such entries, each the text of its key and its data. Neighbours are compressed
// together, so similar ones should lie side by side.
Result<std::vector<uint8_t>> serialize_archive(
    std::span<const std::pair<std::string, std::vector<uint8_t>>> entries);

// For all devices of this process, for good; the memory must stay. Reads the index alone; a block
// is trusted like code, which it is: only a program's own memory is added. kCorruptData when the
// block is cut short or damaged. The same block again changes nothing. Thread-safe.
Status add_archive(std::span<const uint8_t> block);

// Whether some archive has data for a key, and the data, which is unpacked. Thread-safe.
bool archives_have(const Digest& digest, std::string_view key);
std::optional<std::vector<uint8_t>> find_in_archives(const Digest& digest, std::string_view key);
bool has_archives();

}  // namespace mlxn::rt
