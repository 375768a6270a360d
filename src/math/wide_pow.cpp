#include "math/wide_pow.h"

#include <array>
#include <bit>
#include <cstdint>

#include "math/double_double.h"

// x^y = 2^(y log2 x) in fixed point: log2 from the series of atanh, 2^f from
// that of the exponential, both to the end. The series are off by 2^-310, which
// y multiplies by 2^41 at most. As x^y is no boundary of rounding, that decides
// unless its bits 26 to 265 are all equal.

namespace topos::math {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int limb_count = 6;

/// A number in [0, 2^64): limb 5 is the integer part, limbs 4 to 0 the
/// fraction's 320 bits.
struct Fixed {
  std::array<std::uint64_t, limb_count> limbs{};

  bool is_zero() const {
    for (const std::uint64_t limb : limbs) {
      if (limb != 0) return false;
    }
    return true;
  }
};

Fixed integer(std::uint64_t n) {
  Fixed out;
  out.limbs[limb_count - 1] = n;
  return out;
}

Fixed operator+(const Fixed& a, const Fixed& b) {
  Fixed out;
  Wide carry = 0;
  for (std::size_t i = 0; i < limb_count; ++i) {
    carry += Wide{a.limbs[i]} + b.limbs[i];
    out.limbs[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return out;
}

/// a >= b.
Fixed operator-(const Fixed& a, const Fixed& b) {
  Fixed out;
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < limb_count; ++i) {
    const Wide taken = Wide{b.limbs[i]} + borrow;
    out.limbs[i] = a.limbs[i] - static_cast<std::uint64_t>(taken);
    borrow = taken > a.limbs[i] ? 1 : 0;
  }
  return out;
}

Fixed operator*(const Fixed& a, const Fixed& b) {
  std::array<std::uint64_t, 2 * limb_count> product{};
  for (std::size_t i = 0; i < limb_count; ++i) {
    Wide carry = 0;
    for (std::size_t j = 0; j < limb_count; ++j) {
      carry += Wide{a.limbs[i]} * b.limbs[j] + product[i + j];
      product[i + j] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    product[i + limb_count] = static_cast<std::uint64_t>(carry);
  }
  Fixed out;
  for (std::size_t i = 0; i < limb_count; ++i) {
    out.limbs[i] = product[i + limb_count - 1];
  }
  return out;
}

Fixed operator*(const Fixed& a, std::uint64_t n) { return a * integer(n); }

Fixed operator/(const Fixed& a, std::uint64_t n) {
  Fixed out;
  Wide rest = 0;
  for (std::size_t i = limb_count; i-- > 0;) {
    rest = (rest << 64) | a.limbs[i];
    out.limbs[i] = static_cast<std::uint64_t>(rest / n);
    rest %= n;
  }
  return out;
}

/// 2 atanh t = 2 (t + t^3 / 3 + t^5 / 5 + ...), t <= 1/3.
Fixed twice_atanh(const Fixed& t) {
  const Fixed square = t * t;
  Fixed power = t;
  Fixed sum;
  for (std::uint64_t k = 1; !power.is_zero(); k += 2) {
    sum = sum + power / k;
    power = power * square;
  }
  return sum + sum;
}

Fixed exponential(const Fixed& x) {
  Fixed term = integer(1);
  Fixed sum;
  for (std::uint64_t k = 1; !term.is_zero(); ++k) {
    sum = sum + term;
    term = term * x / k;
  }
  return sum;
}

/// 1 / b for b in [1/2, 2), by Newton's iteration.
Fixed reciprocal(const Fixed& b) {
  Fixed y = integer(1) / 2;  // b y <= 1, kept by every step from below
  for (int i = 0; i < 12; ++i) {
    const Fixed product = b * y;
    y = y + y * (integer(1) - product);
  }
  return y;
}

struct Significand {
  std::uint64_t integer;  // in [2^52, 2^53)
  int exponent;           // the number is integer 2^exponent
};

Significand decompose(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t hidden = std::uint64_t{1} << 52;
  return {(bits & (hidden - 1)) | hidden,
          static_cast<int>((bits >> 52) & 0x7ff) - 1075};
}

}  // namespace

float wide_pow(double x, double y) {
  const Significand a = decompose(x);
  const Fixed fraction =
      integer(a.integer - (std::uint64_t{1} << 52)) / (std::uint64_t{1} << 52);
  const Fixed ln2 = twice_atanh(integer(1) / 3);
  // (m - 1) / (m + 1) for the significand m, as (m - 1) / 2 over (m + 1) / 2.
  const Fixed half = fraction / 2;
  const Fixed log2_significand =
      twice_atanh(half * reciprocal(half + integer(1))) * reciprocal(ln2);
  const int exponent = a.exponent + 52;
  const bool below_one = exponent < 0;
  const Fixed whole =
      integer(static_cast<std::uint64_t>(below_one ? -exponent : exponent));
  const Fixed logarithm =
      below_one ? whole - log2_significand : whole + log2_significand;

  // |y| = n 2^shift with n of 24 bits; |log2 x| n 2^shift < 160.
  const Significand b = decompose(y);
  Fixed product = logarithm * (b.integer >> 29);
  int shift = b.exponent + 29;
  for (; shift > 0; --shift) product = product + product;
  for (; shift < 0; shift += 32) {
    product = product / (std::uint64_t{1} << (shift < -32 ? 32 : -shift));
  }
  int power = static_cast<int>(product.limbs[limb_count - 1]);
  Fixed rest = product - integer(product.limbs[limb_count - 1]);
  if (below_one != (y < 0.0)) {
    power = -power - 1;
    rest = integer(1) - rest;
  }
  const Fixed result = exponential(rest * ln2);  // in [1, 2]
  // 52 bits of the fraction, the last one set: rounded to odd.
  const std::uint64_t high = (result.limbs[limb_count - 2] >> 12) | 1;
  const double significand =
      static_cast<double>(result.limbs[limb_count - 1] - 1) +
      std::bit_cast<double>((std::uint64_t{1023} << 52) | high);
  return static_cast<float>(significand * power_of_two(power));
}

}  // namespace topos::math
