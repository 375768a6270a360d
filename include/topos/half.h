#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// \file
/// The two floating-point types of 16 bits. They are storage: widened to
/// float, which is exact, computed with, and rounded back.
///
///   BFloat16  8 bits of exponent and 7 of fraction: float's range
///   Float16   IEEE 754 binary16: 5 bits of exponent and 10 of fraction

namespace topos {

namespace detail {

/// x to the format of 16 bits with so many bits of fraction: to nearest even,
/// beyond the greatest number to infinity, subnormals kept. NaN stays NaN,
/// made quiet. By integers alone, so in any floating-point environment.
template <int fraction_bits, class T>
constexpr std::uint16_t narrowed(T x) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int digits = sizeof(T) == 4 ? 23 : 52;
  constexpr int bias = sizeof(T) == 4 ? 127 : 1023;
  constexpr int own_bias = (1 << (14 - fraction_bits)) - 1;
  constexpr int dropped = digits - fraction_bits;
  constexpr Bits one = 1;
  constexpr Bits infinity = Bits{2 * bias + 1} << digits;

  const Bits bits = std::bit_cast<Bits>(x);
  const Bits sign = one << (8 * sizeof(T) - 1);
  const Bits size = bits & ~sign;
  const auto own_sign =
      static_cast<std::uint16_t>((bits & sign) != 0 ? 0x8000 : 0);
  constexpr std::uint16_t own_infinity = (2 * own_bias + 1) << fraction_bits;
  if (size > infinity) {
    const auto payload = static_cast<std::uint16_t>(
        (size >> dropped) & ((one << fraction_bits) - 1));
    return own_sign | own_infinity | (1 << (fraction_bits - 1)) | payload;
  }
  // Of the exponents as they are stored, that of the least normal number.
  constexpr int least = bias - own_bias + 1;
  const int exponent = static_cast<int>(size >> digits);
  if (exponent > bias + own_bias) return own_sign | own_infinity;
  // Where what is kept ends, and what is kept as an integer: rounding up may
  // carry into the exponent, which is then the right one.
  int shift = dropped;
  Bits kept = size - (Bits{least - 1} << digits);
  if (exponent < least) {
    // The result is subnormal, and x, if it is so itself, without the bit
    // above its fraction.
    shift += exponent == 0 ? least - 1 : least - exponent;
    if (shift > digits + 1) return own_sign;  // below half the least of all
    kept = (size & ((one << digits) - 1)) |
           (exponent == 0 ? Bits{0} : one << digits);
  }
  const Bits rest = kept & ((one << shift) - 1);
  const Bits half = one << (shift - 1);
  Bits result = kept >> shift;
  if (rest > half || (rest == half && (result & 1) != 0)) ++result;
  return own_sign | static_cast<std::uint16_t>(result);
}

template <int fraction_bits>
constexpr float widened(std::uint16_t bits) noexcept {
  constexpr int own_bias = (1 << (14 - fraction_bits)) - 1;
  constexpr int shift = 23 - fraction_bits;
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t size = bits & 0x7FFFu;
  const std::uint32_t exponent = size >> fraction_bits;
  if constexpr (own_bias == 127) {
    return std::bit_cast<float>(sign | (size << shift));
  }
  if (exponent == 2 * own_bias + 1) {
    return std::bit_cast<float>(sign | 0x7F800000u | (size << shift));
  }
  if (exponent == 0) {
    // Normal in float: an integer times a power of two.
    const float number =
        static_cast<float>(size) *
        std::bit_cast<float>(
            static_cast<std::uint32_t>(128 - own_bias - fraction_bits) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(number));
  }
  return std::bit_cast<float>(
      sign | ((size << shift) + (std::uint32_t{127 - own_bias} << 23)));
}

/// An integer of 64 bits as a double that rounds to 16 bits as the integer
/// does: the bits that no double has room for leave a trace.
template <std::integral T>
constexpr double rounding_alike(T x) noexcept {
  bool negative = false;
  if constexpr (std::signed_integral<T>) negative = x < 0;
  auto size = static_cast<std::uint64_t>(x);
  if (negative) size = 0 - size;
  constexpr std::uint64_t low = 0xFFF;
  if ((size >> 53) != 0) {
    size = (size & ~low) | ((size & low) != 0 ? low + 1 : 0);
  }
  const auto result = static_cast<double>(size);
  return negative ? -result : result;
}

}  // namespace detail

/// A number of 16 bits, so many of them its fraction. Arithmetic and
/// comparisons are float's.
template <int fraction_bits>
class HalfFloat {
 public:
  constexpr HalfFloat() noexcept = default;
  /// Rounded once, to nearest even; beyond the range to infinity.
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit constexpr HalfFloat(T x) noexcept {
    if constexpr (std::integral<T>) {
      bits_ = detail::narrowed<fraction_bits>(detail::rounding_alike(x));
    } else if constexpr (std::same_as<T, float>) {
      bits_ = detail::narrowed<fraction_bits>(x);
    } else {
      bits_ = detail::narrowed<fraction_bits>(static_cast<double>(x));
    }
  }
  static constexpr HalfFloat from_bits(std::uint16_t bits) noexcept {
    HalfFloat result;
    result.bits_ = bits;
    return result;
  }

  constexpr std::uint16_t bits() const noexcept { return bits_; }
  /// Exact.
  // NOLINTNEXTLINE(google-explicit-constructor): as float is to double.
  constexpr operator float() const noexcept {
    return detail::widened<fraction_bits>(bits_);
  }

 private:
  std::uint16_t bits_ = 0;
};

using BFloat16 = HalfFloat<7>;
using Float16 = HalfFloat<10>;

}  // namespace topos

/// What both have in common with float's limits, and where they differ.
template <int fraction_bits>
class std::numeric_limits<topos::HalfFloat<fraction_bits>> {
  using Half = topos::HalfFloat<fraction_bits>;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = fraction_bits + 1;
  static constexpr int max_exponent = 1 << (14 - fraction_bits);
  static constexpr int min_exponent = 3 - max_exponent;

  static constexpr Half min() noexcept {
    return Half::from_bits(1 << fraction_bits);
  }
  static constexpr Half max() noexcept {
    return Half::from_bits(infinity().bits() - 1);
  }
  static constexpr Half lowest() noexcept {
    return Half::from_bits(max().bits() | 0x8000);
  }
  static constexpr Half epsilon() noexcept {
    return Half(1.0 / (1 << fraction_bits));
  }
  static constexpr Half denorm_min() noexcept { return Half::from_bits(1); }
  static constexpr Half infinity() noexcept {
    return Half::from_bits(0x7FFF & ~((1 << fraction_bits) - 1));
  }
  static constexpr Half quiet_NaN() noexcept {
    return Half::from_bits(infinity().bits() | 1 << (fraction_bits - 1));
  }
};
