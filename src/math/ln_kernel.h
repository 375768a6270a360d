#pragma once

#include <bit>
#include <cstdint>

#include "math/double_double.h"
#include "math/ln_table.h"

/// The logarithm in two strengths, shared by ln, log1p and pow:
/// x = 2^k z with z in [0.705, 1.41); c from the table, near 1/z and of 17
/// bits, so that r = c z - 1 comes without error;
/// ln x = k ln2 - ln c + ln(1 + r), |r| < 2^-7.9 [Tang 1990].
/// Around z = 1, c is 1: the result is ln(1 + r) alone, and small.
namespace topos::math {

struct ReducedLogarithm {
  double k;
  double z;
  int interval;
};

/// x positive, normal, finite.
inline ReducedLogarithm reduce_logarithm(double x) {
  // 75.5 intervals of 2^45 below the bits of 1.
  constexpr std::uint64_t start = 0x3ff0000000000000 -
                                  75 * (std::uint64_t{1} << 45) -
                                  (std::uint64_t{1} << 44);
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t offset = bits - start;
  const auto k = static_cast<std::int64_t>(offset) >> 52;
  const double z =
      std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  return {static_cast<double>(static_cast<std::int32_t>(k)), z,
          static_cast<int>((offset >> 45) & 127)};
}

// ln2 as a multiple of 2^-42 and the rest: k ln2_high + ln_high is exact.
inline constexpr double ln2_high = 0x1.62e42fefa3800p-1;
inline constexpr double ln2_low = 0x1.ef35793c76730p-45;

/// ln x for x a positive float (or any double of 36 bits): relative error
/// below 2^-49.5, of which the series' end, r^7 / 7, is 2^-50.
inline double short_ln(double x) {
  const ReducedLogarithm reduced = reduce_logarithm(x);
  const double r = reduced.z * ln_reciprocal[reduced.interval] - 1.0;
  const double constant = reduced.k * ln2_high + ln_high[reduced.interval];
  const double small = reduced.k * ln2_low + ln_low[reduced.interval];
  const double square = r * r;
  const double rest = (-0.5 + r * 0x1.5555555555555p-2) +
                      square * ((-0.25 + r * 0x1.999999999999ap-3) -
                                square * 0x1.5555555555555p-3);
  return constant + (r + (square * rest + small));
}

/// ln(x + low), relative error below 2^-68; x positive, normal, finite;
/// |low| <= ulp(x), and x < 2^1000 unless low is 0.
inline DoubleDouble ln_pair(double x, double low = 0.0) {
  const ReducedLogarithm reduced = reduce_logarithm(x);
  const double c = ln_reciprocal[reduced.interval];
  // 32 and 21 bits of z, times c's 17: exact, as is the difference.
  const double z_high = std::bit_cast<double>(
      std::bit_cast<std::uint64_t>(reduced.z) & ~std::uint64_t{0x1fffff});
  const double z_low = reduced.z - z_high;
  const DoubleDouble exact = two_sum(z_high * c - 1.0, z_low * c);
  double r = exact.high;
  double r_low = exact.low;
  if (low != 0.0) {
    r_low += c * (low * power_of_two(-static_cast<int>(reduced.k)));
    const DoubleDouble sum = two_sum(r, r_low);
    r = sum.high;
    r_low = sum.low;
  }
  const DoubleDouble square = two_product(r, r);
  const double rest =
      0x1.5555555555555p-2 +
      r * (-0.25 + r * (0x1.999999999999ap-3 +
                        r * (-0x1.5555555555555p-3 +
                             r * (0x1.2492492492492p-3 +
                                  r * (-0.125 + r * 0x1.c71c71c71c71cp-4)))));
  const double constant = reduced.k * ln2_high + ln_high[reduced.interval];
  const double small = reduced.k * ln2_low + ln_low[reduced.interval];
  const DoubleDouble first = two_sum(constant, r);
  const DoubleDouble sum = fast_two_sum(first.high, -0.5 * square.high);
  const double tail =
      (first.low + sum.low) +
      ((r_low - r * r_low) - 0.5 * square.low + small + r * square.high * rest);
  return fast_two_sum(sum.high, tail);
}

}  // namespace topos::math
