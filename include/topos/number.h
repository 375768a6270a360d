#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "topos/dtype.h"

namespace topos {

/// A number written in a program, before it has met a dtype. It keeps the
/// kind in which it was written: an integer above 2^53 does not pass through
/// a double.
class Number {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): numbers are meant to convert.
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr Number(T value) noexcept {
    if constexpr (std::same_as<T, bool>) {
      kind_ = Kind::truth;
      integer_ = value ? 1 : 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::real;
      real_ = static_cast<double>(value);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
      kind_ = Kind::natural;
      integer_ = static_cast<std::int64_t>(value);
    } else {
      kind_ = Kind::integer;
      integer_ = static_cast<std::int64_t>(value);
    }
  }

  /// The number in T, rounded once if T is floating.
  /// \throws DTypeError  an integer T cannot hold it exactly (2.5, 2^40 in
  ///                     i32), or one of boolean and number meets the other
  template <Element T>
  T as() const;

  std::string text() const;

  /// The same kind and the same bits: an attribute -0 is not the attribute +0.
  constexpr bool operator==(const Number& other) const noexcept {
    return kind_ == other.kind_ && integer_ == other.integer_ &&
           std::bit_cast<std::uint64_t>(real_) ==
               std::bit_cast<std::uint64_t>(other.real_);
  }

 private:
  enum class Kind : std::uint8_t { truth, integer, natural, real };
  Kind kind_ = Kind::real;
  std::int64_t integer_ = 0;  // natural: the bits of an unsigned
  double real_ = 0;
};

}  // namespace topos
