#pragma once

#include <concepts>
#include <type_traits>

namespace topos::ops {

/// f(x, y) for a ring operation f: integers are computed unsigned, where an
/// overflow wraps and is no undefined behaviour.
template <class T, class F>
constexpr T wrapping(T x, T y, F f) {
  if constexpr (std::integral<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(x), static_cast<U>(y)));
  } else {
    return f(x, y);
  }
}

}  // namespace topos::ops
