// float math for the CPU: branch-free polynomials (one branch in sin, cos, tan and fmod for huge
// arguments), so that loops over work items vectorise and vector and scalar code give the same
// bits. Errors are a few units in the last place at most over the whole range; infinities, NaNs and
// denormals follow C. No call leaves the kernel.
//
// Float to integer conversion goes through "add a big number, look at the low bits", which has no
// undefined case. Contraction and reassociation are off here: each fma is meant as written.
#pragma once
#pragma clang system_header
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)

namespace __msl {
namespace cpu {

inline constexpr float kInf = __builtin_inff();

// Literals without suffix are float in MSL, so double ones need their own.
__MSL_CONSTEXPR_FN double operator""_d(long double v) {
  return double(v);
}

__MSL_CONSTEXPR_FN float from_bits(unsigned b) {
  return __builtin_bit_cast(float, b);
}
__MSL_CONSTEXPR_FN unsigned to_bits(float f) {
  return __builtin_bit_cast(unsigned, f);
}
__MSL_CONSTEXPR_FN double from_bits(unsigned long b) {
  return __builtin_bit_cast(double, b);
}
__MSL_CONSTEXPR_FN unsigned long to_bits(double d) {
  return __builtin_bit_cast(unsigned long, d);
}
__MSL_FN float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__MSL_FN double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
__MSL_FN float fabs(float x) {
  return __builtin_fabsf(x);
}
__MSL_FN float copysign(float x, float s) {
  return __builtin_copysignf(x, s);
}

// Horner's scheme, lowest coefficient first.
template <class T>
__MSL_FN T poly(T, T c0) {
  return c0;
}
template <class T, class... More>
__MSL_FN T poly(T x, T c0, T c1, More... more) {
  return fma(poly(x, c1, more...), x, c0);
}

// NaN stays NaN: no comparison holds for it.
template <class T>
__MSL_FN T limit(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// Nearest integer of a float below 2^22 or a double below 2^51, as number and in the low bits.
template <class T>
struct Rounded {
  T value;
  int low_bits;
};
__MSL_FN Rounded<float> nearest(float x) {
  float shifted = x + 0x1.8p23f;
  return {shifted - 0x1.8p23f, int(to_bits(shifted) - to_bits(0x1.8p23f))};
}
__MSL_FN Rounded<double> nearest(double x) {
  double shifted = x + 0x1.8p52_d;
  return {shifted - 0x1.8p52_d, int(to_bits(shifted) - to_bits(0x1.8p52_d))};
}

// x * 2^n for |n| <= 252, rounded once: the first factor keeps x normal.
__MSL_FN float scale(float x, int n) {
  int half = n >> 1;
  return x * from_bits(unsigned(half + 127) << 23) * from_bits(unsigned(n - half + 127) << 23);
}

// e^r for |r| <= log(2)/2.
__MSL_FN float exp_core(float r) {
  float p = poly(r, 0.499999934f, 0.166665195f, 0.0416684011f, 0.00836885107f, 0.00138143207f);
  return 1.0f + fma(r * r, p, r);
}

__MSL_FN float exp(float x) {
  x = limit(x, -105.0f, 90.0f);
  Rounded<float> n = nearest(x * 0x1.715476p+0f);
  float r = fma(n.value, -0x1.62e400p-1f, x);
  r = fma(n.value, -0x1.7f7d1cp-20f, r);
  return scale(exp_core(r), n.low_bits);
}

__MSL_FN float exp2(float x) {
  x = limit(x, -152.0f, 129.0f);
  Rounded<float> n = nearest(x);
  float f = x - n.value;
  float p = poly(f, 0.693147203f, 0.240226479f, 0.0555033185f, 0.00961843985f, 0.00133991326f,
                 0.000153531541f);
  return scale(fma(f, p, 1.0f), n.low_bits);
}

__MSL_FN float exp10(float x) {
  x = limit(x, -46.0f, 39.0f);
  Rounded<float> n = nearest(x * 0x1.a934f0p+1f);
  float r = fma(n.value, -0x1.344000p-2f, x);
  r = fma(n.value, -0x1.3509f8p-18f, r);
  return scale(exp_core(r * 0x1.26bb1cp+1f), n.low_bits);
}

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); denormals are lifted first.
struct Decomposed {
  float m, e;
};
__MSL_FN Decomposed decompose(float x) {
  bool tiny = x < 0x1p-126f;
  unsigned bits = to_bits(tiny ? x * 0x1p23f : x) - 0x3f3504f3u;  // sqrt(1/2)
  float m = from_bits((bits & 0x007fffffu) + 0x3f3504f3u);
  return {m, float(int(bits) >> 23) - (tiny ? 23.0f : 0.0f)};
}
// log(1 + f) - f for 1 + f in that range.
__MSL_FN float log_tail(float f) {
  float p = poly(f, 0.333333125f, -0.250000095f, 0.200021236f, -0.166680085f, 0.142194527f,
                 -0.124052779f, 0.118886326f, -0.116778806f, 0.0674834133f);
  return f * f * fma(f, p, -0.5f);
}
// The values no polynomial gives.
__MSL_FN float log_special(float x, float result) {
  result = x == kInf ? kInf : result;
  result = x == 0.0f ? -kInf : result;
  return x < 0.0f || x != x ? __builtin_nanf("") : result;
}

__MSL_FN float log(float x) {
  Decomposed d = decompose(x);
  float f = d.m - 1.0f;
  float low = fma(d.e, 0x1.7f7d1cp-20f, log_tail(f));
  return log_special(x, fma(d.e, 0x1.62e400p-1f, f + low));
}
__MSL_FN float log2(float x) {
  Decomposed d = decompose(x);
  float f = d.m - 1.0f;
  float t = log_tail(f);
  float low = fma(f, 0x1.4ae0bep-26f, t * 0x1.715476p+0f);
  return log_special(x, d.e + fma(f, 0x1.715476p+0f, low));
}
__MSL_FN float log10(float x) {
  Decomposed d = decompose(x);
  float f = d.m - 1.0f;
  float low = fma(d.e, 0x1.3509f8p-18f, log_tail(f) * 0x1.bcb7b2p-2f);
  low = fma(f, -0x1.5b235ep-27f, low);
  return log_special(x, fma(d.e, 0x1.344000p-2f, fma(f, 0x1.bcb7b2p-2f, low)));
}

// --- Sine and cosine -------------------------------------------------------------------------

// An angle as quarter turns and a rest within pi/4.
struct Angle {
  float r;
  int quadrant;
};

// 2/pi, 64 bits each, most significant first; enough for the largest float. Chosen by selects: a
// table look-up would need a memory check in every vectorised loop.
inline constexpr unsigned long kTwoOverPi0 = 0xa2f9836e4e441529ul,
                               kTwoOverPi1 = 0xfc2757d1f534ddc0ul,
                               kTwoOverPi2 = 0xdb6295993c439041ul,
                               kTwoOverPi3 = 0xfe5163abdebbc561ul;

// Exact for every finite x from 2^16 on. x = m * 2^e; the bits of 2/pi above 2^(1-e) make whole
// turns and are skipped, the next 29 times m are exact in double, and 53 more give the rest.
__attribute__((cold)) __MSL_FN Angle reduce_large(float x) {
  unsigned bits = to_bits(x);
  int e = int((bits >> 23) & 0xff) - 150;  // -7..104 for finite x
  double m = double(int((bits & 0x7fffffu) | 0x800000u));
  int skip = e > 2 ? e - 2 : 0;  // leading bits of 2/pi to drop
  int shift = skip & 63;
  bool far = skip >= 64;
  unsigned long a = far ? kTwoOverPi1 : kTwoOverPi0, b = far ? kTwoOverPi2 : kTwoOverPi1,
                c = far ? kTwoOverPi3 : kTwoOverPi2;
  unsigned long high = a << shift | (b >> 1) >> (63 - shift);
  unsigned long low = b << shift | (c >> 1) >> (63 - shift);
  // The window starts at weight 2^(e - skip - 1), in quarter turns; unit is the weight of its end.
  double unit = from_bits((unsigned long)(1023 + e - skip - 64) << 52);
  double top = double(long(high >> 35)) * 0x1p35_d * unit;
  double rest = (double(long(high & 0x7fffffffful)) + double(long(low >> 40)) * 0x1p-24_d) * unit;
  double turns = m * top;
  Rounded<double> n = nearest(turns);
  double f = (turns - n.value) + m * rest;
  Rounded<double> n2 = nearest(f);
  double r = (f - n2.value) * 0x1.921fb54442d18p+0_d;
  int q = n.low_bits + n2.low_bits;
  bool negative = bits >> 31;
  return {float(negative ? -r : r), negative ? -q : q};
}

// Good below 2^16.
__MSL_FN Angle reduce_small(float x) {
  Rounded<float> n = nearest(x * 0x1.45f306p-1f);
  float r = fma(n.value, -0x1.921fb4p+0f, x);  // pi/2 in three parts of one sign: -0 stays -0
  r = fma(n.value, -0x1.4442d0p-24f, r);
  r = fma(n.value, -0x1.84698ap-48f, r);
  return {r, n.low_bits};
}

__MSL_FN Angle reduce(float x) {
  Angle angle = reduce_small(x);
  if (__builtin_expect(fabs(x) >= 0x1p16f, 0)) {
    angle = reduce_large(x);
    angle.r = fabs(x) < kInf ? angle.r : __builtin_nanf("");
  }
  return angle;
}

__MSL_FN float sin_core(float r) {
  float z = r * r;
  float p = poly(z, -0.166666666f, 0.00833332934f, -0.000198393194f, 2.71816282e-06f);
  return copysign(fma(r * z, p, r), r);  // -0 plus a product of the other sign would be +0
}
__MSL_FN float cos_core(float r) {
  float z = r * r, half_z = 0.5f * z, main = 1.0f - half_z;
  float p = poly(z, 0.0416666666f, -0.00138888855f, 2.47998983e-05f, -2.72358927e-07f);
  float lost = fma(r, r, -z) * -0.5f + ((1.0f - main) - half_z);  // by rounding z and main
  return main + fma(z * z, p, lost);
}
// Sine after `quadrant` quarter turns, from both cores.
__MSL_FN float turned(float sine, float cosine, int quadrant) {
  float v = quadrant & 1 ? cosine : sine;
  return from_bits(to_bits(v) ^ (unsigned(quadrant & 2) << 30));
}

__MSL_FN float sin(float x) {
  Angle a = reduce(x);
  return turned(sin_core(a.r), cos_core(a.r), a.quadrant);
}
__MSL_FN float cos(float x) {
  Angle a = reduce(x);
  return turned(sin_core(a.r), cos_core(a.r), a.quadrant + 1);
}
__MSL_FN float tan(float x) {
  Angle a = reduce(x);
  float s = sin_core(a.r), c = cos_core(a.r);
  return a.quadrant & 1 ? -c / s : s / c;
}

// Arguments in half turns: the reduction is exact.
__MSL_FN Angle reduce_pi(float x) {
  x = fabs(x) < 0x1p24f ? x : x - x;  // whole turns from here on; infinity becomes NaN
  float n = __builtin_rintf(x * 2.0f);
  float q = n - 4.0f * __builtin_floorf(n * 0.25f);
  return {n == 0.0f ? x : fma(n, -0.5f, x), nearest(q).low_bits};
}
__MSL_FN float sinpi_core(float f) {
  float z = f * f;
  float p = poly(z, -5.16771277f, 2.55016282f, -0.599205714f, 0.0810268764f);
  return copysign(fma(f, 0x1.921fb6p+1f, fma(f * z, p, f * -0x1.777a5cp-24f)), f);
}
__MSL_FN float cospi_core(float f) {
  float z = f * f;
  float p = poly(z, 4.05871212f, -1.33526227f, 0.23531089f, -0.0254808231f);
  return fma(z * z, p, fma(z, -0x1.3bd3ccp+2f, 1.0f));
}
__MSL_FN float sinpi(float x) {
  Angle a = reduce_pi(x);
  return turned(sinpi_core(a.r), cospi_core(a.r), a.quadrant);
}
__MSL_FN float cospi(float x) {
  Angle a = reduce_pi(x);
  return turned(sinpi_core(a.r), cospi_core(a.r), a.quadrant + 1);
}
__MSL_FN float tanpi(float x) {
  Angle a = reduce_pi(x);
  float s = sinpi_core(a.r), c = cospi_core(a.r);
  return a.quadrant & 1 ? -c / s : s / c;
}

// --- Powers and hyperbolic functions: through double, rounded once at the end -------------------

// 2^x for |x| <= 1000.
__MSL_FN double exp2_double(double x) {
  Rounded<double> n = nearest(x);
  double r = (x - n.value) * 0x1.62e42fefa39efp-1_d;
  double p = poly(r, 1.0_d, 1.0_d, 0.5_d, 1.0_d / 6, 1.0_d / 24, 1.0_d / 120, 1.0_d / 720,
                  1.0_d / 5040, 1.0_d / 40320, 1.0_d / 362880, 1.0_d / 3628800);
  return p * from_bits((unsigned long)(n.low_bits + 1023) << 52);
}
__MSL_FN double exp_double(double x) {
  return exp2_double(limit(x * 0x1.71547652b82fep+0_d, -1000.0_d, 1000.0_d));
}
// Natural logarithm of a positive normal double, by the series of 2 atanh((m - 1) / (m + 1)).
__MSL_FN double log_double(double x) {
  unsigned long bits = to_bits(x) - 0x3fe6a09e667f3bcdul;
  double m = from_bits((bits & 0xffffffffffffful) + 0x3fe6a09e667f3bcdul);
  double e = double(int(long(bits) >> 52));
  double s = (m - 1.0_d) / (m + 1.0_d), z = s * s;
  double p = poly(z, 2.0_d, 2.0_d / 3, 2.0_d / 5, 2.0_d / 7, 2.0_d / 9, 2.0_d / 11, 2.0_d / 13,
                  2.0_d / 15);
  return fma(e, 0x1.62e42fefa39efp-1_d, s * p);
}

// x^y for x >= 0 by exp(y log x); zero and infinity enter as infinite logarithms.
__MSL_FN float power_core(float x, float y) {
  double l = log_double(double(x)) * 0x1.71547652b82fep+0_d;
  l = x == 0.0f ? -__builtin_inf() : x == kInf ? __builtin_inf() : l;
  double t = l * double(y);
  float r = float(exp2_double(limit(t, -1000.0_d, 1000.0_d)));
  return t != t || x != x ? __builtin_nanf("") : r;
}
__MSL_FN float powr(float x, float y) {
  return x < 0.0f ? __builtin_nanf("") : power_core(x, y);
}
// x^y from |x|^y: the sign, and the values exp(y log x) does not give.
__MSL_FN float signed_power(float x, float y, float r) {
  bool whole = __builtin_rintf(y) == y;
  float half_y = y * 0.5f;
  bool odd = whole && __builtin_rintf(half_y) != half_y;
  r = x < 0.0f && !whole && fabs(x) < kInf ? __builtin_nanf("") : r;
  r = odd ? copysign(r, x) : r;
  r = x == 1.0f || y == 0.0f || (x == -1.0f && fabs(y) == kInf) ? 1.0f : r;
  return r;
}
__MSL_FN float pow(float x, float y) {
  return signed_power(x, y, power_core(fabs(x), y));
}

__MSL_FN float tanh(float x) {
  float a = fabs(x), z = x * x;
  float p = poly(z, -0.333332839f, 0.133314913f, -0.0537434981f, 0.0206505873f, -0.00571704506f);
  float small = fma(x * z, p, x);
  float big = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  return copysign(a < 0.625f ? small : big, x);
}
__MSL_FN float sinh(float x) {
  double e = exp_double(double(x));
  float r = float(0.5_d * (e - 1.0_d / e));
  return fabs(x) < 0x1p-12f ? x : r;
}
__MSL_FN float cosh(float x) {
  double e = exp_double(double(x));
  return float(0.5_d * (e + 1.0_d / e));
}
// NaN and infinity pass through untouched.
__MSL_FN float asinh(float x) {
  double a = double(fabs(x));
  float r = float(log_double(a + __builtin_elementwise_sqrt(a * a + 1.0_d)));
  return fabs(x) >= 0x1p-12f && fabs(x) < kInf ? copysign(r, x) : x;
}
__MSL_FN float acosh(float x) {
  double a = double(x);
  float r = float(log_double(a + __builtin_elementwise_sqrt((a - 1.0_d) * (a + 1.0_d))));
  r = x < kInf ? r : x;
  return x >= 1.0f ? r : __builtin_nanf("");
}
__MSL_FN float atanh(float x) {
  double a = double(fabs(x));
  float r = float(0.5_d * log_double((1.0_d + a) / (1.0_d - a)));
  r = fabs(x) < 0x1p-12f ? x : copysign(r, x);
  r = fabs(x) == 1.0f ? copysign(kInf, x) : r;
  return fabs(x) <= 1.0f ? r : __builtin_nanf("");
}

// --- Inverse trigonometric functions ----------------------------------------------------------

// Angle of the point (x, y), both finite or infinite; quadrants by symmetry, polynomial on [0, 1].
__MSL_FN double atan2_double(double y, double x) {
  double ay = __builtin_fabs(y), ax = __builtin_fabs(x);
  bool steep = ay > ax;
  double small = steep ? ax : ay, big = steep ? ay : ax;
  double t = small / big;
  t = big == 0.0_d ? 0.0_d : t;
  t = small == __builtin_inf() ? 1.0_d : t;
  double z = t * t;
  double p = poly(z, -0.33333333222360767_d, 0.19999989208580318_d, -0.14285397658637558_d,
                  0.11106718019295436_d, -0.090560163743579156_d, 0.075162372801341651_d,
                  -0.060644115134430306_d, 0.044210077208043069_d, -0.026498417242495537_d,
                  0.011697070148045934_d, -0.003278589110188869_d, 0.00043016500193719556_d);
  double r = fma(t * z, p, t);
  r = steep ? 0x1.921fb54442d18p+0_d - r : r;
  r = __builtin_signbit(x) ? 0x1.921fb54442d18p+1_d - r : r;
  return __builtin_copysign(r, y);
}
__MSL_FN float atan2(float y, float x) {
  float r = float(atan2_double(double(y), double(x)));
  return x != x || y != y ? __builtin_nanf("") : r;
}
__MSL_FN float atan(float x) {
  return atan2(x, 1.0f);
}
__MSL_FN float asin(float x) {
  double a = double(x);
  float r = float(atan2_double(a, __builtin_elementwise_sqrt((1.0_d - a) * (1.0_d + a))));
  return fabs(x) <= 1.0f ? r : __builtin_nanf("");
}
__MSL_FN float acos(float x) {
  double a = double(x);
  float r = float(atan2_double(__builtin_elementwise_sqrt((1.0_d - a) * (1.0_d + a)), a));
  return fabs(x) <= 1.0f ? r : __builtin_nanf("");
}

// --- The rest ----------------------------------------------------------------------------------

// Takes up to 51 bits off the quotient of rest / divisor, lowest bits last. The quotient is off by
// one at most, and what is left fits in 26 bits: every step is exact.
__MSL_FN double take_off(double rest, double divisor) {
  long exponents = (long(to_bits(rest)) >> 52) - (long(to_bits(divisor)) >> 52);
  long lift = exponents > 50 ? exponents - 50 : 0;
  double step = divisor * from_bits((unsigned long)(lift + 1023) << 52);
  rest = fma(-__builtin_trunc(rest / step), step, rest);
  rest = rest < 0.0_d ? rest + step : rest;
  return rest >= step ? rest - step : rest;
}

// Exact remainder. Exponents of floats differ by 277 at most: six steps do, the first one nearly
// always.
__MSL_FN float fmod(float x, float y) {
  double r = __builtin_fabs(double(x)), d = __builtin_fabs(double(y));
  bool valid = r < __builtin_inf() && d > 0.0_d;
  double divisor = valid && d < __builtin_inf() ? d : 1.0_d;
  double rest = take_off(valid && d < __builtin_inf() ? r : 0.0_d, divisor);
  if (__builtin_expect(rest >= divisor, 0)) {
    rest = take_off(take_off(rest, divisor), divisor);
    rest = take_off(take_off(take_off(rest, divisor), divisor), divisor);
  }
  float result = d == __builtin_inf() ? fabs(x) : float(rest);
  return valid ? copysign(result, x) : __builtin_nanf("");
}

// One NaN gives the other operand. Comparisons, because the intrinsics on half end in library
// calls.
__MSL_FN float fmin(float x, float y) {
  return x != x ? y : y < x ? y : x;
}
__MSL_FN float fmax(float x, float y) {
  return x != x ? y : x < y ? y : x;
}
__MSL_FN float sqrt(float x) {
  return __builtin_elementwise_sqrt(x);
}
__MSL_FN float rsqrt(float x) {
  return 1.0f / __builtin_elementwise_sqrt(x);
}
__MSL_FN float floor(float x) {
  return __builtin_floorf(x);
}
__MSL_FN float ceil(float x) {
  return __builtin_ceilf(x);
}
__MSL_FN float trunc(float x) {
  return __builtin_truncf(x);
}
__MSL_FN float rint(float x) {
  return __builtin_rintf(x);
}
// Half away from zero; the largest float below one half keeps 0.49999997 from rounding up.
__MSL_FN float round(float x) {
  return __builtin_truncf(x + copysign(0x1.fffffep-2f, x));
}

// Shorter versions: no denormal results, angles beyond 2^24 only somewhere in [-1, 1], powers in
// float.
namespace fast {
__MSL_FN float exp2(float x) {
  float c = limit(x, -127.0f, 128.0f);
  Rounded<float> n = nearest(c);
  float f = c - n.value;
  float p = poly(f, 0.693147203f, 0.240226479f, 0.0555033185f, 0.00961843985f, 0.00133991326f,
                 0.000153531541f);
  // Into the exponent: a factor 2^128 would be infinite, though the product is not.
  float r = from_bits(to_bits(fma(f, p, 1.0f)) + (unsigned(n.low_bits) << 23));
  return c >= -126.0f ? r : fma(c, 0.0f, 0.0f);  // zero, or NaN
}
__MSL_FN float exp(float x) {
  return exp2(x * 0x1.715476p+0f);
}
// The quotient as a float has the right last bits up to 2^24. A rest beyond a quarter turn means
// that it has lost them.
__MSL_FN Angle reduce(float x) {
  float n = __builtin_rintf(x * 0x1.45f306p-1f);
  float q = fma(-4.0f, __builtin_floorf(n * 0.25f), n);
  float r = fma(n, -0x1.921fb4p+0f, x);
  r = fma(n, -0x1.4442d0p-24f, r);
  r = fma(n, -0x1.84698ap-48f, r);
  return {limit(r, -0x1.921fb6p+0f, 0x1.921fb6p+0f), nearest(q).low_bits};
}
__MSL_FN float sin(float x) {
  Angle a = reduce(x);
  return limit(turned(sin_core(a.r), cos_core(a.r), a.quadrant), -1.0f, 1.0f);
}
__MSL_FN float cos(float x) {
  Angle a = reduce(x);
  return limit(turned(sin_core(a.r), cos_core(a.r), a.quadrant + 1), -1.0f, 1.0f);
}
__MSL_FN float pow(float x, float y) {
  return signed_power(x, y, exp2(y * cpu::log2(fabs(x))));
}
}  // namespace fast

}  // namespace cpu
}  // namespace __msl

#pragma float_control(pop)
