#include <bit>
#include <cmath>
#include <cstdint>

#include "math/double_double.h"
#include "math/elementary.h"
#include "math/exp_kernel.h"
#include "math/sin_table.h"

// x = n pi / 2 + r, |r| <= pi / 4; by n mod 4 it is the sine or the cosine of
// r, from its series, and the sign. cos x is sin of n + 1 quarters.

namespace topos::math {

namespace {

__extension__ using Wide = unsigned __int128;

/// An angle of quarter pi / 2 + r.
struct ReducedAngle {
  int quarter;  // mod 4
  DoubleDouble r;
};

/// x times 2 / pi modulo 4, by the 256 bits of 2 / pi that matter to it
/// [Payne & Hanek 1983]; |x| in [1/2, inf). No double comes closer than 2^-61
/// to a multiple of pi / 2, so that 201 bits after the point leave r more than
/// 100 good ones [Muller, Elementary Functions, 3rd ed., ch. 11].
ReducedAngle reduce_angle(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(std::fabs(x));
  const std::uint64_t hidden = std::uint64_t{1} << 52;
  const std::uint64_t integer = (bits & (hidden - 1)) | hidden;
  // |x| = integer 2^exponent: bits of 2 / pi of weight 2^(2 - exponent) and
  // more give multiples of 4. The table starts 64 bits before the point.
  const int exponent = static_cast<int>(bits >> 52) - 1075;
  const auto first = static_cast<unsigned>(exponent + 62);
  const unsigned word = first / 64;
  const unsigned shift = first % 64;
  std::uint64_t product[4];
  Wide carry = 0;
  for (unsigned i = 4; i-- > 0;) {
    std::uint64_t part = two_over_pi[word + i] << shift;
    if (shift != 0) part |= two_over_pi[word + i + 1] >> (64 - shift);
    carry += Wide{part} * integer;
    product[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  // Two bits of quarters, then the fraction; to nearest by its first bit.
  int quarter = static_cast<int>(product[0] >> 62);
  const bool is_above_half = (product[0] >> 61 & 1) != 0;
  if (is_above_half) {
    quarter += 1;
    for (std::uint64_t& limb : product) limb = ~limb;  // 1 - fraction
  }
  product[0] &= ~(std::uint64_t{3} << 62);
  // 106 bits from the first one set on, as two integers of 53.
  int zeros = 0;
  unsigned top = 0;
  while (top < 2 && product[top] == 0) {
    zeros += 64;
    ++top;
  }
  const int extra = std::countl_zero(product[top]);
  zeros += extra;
  std::uint64_t a = product[top];
  std::uint64_t b = product[top + 1];
  if (extra != 0) {
    a = a << extra | b >> (64 - extra);
    b <<= extra;
    if (top + 2 < 4) b |= product[top + 2] >> (64 - extra);
  }
  const std::uint64_t second = (a << 53 | b >> 11) >> 11;
  const double unit = power_of_two(2 - zeros - 53);
  const DoubleDouble fraction =
      fast_two_sum(static_cast<double>(a >> 11) * unit,
                   static_cast<double>(second) * (unit * 0x1p-53));
  DoubleDouble r = multiply(fraction, {half_pi[0], half_pi[1]});
  if (is_above_half) r = negate(r);
  return std::signbit(x) ? ReducedAngle{-quarter & 3, negate(r)}
                         : ReducedAngle{quarter & 3, r};
}

/// sin (quarter pi / 2 + r), relative error below 2^-66; r away from
/// underflow. From the fifth term on, 2^-17 of the sum, one double is enough.
DoubleDouble sin_pair(const ReducedAngle& angle) {
  const bool is_cosine = (angle.quarter & 1) != 0;
  const double* high = is_cosine ? cos_series : sin_series;
  const double* low = is_cosine ? cos_series_low : sin_series_low;
  const DoubleDouble square = multiply(angle.r, angle.r);
  double rest = high[10];
  for (int k = 9; k >= 4; --k) rest = high[k] + square.high * rest;
  DoubleDouble sum = {rest, 0.0};
  for (int k = 3; k >= 0; --k) {
    sum = add(multiply(sum, square), {high[k], low[k]});
  }
  if (!is_cosine) sum = multiply(sum, angle.r);
  return (angle.quarter & 2) != 0 ? negate(sum) : sum;
}

/// |x| >= 2^-100; quarters are added to the angle.
DoubleDouble sin_of_sum(double x, int quarters) {
  ReducedAngle angle = {0, {x, 0.0}};
  if (std::fabs(x) > 0.78) angle = reduce_angle(x);
  angle.quarter = (angle.quarter + quarters) & 3;
  return sin_pair(angle);
}

/// The same with r in one double, off by 2^-52 of itself.
struct ShortAngle {
  int quarter;
  double r;
};

/// |x| < 1e6.
ShortAngle reduce_small_angle(double x) {
  const NearestInteger n = nearest_integer(x * 0x1.45f306dc9c883p-1);  // 2/pi
  // The first difference is exact; the others round once, relative to r.
  const double first = x - n.value * half_pi_parts[0];
  const double second = first - n.value * half_pi_parts[1];
  return {n.integer, second - n.value * half_pi_parts[2]};
}

ShortAngle reduce_large_angle(double x) {
  const ReducedAngle angle = reduce_angle(x);
  return {angle.quarter, angle.r.high};
}

float sin_of_sum_float(float x, int quarters) {
  if (!std::isfinite(x)) [[unlikely]] {
    return x - x;
  }
  const ShortAngle angle =
      std::fabs(x) < 1e6f ? reduce_small_angle(x) : reduce_large_angle(x);
  const int quarter = angle.quarter + quarters;
  const bool is_cosine = (quarter & 1) != 0;
  const double* c = is_cosine ? cos_series : sin_series;
  const double square = angle.r * angle.r;
  const double fourth = square * square;
  const double sum =
      ((1.0 + square * c[1]) + fourth * (c[2] + square * c[3])) +
      fourth * fourth *
          ((c[4] + square * c[5]) + fourth * (c[6] + square * c[7]));
  const double y = (is_cosine ? 1.0 : angle.r) * sum;
  // The cosine's ninth term is 2^-49; with roundings below 2^-48.
  if (rounding_is_doubtful(y, 32)) [[unlikely]] {
    return round_to_float(sin_of_sum(x, quarters));
  }
  return static_cast<float>((quarter & 2) != 0 ? -y : y);
}

}  // namespace

float sin(float x) { return sin_of_sum_float(x, 0); }

float cos(float x) { return sin_of_sum_float(x, 1); }

double sin(double x) {
  if (std::fabs(x) < 0x1p-27) return x;  // x^3 / 6 is below 2^-56 of x
  if (!std::isfinite(x)) return x - x;
  const DoubleDouble result = sin_of_sum(x, 0);
  return result.high + result.low;
}

double cos(double x) {
  if (std::fabs(x) < 0x1p-28) return 1.0;
  if (!std::isfinite(x)) return x - x;
  const DoubleDouble result = sin_of_sum(x, 1);
  return result.high + result.low;
}

}  // namespace topos::math
