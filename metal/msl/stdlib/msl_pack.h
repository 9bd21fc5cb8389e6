// metal_pack: normalised integers packed in one word. Values are clamped, scaled and rounded to the
// nearest even integer; NaN packs as the lower bound.
#pragma once
#pragma clang system_header

namespace __msl {

__MSL_FN unsigned to_unorm(float x, unsigned max) {
  return unsigned(target::rint(saturate(x) * float(max)));
}
__MSL_FN unsigned to_snorm(float x, int max) {
  return unsigned(int(target::rint(fclamp(x, -1.0f, 1.0f) * float(max))));
}
__MSL_FN float from_unorm(unsigned bits, unsigned max) {
  return float(bits & max) / float(max);
}
__MSL_FN float from_snorm(unsigned bits, int max) {
  unsigned shift = max == 127 ? 24 : 16;
  return fmax(float(int(bits << shift) >> shift) / float(max), -1.0f);
}
__MSL_FN float to_srgb(float x) {
  x = saturate(x);
  return x <= 0.0031308f ? x * 12.92f : 1.055f * target::pow(x, 1.0f / 2.4f) - 0.055f;
}
__MSL_FN float from_srgb(float x) {
  return x <= 0.04045f ? x / 12.92f : target::pow((x + 0.055f) / 1.055f, 2.4f);
}

}  // namespace __msl

namespace metal {

#define __MSL_PACK_FORMATS(T)                                                                   \
  __MSL_FN uint pack_##T##_to_unorm4x8(vec<T, 4> v) {                                           \
    using ::__msl::to_unorm;                                                                    \
    return to_unorm(v.x, 255) | to_unorm(v.y, 255) << 8 | to_unorm(v.z, 255) << 16 |            \
           to_unorm(v.w, 255) << 24;                                                            \
  }                                                                                             \
  __MSL_FN uint pack_##T##_to_snorm4x8(vec<T, 4> v) {                                           \
    using ::__msl::to_snorm;                                                                    \
    return (to_snorm(v.x, 127) & 255) | (to_snorm(v.y, 127) & 255) << 8 |                       \
           (to_snorm(v.z, 127) & 255) << 16 | (to_snorm(v.w, 127) & 255) << 24;                 \
  }                                                                                             \
  __MSL_FN uint pack_##T##_to_srgb_unorm4x8(vec<T, 4> v) {                                      \
    using ::__msl::to_srgb;                                                                     \
    return pack_##T##_to_unorm4x8(                                                              \
        vec<T, 4>(T(to_srgb(v.x)), T(to_srgb(v.y)), T(to_srgb(v.z)), v.w));                     \
  }                                                                                             \
  __MSL_FN uint pack_##T##_to_unorm2x16(vec<T, 2> v) {                                          \
    return ::__msl::to_unorm(v.x, 65535) | ::__msl::to_unorm(v.y, 65535) << 16;                 \
  }                                                                                             \
  __MSL_FN uint pack_##T##_to_snorm2x16(vec<T, 2> v) {                                          \
    return (::__msl::to_snorm(v.x, 32767) & 65535) | ::__msl::to_snorm(v.y, 32767) << 16;       \
  }                                                                                             \
  __MSL_FN uint pack_##T##_to_unorm10a2(vec<T, 4> v) {                                          \
    using ::__msl::to_unorm;                                                                    \
    return to_unorm(v.x, 1023) | to_unorm(v.y, 1023) << 10 | to_unorm(v.z, 1023) << 20 |        \
           to_unorm(v.w, 3) << 30;                                                              \
  }                                                                                             \
  __MSL_FN ushort pack_##T##_to_unorm565(vec<T, 3> v) {                                         \
    using ::__msl::to_unorm;                                                                    \
    return ushort(to_unorm(v.x, 31) << 11 | to_unorm(v.y, 63) << 5 | to_unorm(v.z, 31));        \
  }                                                                                             \
  __MSL_FN vec<T, 4> unpack_unorm4x8_to_##T(uint u) {                                           \
    using ::__msl::from_unorm;                                                                  \
    return vec<T, 4>(from_unorm(u, 255), from_unorm(u >> 8, 255), from_unorm(u >> 16, 255),     \
                     from_unorm(u >> 24, 255));                                                 \
  }                                                                                             \
  __MSL_FN vec<T, 4> unpack_snorm4x8_to_##T(uint u) {                                           \
    using ::__msl::from_snorm;                                                                  \
    return vec<T, 4>(from_snorm(u, 127), from_snorm(u >> 8, 127), from_snorm(u >> 16, 127),     \
                     from_snorm(u >> 24, 127));                                                 \
  }                                                                                             \
  __MSL_FN vec<T, 4> unpack_unorm4x8_srgb_to_##T(uint u) {                                      \
    using ::__msl::from_srgb;                                                                   \
    using ::__msl::from_unorm;                                                                  \
    return vec<T, 4>(from_srgb(from_unorm(u, 255)), from_srgb(from_unorm(u >> 8, 255)),         \
                     from_srgb(from_unorm(u >> 16, 255)), from_unorm(u >> 24, 255));            \
  }                                                                                             \
  __MSL_FN vec<T, 2> unpack_unorm2x16_to_##T(uint u) {                                          \
    return vec<T, 2>(::__msl::from_unorm(u, 65535), ::__msl::from_unorm(u >> 16, 65535));       \
  }                                                                                             \
  __MSL_FN vec<T, 2> unpack_snorm2x16_to_##T(uint u) {                                          \
    return vec<T, 2>(::__msl::from_snorm(u, 32767), ::__msl::from_snorm(u >> 16, 32767));       \
  }                                                                                             \
  __MSL_FN vec<T, 4> unpack_unorm10a2_to_##T(uint u) {                                          \
    using ::__msl::from_unorm;                                                                  \
    return vec<T, 4>(from_unorm(u, 1023), from_unorm(u >> 10, 1023), from_unorm(u >> 20, 1023), \
                     from_unorm(u >> 30, 3));                                                   \
  }                                                                                             \
  __MSL_FN vec<T, 3> unpack_unorm565_to_##T(ushort u) {                                         \
    using ::__msl::from_unorm;                                                                  \
    return vec<T, 3>(from_unorm(u >> 11, 31), from_unorm(u >> 5, 63), from_unorm(u, 31));       \
  }
__MSL_PACK_FORMATS(float)
__MSL_PACK_FORMATS(half)

}  // namespace metal
