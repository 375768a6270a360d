#pragma once

#include <bit>
#include <cstdint>

/// Pairs of doubles for about 106 bits, and the way back to one number.
///
/// Every sum and product here is a plain IEEE operation: no fused
/// multiply-add, so that the bits are those of any machine. The exactness of
/// two_sum and two_product needs rounding to nearest and no overflow or
/// underflow in between; callers scale [Dekker 1971; Muller et al., Handbook
/// of Floating-Point Arithmetic, 2nd ed., ch. 4].
namespace topos::math {

/// high + low, with |low| at most half an ulp of high where it matters.
struct DoubleDouble {
  double high;
  double low;
};

/// a + b exactly.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return {sum, (a - a_part) + (b - b_part)};
}

/// a + b exactly, for |a| >= |b| or a = 0.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a b exactly: halves of 26 bits, whose products are exact. |a|, |b| < 2^995
/// and |a b| > 2^-968, or a b = 0.
inline DoubleDouble two_product(double a, double b) {
  constexpr double splitter = 0x1p27 + 1;
  const double a_scaled = splitter * a;
  const double a_high = a_scaled - (a_scaled - a);
  const double a_low = a - a_high;
  const double b_scaled = splitter * b;
  const double b_high = b_scaled - (b_scaled - b);
  const double b_low = b - b_high;
  const double product = a * b;
  const double error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) +
      a_low * b_low;
  return {product, error};
}

/// Sum and product within a few 2^-104, where no cancellation occurs.
inline DoubleDouble add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = two_sum(a.high, b.high);
  return fast_two_sum(sum.high, sum.low + (a.low + b.low));
}

inline DoubleDouble add(DoubleDouble a, double b) {
  const DoubleDouble sum = two_sum(a.high, b);
  return fast_two_sum(sum.high, sum.low + a.low);
}

inline DoubleDouble multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return fast_two_sum(product.high,
                      product.low + (a.high * b.low + a.low * b.high));
}

inline DoubleDouble multiply(DoubleDouble a, double b) {
  const DoubleDouble product = two_product(a.high, b);
  return fast_two_sum(product.high, product.low + a.low * b);
}

/// a / b within a few 2^-104.
inline DoubleDouble divide(DoubleDouble a, DoubleDouble b) {
  const double quotient = a.high / b.high;
  const DoubleDouble product = two_product(quotient, b.high);
  const double rest =
      ((a.high - product.high) - product.low) + (a.low - quotient * b.low);
  return fast_two_sum(quotient, rest / b.high);
}

inline DoubleDouble negate(DoubleDouble a) { return {-a.high, -a.low}; }

/// 2^exponent, for a normal result.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023)
                               << 52);
}

/// high + low rounded to odd: truncated, the last bit set if anything was
/// lost. Rounding that to at most 51 bits gives what rounding the exact sum
/// would [Boldo & Melquiond 2008]. high is the sum rounded to nearest.
inline double round_to_odd(DoubleDouble a) {
  const auto bits = std::bit_cast<std::uint64_t>(a.high);
  if (a.low == 0.0 || (bits & 1) != 0) return a.high;
  const bool outward = (a.low > 0.0) == (a.high > 0.0);
  return std::bit_cast<double>(outward ? bits + 1 : bits - 1);
}

/// a 2^exponent rounded once, subnormal results too; a positive and far from
/// either end of the range, exponent < 1700.
inline double scale(DoubleDouble a, int exponent) {
  const double sum = a.high + a.low;
  if (exponent > 800) return sum * 0x1p700 * power_of_two(exponent - 700);
  if (exponent < -1100) return 0.0;
  const double part = sum * power_of_two(exponent + 200);
  if (part >= 0x1p-822) return part * 0x1p-200;
  // 2^-1074 before scaling is the last place of `anchor`, which is greater
  // than a: adding it rounds a to that place.
  const double anchor = power_of_two(-1022 - exponent);
  const DoubleDouble anchored = two_sum(anchor, a.high);
  const double rounded = anchored.high + (anchored.low + a.low);
  return (rounded - anchor) * power_of_two(exponent + 200) * 0x1p-200;
}

/// a 2^exponent rounded once to float, |exponent| < 900.
inline float round_to_float(DoubleDouble a, int exponent = 0) {
  const double odd = round_to_odd(fast_two_sum(a.high, a.low));
  return static_cast<float>(odd * power_of_two(exponent));
}

/// False if all numbers within `margin` units in the last place of y round to
/// one float, static_cast<float>(y); that is, if no midpoint of floats is so
/// near. The magnitude of y is that of a normal float or more (or y is next to
/// a subnormal float, to which it rounds).
inline bool rounding_is_doubtful(double y, std::uint64_t margin) {
  constexpr std::uint64_t dropped = (std::uint64_t{1} << 29) - 1;
  constexpr std::uint64_t midpoint = std::uint64_t{1} << 28;
  const auto bits = std::bit_cast<std::uint64_t>(y);
  return ((bits - (midpoint - margin)) & dropped) <= 2 * margin;
}

}  // namespace topos::math
