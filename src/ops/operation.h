#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "stablehlo/writer.h"
#include "tensor/layout.h"
#include "topos/error.h"
#include "topos/functions.h"
#include "topos/shape.h"
#include "topos/tensor.h"

/// \file
/// What an operation is made of. An operation is a trivially copyable struct
/// of attributes with:
///
///   name         as it is printed
///   arity        the number of operands, or `any_number`
///   fields()     its attributes by name: printed, hashed, emitted
///   infer        the result's type, or a ShapeError or DTypeError whose
///                message is the bare clause
///   its value    in one of three forms:
///     value<T>   element by element, over the C++ type of the last operand;
///                a bool parameter reads booleans, a bool result writes them
///     view       the result is the operand under another layout; written
///                over Layout and Tensor alike, which share these names
///     value      over whole tensors, into the result's storage
///   derivative   the operands' cotangents, over any type with arithmetic
///   lower        itself as StableHLO
///   rows()       its test table
///
/// and optionally `make(types, arguments...)`, which turns a caller's
/// arguments (axes that may be negative, say) into attributes.

namespace topos::ops {

inline constexpr int any_number = -1;

/// The operands of one call, in order.
template <class V>
class Operands : public std::span<const V> {
 public:
  using std::span<const V>::span;  // NOLINT(modernize-use-equals-default)
  constexpr Operands() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Operands(std::span<const V> items) : std::span<const V>(items) {}
  Operands(std::initializer_list<V> items)
      : std::span<const V>(items.begin(), items.size()) {}
};

/// What a derivative rule gives: a cotangent for each operand, none where it
/// is zero or where the operand has no derivative.
template <class V>
using Cotangents = std::vector<std::optional<V>>;

/// What derivative rules are written over: Value records them, Tensor
/// evaluates them.
template <class V>
concept Differentiable = std::copyable<V> && requires(const V& v) {
  { v.type() } -> std::convertible_to<Type>;
  { v* v } -> std::same_as<V>;
  { 1.0 - v } -> std::same_as<V>;
};

template <class T>
concept Real = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Integer =
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;
/// What arithmetic takes: everything but boolean.
template <class T>
concept Arithmetic = Real<T> || Integer<T>;

/// What taking a view gives: of a Layout, nothing where no strides can express
/// it; a Tensor then copies.
template <class X>
using View =
    std::conditional_t<std::same_as<X, Layout>, std::optional<Layout>, X>;

/// Where a value over whole tensors goes: row-major without gaps, not
/// overlapping any operand.
struct Output {
  Type type;
  std::byte* data;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// One line of an operation's test table. Tensors are written as
/// `f32[2]{1 -0}`, types as `f32[2]`, several with spaces between.
template <class Op>
struct Row {
  std::string_view note;
  Op op;
  /// Tensors, or only types where the result is a type or an error.
  std::string_view operands;
  /// A tensor (its exact bits; within 1 ulp for an elementary f64 function),
  /// a type, or the error's clause.
  std::string_view result;
  /// The operands' cotangents for a cotangent of ones; empty where central
  /// differences say enough, `-` where none flows, `skip` at a point where
  /// differences mean nothing (a tie, a jump).
  std::string_view derivative = {};
};

// ---- Clauses that many rules share --------------------------------------

/// \throws DTypeError  the type is not floating
inline const Type& floating(const Type& x) {
  if (!is_floating(x.dtype)) {
    throw DTypeError(fmt::format("{} is not floating", name(x.dtype)));
  }
  return x;
}

/// \throws DTypeError  the type is boolean
inline const Type& arithmetic(const Type& x) {
  if (x.dtype == boolean) throw DTypeError("boolean has no arithmetic");
  return x;
}

/// \throws DTypeError  the type is not boolean
inline const Type& logical(const Type& x) {
  if (x.dtype != boolean) {
    throw DTypeError(fmt::format("{} is not boolean", name(x.dtype)));
  }
  return x;
}

/// \throws DTypeError  the type is not an integer's
inline const Type& integral(const Type& x) {
  if (!is_integer(x.dtype)) {
    throw DTypeError(fmt::format("{} is not an integer type", name(x.dtype)));
  }
  return x;
}

/// \throws DTypeError  the dtypes differ
inline void expect_equal_dtypes(const Type& x, const Type& y) {
  if (x.dtype != y.dtype) {
    throw DTypeError(fmt::format("the dtypes {} and {} differ: cast one",
                                 name(x.dtype), name(y.dtype)));
  }
}

/// \throws ShapeError  the shapes differ
inline void expect_equal_shapes(const Type& x, const Type& y) {
  if (x.shape != y.shape) {
    throw ShapeError(fmt::format("the shapes {} and {} differ", x.shape.text(),
                                 y.shape.text()));
  }
}

/// The common type of two operands of an elementwise operation. By then the
/// caller has broadcast them.
inline const Type& same(const Type& x, const Type& y) {
  expect_equal_dtypes(x, y);
  expect_equal_shapes(x, y);
  return x;
}

/// A caller's axis as an attribute: counted from the front.
/// \throws ShapeError  there is no such axis
inline std::int8_t axis_attribute(int axis, int rank) {
  return static_cast<std::int8_t>(normalize_axis(axis, rank));
}

/// \throws ShapeError  the attribute is not an axis counted from the front
inline void expect_axis(int axis, int rank) {
  if (normalize_axis(axis, rank) != axis) {
    throw ShapeError(
        fmt::format("the axis {} does not count from the front", axis));
  }
}

/// \throws ShapeError  the attribute does not list axes, counted from the
///                     front, in ascending order
inline void expect_axes(const Axes& axes, int rank) {
  if (!axes.empty() && normalize_axes(axes, rank) != axes) {
    throw ShapeError(
        fmt::format("the axes {} do not ascend from the front", axes.text()));
  }
}

/// x as what says so computes with it: 16-bit types in f32.
template <Differentiable V>
V widened(const V& x) {
  return is_half(x.type().dtype) ? cast(x, f32) : x;
}

/// What was computed from widened operands, in their dtype.
template <Differentiable V>
V rounded(const V& y, DType dtype) {
  return is_half(dtype) ? cast(y, dtype) : y;
}

/// The elements of x for `for_each_position` over `layout_of(x)`.
template <class T>
const T* elements_of(const Tensor& x) {
  return reinterpret_cast<const T*>(x.data());
}

/// A layout cut in two: the axes that a reduction keeps and those it reduces,
/// each in row-major order.
struct Split {
  Layout kept;
  Layout reduced;
};

inline Split split(const Layout& x, const Axes& reduced) {
  Split result;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    Layout& part = reduced.contains(static_cast<std::int8_t>(axis))
                       ? result.reduced
                       : result.kept;
    part.shape.push_back(x.shape[axis]);
    part.strides.push_back(x.strides[axis]);
  }
  return result;
}

/// The element count of the reduced axes.
inline std::int64_t reduced_count(const Shape& shape, const Axes& axes) {
  std::int64_t count = 1;
  for (int axis : axes) count *= shape[axis];
  return count;
}

/// `shape` with the extents of `axes` set to 1.
inline Shape with_ones(Shape shape, const Axes& axes) {
  for (int axis : axes) shape[axis] = 1;
  return shape;
}

/// The axes of a shape of that rank that are not in `axes`: where the axes of
/// a reduction's result lie in its operand.
inline Axes other_axes(const Axes& axes, int rank) {
  Axes result;
  for (int axis = 0; axis < rank; ++axis) {
    if (!axes.contains(static_cast<std::int8_t>(axis))) {
      result.push_back(static_cast<std::int8_t>(axis));
    }
  }
  return result;
}

}  // namespace topos::ops
