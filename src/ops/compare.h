#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

enum class Direction : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal
};

inline constexpr std::string_view direction_names[] = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};

/// Comparisons, element by element; the result is boolean. NaN is unordered:
/// only not_equal holds for it.
///
///   C1          the dtypes are equal
///   C2          the shapes are equal (the caller broadcasts)
///   C3          booleans only by equal and not_equal
///   derivative  none
template <Direction direction>
struct Compare {
  static constexpr std::string_view name =
      direction_names[static_cast<std::size_t>(direction)];
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Compare&) const = default;

  static constexpr bool ordered =
      direction != Direction::equal && direction != Direction::not_equal;

  static Type infer(Operands<Type> x) {
    const Type& type = same(x[0], x[1]);  // C1, C2
    if (ordered) arithmetic(type);        // C3
    return {boolean, type.shape};
  }

  template <Element T>
  requires(!ordered || Arithmetic<T>) static bool value(T a, T b) {
    if constexpr (direction == Direction::equal) return a == b;
    if constexpr (direction == Direction::not_equal) return a != b;
    if constexpr (direction == Direction::less) return a < b;
    if constexpr (direction == Direction::less_equal) return a <= b;
    if constexpr (direction == Direction::greater) return a > b;
    if constexpr (direction == Direction::greater_equal) return a >= b;
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V&) {
    return Cotangents<V>(x.size());
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    constexpr std::string_view codes[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    return out.compare(codes[static_cast<std::size_t>(direction)], x[0], x[1]);
  }

  // clang-format off
  static auto rows() {
    // By direction: 1 ? 2, 2 ? 2, 3 ? 2, -0 ? 0, NaN ? NaN.
    constexpr std::string_view floats[] = {
        "boolean[5]{0 1 0 1 0}", "boolean[5]{1 0 1 0 1}",
        "boolean[5]{1 0 0 0 0}", "boolean[5]{1 1 0 1 0}",
        "boolean[5]{0 0 1 0 0}", "boolean[5]{0 1 1 1 0}"};
    // MIN ? MAX, and two that are equal as f64.
    constexpr std::string_view integers[] = {
        "boolean[2]{0 0}", "boolean[2]{1 1}", "boolean[2]{1 1}",
        "boolean[2]{1 1}", "boolean[2]{0 0}", "boolean[2]{0 0}"};
    constexpr auto at = static_cast<std::size_t>(direction);
    constexpr std::string_view booleans =
        ordered ? "boolean has no arithmetic"
        : direction == Direction::equal ? "boolean[2]{1 0}" : "boolean[2]{0 1}";
    return std::to_array<Row<Compare>>({
        {"floats", {}, "f32[5]{1 2 3 -0 nan} f32[5]{2 2 2 0 nan}", floats[at], "-"},
        {"f16", {}, "f16[5]{1 2 3 -0 nan} f16[5]{2 2 2 0 nan}", floats[at], "-"},
        {"integers", {}, "i64[2]{-9223372036854775808 9007199254740992} i64[2]{9223372036854775807 9007199254740993}", integers[at], "-"},
        {"C1 dtypes", {}, "i32[2] i64[2]", "the dtypes i32 and i64 differ: cast one"},
        {"C2 shapes", {}, "i32[2] i32[3]", "the shapes [2] and [3] differ"},
        {"C3 boolean", {}, "boolean[2]{1 0} boolean[2]{1 1}", booleans, "-"},
    });
  }
  // clang-format on
};

using Equal = Compare<Direction::equal>;
using NotEqual = Compare<Direction::not_equal>;
using Less = Compare<Direction::less>;
using LessEqual = Compare<Direction::less_equal>;
using Greater = Compare<Direction::greater>;
using GreaterEqual = Compare<Direction::greater_equal>;

}  // namespace topos::ops
