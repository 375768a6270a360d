#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

/// \file
/// What elementwise operations do to one element. A function that does not
/// take an element type has no overload for it.
///
/// Functions of f32 are computed in f64 and rounded once, so that they are
/// correctly rounded but for the rarest ties.

namespace topos::stablehlo_text::scalar {

template <class T>
concept Float = std::floating_point<T>;
template <class T>
concept Boolean = std::same_as<T, bool>;
template <class T>
concept Integer = std::integral<T> && !Boolean<T>;
template <class T>
concept Signed = Integer<T> && std::is_signed_v<T>;

// Arithmetic that wraps.
template <Integer T>
using Bits = std::make_unsigned_t<T>;
template <Integer T>
constexpr Bits<T> bits(T x) {
  return static_cast<Bits<T>>(x);
}
// At least an unsigned int: narrower types would be promoted to int, whose
// products overflow.
template <Integer T>
constexpr auto wide(T x) {
  return static_cast<std::common_type_t<Bits<T>, unsigned>>(bits(x));
}
template <Integer T>
constexpr T wrapped_product(T x, T y) {
  return static_cast<T>(wide(x) * wide(y));
}
template <Integer T>
constexpr T wrapped_negation(T x) {
  return static_cast<T>(wide(T{0}) - wide(x));
}

// One argument.

// clang-format off
#define TOPOS_FUNCTION_OF_FLOATS(Name, expression)              \
  struct Name {                                                 \
    template <Float T>                                          \
    static T apply(T narrow) {                                  \
      const double x = narrow;                                  \
      return static_cast<T>(expression);                        \
    }                                                           \
  }

TOPOS_FUNCTION_OF_FLOATS(Cbrt, std::cbrt(x));
TOPOS_FUNCTION_OF_FLOATS(Ceil, std::ceil(x));
TOPOS_FUNCTION_OF_FLOATS(Cosine, std::cos(x));
TOPOS_FUNCTION_OF_FLOATS(Exponential, std::exp(x));
TOPOS_FUNCTION_OF_FLOATS(ExponentialMinusOne, std::expm1(x));
TOPOS_FUNCTION_OF_FLOATS(Floor, std::floor(x));
TOPOS_FUNCTION_OF_FLOATS(Log, std::log(x));
TOPOS_FUNCTION_OF_FLOATS(LogPlusOne, std::log1p(x));
TOPOS_FUNCTION_OF_FLOATS(Logistic, 1 / (1 + std::exp(-x)));
TOPOS_FUNCTION_OF_FLOATS(RoundNearestEven, std::nearbyint(x));
TOPOS_FUNCTION_OF_FLOATS(Rsqrt, 1 / std::sqrt(x));
TOPOS_FUNCTION_OF_FLOATS(Sine, std::sin(x));
TOPOS_FUNCTION_OF_FLOATS(Sqrt, std::sqrt(x));
TOPOS_FUNCTION_OF_FLOATS(Tanh, std::tanh(x));
#undef TOPOS_FUNCTION_OF_FLOATS
// clang-format on

struct Abs {
  template <Float T>
  static T apply(T x) {
    return std::fabs(x);
  }
  template <Signed T>
  static T apply(T x) {
    return x < 0 ? wrapped_negation(x) : x;
  }
};

struct Negate {
  template <Float T>
  static T apply(T x) {
    return -x;
  }
  template <Integer T>
  static T apply(T x) {
    return wrapped_negation(x);
  }
};

struct Sign {
  // Zeros keep their sign, NaN stays.
  template <Float T>
  static T apply(T x) {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
  template <Signed T>
  static T apply(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};

struct Not {
  template <Boolean T>
  static T apply(T x) {
    return !x;
  }
  template <Integer T>
  static T apply(T x) {
    return static_cast<T>(~x);
  }
};

// Two arguments.

struct Add {
  template <class T>
  static T apply(T x, T y) {
    if constexpr (Boolean<T>) {
      return x || y;
    } else if constexpr (Integer<T>) {
      return static_cast<T>(wide(x) + wide(y));
    } else {
      return x + y;
    }
  }
};

struct Subtract {
  template <Float T>
  static T apply(T x, T y) {
    return x - y;
  }
  template <Integer T>
  static T apply(T x, T y) {
    return static_cast<T>(wide(x) - wide(y));
  }
};

struct Multiply {
  template <class T>
  static T apply(T x, T y) {
    if constexpr (Boolean<T>) {
      return x && y;
    } else if constexpr (Integer<T>) {
      return wrapped_product(x, y);
    } else {
      return x * y;
    }
  }
};

struct Divide {
  template <Float T>
  static T apply(T x, T y) {
    return x / y;
  }
  // As XLA: x / 0 has all bits set, MIN / -1 is MIN.
  template <Integer T>
  static T apply(T x, T y) {
    if (y == 0) return static_cast<T>(-1);
    if constexpr (Signed<T>) {
      if (y == -1) return wrapped_negation(x);
    }
    return static_cast<T>(x / y);
  }
};

struct Remainder {
  // The sign is that of x.
  template <Float T>
  static T apply(T x, T y) {
    return std::fmod(x, y);
  }
  template <Integer T>
  static T apply(T x, T y) {
    if (y == 0) return x;
    if constexpr (Signed<T>) {
      if (y == -1) return 0;
    }
    return static_cast<T>(x % y);
  }
};

struct Power {
  template <Float T>
  static T apply(T x, T y) {
    return static_cast<T>(
        std::pow(static_cast<double>(x), static_cast<double>(y)));
  }
  template <Integer T>
  static T apply(T x, T y) {
    if constexpr (Signed<T>) {
      // 1 / x^|y|, an integer for two of all x.
      if (y < 0) {
        if (x == 1) return 1;
        if (x == -1) return y % 2 == 0 ? T{1} : T{-1};
        return 0;
      }
    }
    T result = 1;
    for (Bits<T> left = bits(y); left != 0; left = left >> 1) {
      if ((left & 1u) != 0) result = wrapped_product(result, x);
      x = wrapped_product(x, x);
    }
    return result;
  }
};

// NaN wins, and -0 < +0.
struct Maximum {
  template <class T>
  static T apply(T x, T y) {
    if constexpr (Float<T>) {
      if (std::isnan(x) || std::isnan(y)) return x + y;
      if (x == y) return std::signbit(x) ? y : x;
    }
    return x < y ? y : x;
  }
};

struct Minimum {
  template <class T>
  static T apply(T x, T y) {
    if constexpr (Float<T>) {
      if (std::isnan(x) || std::isnan(y)) return x + y;
      if (x == y) return std::signbit(x) ? x : y;
    }
    return y < x ? y : x;
  }
};

struct And {
  template <class T>
  requires std::integral<T>
  static T apply(T x, T y) { return static_cast<T>(x & y); }
};

struct Or {
  template <class T>
  requires std::integral<T>
  static T apply(T x, T y) { return static_cast<T>(x | y); }
};

struct Xor {
  template <class T>
  requires std::integral<T>
  static T apply(T x, T y) { return static_cast<T>(x ^ y); }
};

template <Integer T>
constexpr bool shifts_all_out(T y) {
  return bits(y) >= std::numeric_limits<Bits<T>>::digits;
}

struct ShiftLeft {
  template <Integer T>
  static T apply(T x, T y) {
    return shifts_all_out(y) ? T{0} : static_cast<T>(wide(x) << bits(y));
  }
};

struct ShiftRightLogical {
  template <Integer T>
  static T apply(T x, T y) {
    return shifts_all_out(y) ? T{0} : static_cast<T>(wide(x) >> bits(y));
  }
};

struct ShiftRightArithmetic {
  template <Integer T>
  static T apply(T x, T y) {
    using Value = std::make_signed_t<T>;
    const auto value = static_cast<Value>(x);
    const int all = std::numeric_limits<Value>::digits;
    return static_cast<T>(value >>
                          (shifts_all_out(y) ? all : static_cast<int>(y)));
  }
};

}  // namespace topos::stablehlo_text::scalar
