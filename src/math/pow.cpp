#include <cmath>
#include <cstdint>
#include <limits>

#include "math/double_double.h"
#include "math/elementary.h"
#include "math/exp_kernel.h"
#include "math/ln_kernel.h"
#include "math/wide_pow.h"

// x^y = e^(y ln x). In float: in double; where that leaves the rounding open,
// first the cases where x^y is itself a float or halfway between two, then
// pairs of doubles, then, once in 2^36 operands, integers of 384 bits.

namespace topos::math {

namespace {

/// What is known of x^y without computing: its value, or its sign.
struct Outline {
  bool is_known;
  double value;
  bool is_negative;
};

bool is_integer(double y) {
  if (std::fabs(y) >= 0x1p53) return true;
  return static_cast<double>(static_cast<std::int64_t>(y)) == y;
}

bool is_odd_integer(double y) {
  return std::fabs(y) < 0x1p53 && is_integer(y) &&
         (static_cast<std::int64_t>(y) & 1) != 0;
}

/// IEEE 754-2019, 9.2.1. If nothing is known, x and y are finite, not 0.
Outline outline(double x, double y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (y == 0.0 || x == 1.0) return {true, 1.0, false};
  if (std::isnan(x) || std::isnan(y)) return {true, x + y, false};
  const double magnitude = std::fabs(x);
  if (std::isinf(y)) {
    if (magnitude == 1.0) return {true, 1.0, false};
    return {true, (magnitude > 1.0) == (y > 0.0) ? infinity : 0.0, false};
  }
  const bool is_negative = std::signbit(x) && is_odd_integer(y);
  if (x == 0.0 || std::isinf(x)) {
    const double value = (x == 0.0) == (y > 0.0) ? 0.0 : infinity;
    return {true, is_negative ? -value : value, is_negative};
  }
  if (x < 0.0 && !is_integer(y)) {
    return {true, std::numeric_limits<double>::quiet_NaN(), false};
  }
  return {false, 0.0, is_negative};
}

struct ExactPower {
  bool is_exact;
  double value;
};

/// x^y if it has at most 25 significant bits, that is, if it can be a float
/// or halfway between two; x > 0 of 24 bits, x != 1; y != 0.
///
/// With x = m 2^e, m odd: while y is not an integer, x^y = (sqrt x)^(2 y) can
/// be dyadic only if sqrt x is. Then m = 1, or y > 0 and m^y < 2^25, so
/// y <= 15.
ExactPower exact_power(double x, double y) {
  constexpr ExactPower no = {false, 0.0};
  while (!is_integer(y)) {
    const double root = std::sqrt(x);
    if (root * root != x ||
        (std::bit_cast<std::uint64_t>(root) & 0x7ffffff) != 0) {
      return no;  // of 26 bits at most, so that its square was exact
    }
    x = root;
    y = 2.0 * y;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t odd =
      (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
  const int zeros = std::countr_zero(odd);
  odd >>= zeros;
  const int exponent = static_cast<int>(bits >> 52) - 1075 + zeros;
  std::uint64_t product = 1;
  if (odd != 1) {
    if (y < 0.0 || y > 15.0) return no;
    for (int i = 0; i < static_cast<int>(y); ++i) {
      product *= odd;
      if (product >= (std::uint64_t{1} << 25)) return no;
    }
  }
  double power = y * exponent;  // exact, or far beyond the bounds
  if (power > 900.0) power = 900.0;
  if (power < -900.0) power = -900.0;
  return {true,
          static_cast<double>(product) * power_of_two(static_cast<int>(power))};
}

/// x^y to float, x > 0.
float pow_accurate(double x, double y) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (std::fabs(y) < 0x1p-40) return 1.0f;  // |ln x| < 104
  // |ln x| > 2^-25, and e^(2^15) is far out.
  if (std::fabs(y) > 0x1p40) return (x > 1.0) == (y > 0.0) ? infinity : 0.0f;
  const ExactPower exact = exact_power(x, y);
  if (exact.is_exact) return static_cast<float>(exact.value);
  const DoubleDouble exponent = multiply(ln_pair(x), y);
  if (exponent.high > 90.0) return infinity;
  if (exponent.high < -105.0) return 0.0f;
  const ScaledPair power = exp_pair(exponent);
  const DoubleDouble y_pair = power.significand;
  // ln_pair's 2^-68 times 105, and exp_pair's own: below 2^-60.
  const double error = 0x1p-60 * y_pair.high;
  const float result =
      round_to_float({y_pair.high, y_pair.low - error}, power.exponent);
  if (result ==
      round_to_float({y_pair.high, y_pair.low + error}, power.exponent)) {
    return result;
  }
  return wide_pow(x, y);
}

float pow_of_positive(double x, double y) {
  const double z = y * short_ln(x) * steps_per_unit;
  if (std::fabs(z) < 125.0 * 64.0) [[likely]] {
    const double power = short_exp2(z);
    // |z| / 64 ln2 times 2^-49.5, and short_exp2's own: below 2^-42.
    if (!rounding_is_doubtful(power, 4096)) [[likely]] {
      return static_cast<float>(power);
    }
  }
  return pow_accurate(x, y);
}

float pow_general(float x, float y) {
  const Outline known = outline(x, y);
  if (known.is_known) return static_cast<float>(known.value);
  const float magnitude = pow_of_positive(std::fabs(x), y);
  return known.is_negative ? -magnitude : magnitude;
}

}  // namespace

float pow(float x, float y) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (x > 0.0f && x < infinity && std::fabs(y) < infinity) [[likely]] {
    return pow_of_positive(x, y);
  }
  return pow_general(x, y);
}

double pow(double x, double y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Outline known = outline(x, y);
  if (known.is_known) return known.value;
  const double sign = known.is_negative ? -1.0 : 1.0;
  double base = std::fabs(x);
  // |ln x| is 0 or in [2^-54, 746].
  if (std::fabs(y) < 0x1p-65 || base == 1.0) return sign;
  const bool grows = (base > 1.0) == (y > 0.0);
  if (std::fabs(y) > 0x1p65) return sign * (grows ? infinity : 0.0);
  DoubleDouble logarithm;
  if (base < std::numeric_limits<double>::min()) {
    logarithm =
        add(ln_pair(base * 0x1p54), {-54.0 * ln2_high, -54.0 * ln2_low});
  } else {
    logarithm = ln_pair(base);
  }
  const DoubleDouble exponent = multiply(logarithm, y);
  if (std::fabs(exponent.high) > 746.0) return sign * (grows ? infinity : 0.0);
  const ScaledPair power = exp_pair(exponent);
  return sign * scale(power.significand, power.exponent);
}

}  // namespace topos::math
