// GGUF files byte by byte, also wrong ones: it writes what it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mlxn/io/internal/byte_writer.h"
#include "mlxn/io/metadata.h"

namespace mlxn::io {

class RawGguf {
 public:
  RawGguf(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
    out_.append(std::as_bytes(std::span("GGUF", 4)));
    out_.number(version);
    out_.number(tensors);
    out_.number(entries);
  }

  template <class T>
  RawGguf& number(T value) {
    out_.number(value);
    return *this;
  }
  RawGguf& text(std::string_view text) {
    out_.counted_text(text);
    return *this;
  }
  RawGguf& type(MetaType type) { return number(static_cast<uint32_t>(type)); }

  template <class T>
  RawGguf& entry(std::string_view name, MetaType value_type, T value) {
    return text(name).type(value_type).number(value);
  }
  RawGguf& entry(std::string_view name, std::string_view value) {
    return text(name).type(MetaType::kString).text(value);
  }
  // The head of an array; its elements follow.
  RawGguf& array(std::string_view name, MetaType element, uint64_t count) {
    return text(name).type(MetaType::kArray).type(element).number(count);
  }
  RawGguf& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t tensor_type,
                  uint64_t offset) {
    text(name).number(static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims) number(dim);
    return number(tensor_type).number(offset);
  }
  // Zeros up to the alignment, then `count` bytes 1, 2, 3, ...
  RawGguf& data(uint64_t count, uint64_t alignment = 32) {
    out_.zeros((alignment - out_.size() % alignment) % alignment);
    for (uint64_t i = 1; i <= count; ++i) out_.number(static_cast<uint8_t>(i));
    return *this;
  }
  RawGguf& zeros(uint64_t count) {
    out_.zeros(count);
    return *this;
  }

  std::vector<std::byte> bytes() const { return ByteWriter(out_).take(); }

 private:
  ByteWriter out_;
};

}  // namespace mlxn::io
