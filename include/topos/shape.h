#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "topos/dtype.h"

namespace topos {

/// The greatest rank of a tensor.
inline constexpr int max_rank = 8;

namespace detail {
[[noreturn]] void too_many_axes(std::size_t count);
}

/// A list of at most `max_rank` items, stored inline and trivially copyable,
/// as are all attributes of operations. Negative positions count from the end.
template <class T>
class Inline {
 public:
  constexpr Inline() = default;
  constexpr Inline(std::initializer_list<T> items)
      : Inline(std::span<const T>(items.begin(), items.size())) {}
  constexpr explicit Inline(std::span<const T> items) {
    if (items.size() > max_rank) detail::too_many_axes(items.size());
    for (const T& item : items) items_[size_++] = item;
  }

  constexpr int size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T* begin() const noexcept { return items_.data(); }
  constexpr const T* end() const noexcept { return items_.data() + size_; }
  constexpr T* begin() noexcept { return items_.data(); }
  constexpr T* end() noexcept { return items_.data() + size_; }

  /// \pre -size() <= at < size()
  constexpr const T& operator[](int at) const noexcept {
    return items_[static_cast<std::size_t>(at < 0 ? at + size_ : at)];
  }
  constexpr T& operator[](int at) noexcept {
    return items_[static_cast<std::size_t>(at < 0 ? at + size_ : at)];
  }

  /// \throws ShapeError  `max_rank` items are there already
  constexpr void push_back(T item) {
    if (size_ == max_rank) detail::too_many_axes(max_rank + 1);
    items_[size_++] = item;
  }

  constexpr bool contains(T item) const noexcept {
    for (const T& other : *this) {
      if (other == item) return true;
    }
    return false;
  }

  constexpr bool operator==(const Inline&) const = default;

 private:
  // Items beyond size_ stay zero, so that equality may compare them all.
  std::array<T, max_rank> items_ = {};
  std::uint8_t size_ = 0;
};

/// Axes of a tensor, as an attribute of an operation; one axis converts.
class Axes : public Inline<std::int8_t> {
 public:
  constexpr Axes() = default;
  constexpr Axes(std::initializer_list<int> axes) {
    for (int axis : axes) push_back(checked(axis));
  }
  // NOLINTNEXTLINE(google-explicit-constructor): sum(x, 0) reads well.
  constexpr Axes(int axis) { push_back(checked(axis)); }

  /// `[0, -1]`.
  std::string text() const;

 private:
  static constexpr std::int8_t checked(int axis) {
    // What is out of range stays so: no rank reaches it.
    constexpr int limit = 127;
    return static_cast<std::int8_t>(axis > limit    ? limit
                                    : axis < -limit ? -limit
                                                    : axis);
  }
};

/// The extents of a tensor: rank 0 is a scalar, an extent may be 0. Static
/// once recorded.
class Shape : public Inline<std::int64_t> {
 public:
  using Inline::Inline;

  constexpr int rank() const noexcept { return size(); }

  /// The product of the extents.
  /// \throws ShapeError  an extent is negative, or the product of those that
  ///                     are not zero does not fit 63 bits
  std::int64_t element_count() const;

  /// The extents before axis `axis` (negative counts from the end).
  Shape leading(int axis) const;
  /// The same with one extent replaced.
  Shape with(int axis, std::int64_t extent) const;
  /// The same without the axes of `axes` (normalized).
  Shape without(const Axes& axes) const;

  /// `[2, 3]`; `[]` for a scalar.
  std::string text() const;
};

/// \return the axis counted from the front
/// \throws ShapeError  `axis` is not in [-rank, rank)
int normalize_axis(int axis, int rank);

/// All of `axes` counted from the front, in ascending order; none means all.
/// \throws ShapeError  one is out of range or named twice
Axes normalize_axes(const Axes& axes, int rank);

/// NumPy's broadcast of two shapes: aligned at the right, an extent of 1
/// stretches to the other.
/// \throws ShapeError  two extents differ and neither is 1; names both shapes
Shape broadcast_shapes(const Shape& left, const Shape& right);

/// A dtype with a shape: what a value is before it has elements.
struct Type {
  DType dtype = DType::f32;
  Shape shape;

  bool operator==(const Type&) const = default;

  /// The bytes of all elements.
  /// \throws ShapeError  as Shape::element_count, or the bytes overflow
  std::size_t size_bytes() const;

  /// `f32[2, 3]`.
  std::string text() const;
};

}  // namespace topos
