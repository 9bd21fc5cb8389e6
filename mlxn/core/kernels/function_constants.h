#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include <Metal/Metal.hpp>

#include "mlxn/base/result.h"

namespace mlxn {

// Values of MSL function constants, by index and typed. Setting an index again replaces it; the
// order of setting plays no part.
class FunctionConstants {
 public:
  struct Value {
    MTL::DataType type;
    std::vector<std::byte> bytes;
    friend bool operator==(const Value&, const Value&) = default;
  };

  FunctionConstants& set_bool(uint32_t index, bool value);
  FunctionConstants& set_int(uint32_t index, int32_t value);
  // Any type a function constant may have: bool, char to ulong, half, bfloat, float and their
  // vectors of 2 to 4. `size` must be the type's in MSL, where a vector of 3 takes the room of 4.
  Status set(uint32_t index, MTL::DataType type, const void* bytes, size_t size);

  bool empty() const { return values_.empty(); }
  const std::map<uint32_t, Value>& values() const { return values_; }
  // "|0:b1|100:i7|101:half2:3c00,0": by index; bool and int as b and i with the value, other types
  // by their MSL name and the bits in hexadecimal. Equal texts mean equal constants.
  std::string to_string() const;
  NS::SharedPtr<MTL::FunctionConstantValues> to_metal() const;
  friend bool operator==(const FunctionConstants&, const FunctionConstants&) = default;

 private:
  std::map<uint32_t, Value> values_;
};

}  // namespace mlxn
