#pragma once

#include <cstdint>

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

struct Origin {
  Origin() = default;
  Origin(NS::UInteger x_, NS::UInteger y_, NS::UInteger z_) : x(x_), y(y_), z(z_) {}
  static Origin Make(NS::UInteger x, NS::UInteger y, NS::UInteger z) { return Origin(x, y, z); }

  NS::UInteger x;
  NS::UInteger y;
  NS::UInteger z;
} MLXN_METAL_PACKED;

struct Size {
  Size() = default;
  Size(NS::UInteger w, NS::UInteger h, NS::UInteger d) : width(w), height(h), depth(d) {}
  static Size Make(NS::UInteger w, NS::UInteger h, NS::UInteger d) { return Size(w, h, d); }

  NS::UInteger width;
  NS::UInteger height;
  NS::UInteger depth;
} MLXN_METAL_PACKED;

struct Region {
  Region() = default;
  Region(NS::UInteger x, NS::UInteger w) : origin(x, 0, 0), size(w, 1, 1) {}
  Region(NS::UInteger x, NS::UInteger y, NS::UInteger w, NS::UInteger h)
      : origin(x, y, 0), size(w, h, 1) {}
  Region(NS::UInteger x, NS::UInteger y, NS::UInteger z, NS::UInteger w, NS::UInteger h,
         NS::UInteger d)
      : origin(x, y, z), size(w, h, d) {}
  static Region Make1D(NS::UInteger x, NS::UInteger w) { return Region(x, w); }
  static Region Make2D(NS::UInteger x, NS::UInteger y, NS::UInteger w, NS::UInteger h) {
    return Region(x, y, w, h);
  }
  static Region Make3D(NS::UInteger x, NS::UInteger y, NS::UInteger z, NS::UInteger w,
                       NS::UInteger h, NS::UInteger d) {
    return Region(x, y, z, w, h, d);
  }

  MTL::Origin origin;
  MTL::Size size;
} MLXN_METAL_PACKED;

struct ResourceID {
  uint64_t _impl;
} MLXN_METAL_PACKED;

}  // namespace MTL
