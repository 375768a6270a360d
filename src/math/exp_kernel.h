#pragma once

#include <bit>
#include <cstdint>

#include "math/double_double.h"
#include "math/exp_table.h"

/// The exponential in three strengths, shared by exp, expm1, tanh, logistic
/// and pow: x = n ln2 / 64 + r, |r| < 0.0055; 2^(n/64) from the table; e^r
/// from its Taylor series, which is short enough that no better polynomial is
/// worth its explanation [Tang 1989].
namespace topos::math {

/// Adding this, then subtracting it, rounds |z| < 2^51 to an integer, which
/// the sum's low bits hold in between.
inline constexpr double rounding_shift = 0x1.8p52;

inline constexpr double steps_per_unit = 0x1.71547652b82fep+6;  // 64 / ln2

struct NearestInteger {
  double value;
  std::int32_t integer;
};

/// The integer nearest to z, |z| < 2^31.
inline NearestInteger nearest_integer(double z) {
  const double shifted = z + rounding_shift;
  const auto bits = std::bit_cast<std::uint64_t>(shifted);
  return {shifted - rounding_shift,
          static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))};
}

/// table[n mod 64] 2^floor(n / 64), the result normal.
inline double scaled_entry(const double* table, std::int32_t n) {
  const auto entry = std::bit_cast<std::uint64_t>(table[n & 63]);
  const auto exponent = static_cast<std::uint64_t>(std::int64_t{n >> 6});
  return std::bit_cast<double>(entry + (exponent << 52));
}

/// e^r - 1 with r in units of ln2 / 64, |r| <= 0.5 (a little more does no
/// harm). The coefficients are (ln2 / 64)^j / j!. Truncation, relative to r:
/// degree 4: 2^-37, so 2^-44.5 of e^r; degree 5: 2^-47.
template <int degree>
double short_exp_minus_one(double r) {
  static_assert(degree == 4 || degree == 5);
  constexpr double c1 = 0x1.62e42fefa39efp-7;
  constexpr double c2 = 0x1.ebfbdff82c58fp-15;
  constexpr double c3 = 0x1.c6b08d704a0c0p-23;
  constexpr double c4 = 0x1.3b2ab6fba4e77p-31;
  constexpr double c5 = 0x1.5d87fe78a6731p-40;
  const double square = r * r;
  if constexpr (degree == 4) {
    return r * ((c1 + r * c2) + square * (c3 + r * c4));
  } else {
    return r * ((c1 + r * c2) + square * ((c3 + r * c4) + square * c5));
  }
}

/// 2^(z / 64) for |z| < 2^15, within 2^-44 (and what z itself is off).
inline double short_exp2(double z) {
  const NearestInteger n = nearest_integer(z);
  const double power = scaled_entry(exp2_high, n.integer);
  return power + power * short_exp_minus_one<4>(z - n.value);
}

/// 2^(z / 64) - 1 for |z| < 2^15, with a relative error below 2^-44.5 (and
/// what z itself is off): near 0 the table's part is exactly 0.
inline double short_exp2_minus_one(double z) {
  const NearestInteger n = nearest_integer(z);
  const double power = scaled_entry(exp2_high, n.integer);
  return (power - 1.0) + power * short_exp_minus_one<5>(z - n.value);
}

/// x = n ln2 / 64 + r.
struct ReducedExponent {
  std::int32_t n;
  DoubleDouble r;
};

/// x.high in [-1e5, 1e5]. n ln2_high is exact (ln2_high is a multiple of
/// 2^-42), and so is the first difference; n ln2_low is off by less than
/// n 2^-92.
inline ReducedExponent reduce_exponent(DoubleDouble x) {
  constexpr double ln2_high = 0x1.62e42fefa0000p-7;  // ln2 / 64
  constexpr double ln2_low = 0x1.cf79abc9e3b3ap-46;  // the rest
  const NearestInteger n = nearest_integer(x.high * steps_per_unit);
  const double first = x.high - n.value * ln2_high;
  const DoubleDouble r = two_sum(first, -(n.value * ln2_low));
  return {n.integer, fast_two_sum(r.high, r.low + x.low)};
}

/// e^r - 1 for |r| < 0.0055, relative error below 2^-69: r and r^2 / 2 are
/// kept in pairs, the rest (r^3 / 6 to r^8 / 8!) is 2^-17 of r.
inline DoubleDouble exp_minus_one_near_zero(DoubleDouble r) {
  const double x = r.high;
  const DoubleDouble square = two_product(x, x);
  const double rest =
      0x1.5555555555555p-3 +
      x * (0x1.5555555555555p-5 +
           x * (0x1.1111111111111p-7 +
                x * (0x1.6c16c16c16c17p-10 +
                     x * (0x1.a01a01a01a01ap-13 + x * 0x1.a01a01a01a01ap-16))));
  const DoubleDouble sum = fast_two_sum(x, 0.5 * square.high);
  const double low =
      x * square.high * rest + (0.5 * square.low + (x * r.low + r.low));
  return fast_two_sum(sum.high, sum.low + low);
}

/// significand 2^exponent, the significand's magnitude in [0.99, 2.01].
struct ScaledPair {
  DoubleDouble significand;
  int exponent;
};

/// e^x, relative error below 2^-68 (and the absolute error of x).
inline ScaledPair exp_pair(DoubleDouble x) {
  const ReducedExponent reduced = reduce_exponent(x);
  const DoubleDouble p = exp_minus_one_near_zero(reduced.r);
  const int i = reduced.n & 63;
  const DoubleDouble product = two_product(exp2_high[i], p.high);
  const DoubleDouble sum = fast_two_sum(exp2_high[i], product.high);
  const double low =
      exp2_low[i] + (product.low + exp2_high[i] * p.low + exp2_low[i] * p.high);
  return {fast_two_sum(sum.high, sum.low + low), reduced.n >> 6};
}

/// e^x - 1 for x in [-100, 600], relative error below 2^-67.
inline DoubleDouble exp_minus_one_pair(DoubleDouble x) {
  const ReducedExponent reduced = reduce_exponent(x);
  const DoubleDouble p = exp_minus_one_near_zero(reduced.r);
  if (reduced.n == 0) return p;
  const double unit = power_of_two(reduced.n >> 6);
  const int i = reduced.n & 63;
  const DoubleDouble power = {unit * exp2_high[i], unit * exp2_low[i]};
  const DoubleDouble constant = two_sum(power.high, -1.0);
  const DoubleDouble product = multiply(p, power.high);
  const DoubleDouble sum = two_sum(constant.high, product.high);
  return fast_two_sum(
      sum.high, sum.low + (constant.low +
                           (power.low + (product.low + power.low * p.high))));
}

}  // namespace topos::math
