#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "topos/dtype.h"
#include "topos/number.h"
#include "topos/shape.h"

namespace topos {

/// Distances between neighbours along each axis, in elements; 0 repeats, a
/// negative one reverses.
using Strides = Inline<std::int64_t>;

/// The strides of a row-major layout without gaps.
/// \throws ShapeError  an extent is negative, or the element count overflows
Strides row_major_strides(const Shape& shape);

/// An immutable payload: dtype, shape and strides over shared storage. Views
/// copy nothing; copying a Tensor shares its storage. Equal tensors need not
/// share storage.
///
/// Threads may read one tensor, and copies of it, at the same time.
class Tensor {
 public:
  /// A scalar f32 zero.
  Tensor();
  // Copies only: what was moved from would point to storage it does not hold.
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;

  /// A row-major tensor of the given elements, in T's dtype.
  /// \throws ShapeError  the count of elements is not that of the shape
  template <Element T>
  Tensor(Shape shape, std::span<const T> elements);
  template <Element T>
  Tensor(Shape shape, std::initializer_list<T> elements)
      : Tensor(shape, std::span<const T>(elements.begin(), elements.size())) {}
  template <Element T>
  Tensor(Shape shape, const std::vector<T>& elements);

  /// A rank-0 tensor.
  template <Element T>
  static Tensor scalar(T value) {
    return Tensor(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor zeros(const Type& type);
  /// \throws DTypeError  the dtype cannot hold the number
  static Tensor full(const Type& type, Number value);

  /// Storage of the given type with unspecified elements, for the caller to
  /// fill through `data` before anyone else sees the tensor.
  /// \throws ShapeError    the size overflows
  /// \throws RuntimeError  the memory cannot be had
  static Tensor uninitialized(const Type& type, std::byte*& data);

  /// A tensor over memory that somebody else owns and keeps alive and as it is
  /// for as long as the tensor and its views live.
  /// \throws ShapeError  there is not one stride an axis
  static Tensor borrowed(const Type& type, const Strides& strides,
                         const std::byte* data);

  const Type& type() const noexcept { return type_; }
  DType dtype() const noexcept { return type_.dtype; }
  const Shape& shape() const noexcept { return type_.shape; }
  int rank() const noexcept { return type_.shape.rank(); }
  const Strides& strides() const noexcept { return strides_; }
  std::int64_t element_count() const noexcept { return element_count_; }
  /// Row-major without gaps.
  bool is_contiguous() const noexcept;

  /// The element at index 0 of every axis; the others lie at `strides()`.
  const std::byte* data() const noexcept { return data_; }

  /// The elements in row-major order.
  /// \throws DTypeError  T is not the dtype
  template <Element T>
  std::vector<T> to_vector() const;
  /// The same without a copy.
  /// \throws UsageError  the tensor is not contiguous
  template <Element T>
  std::span<const T> span() const;
  /// One element. \throws ShapeError  a wrong rank, or an index out of range
  template <Element T>
  T at(std::initializer_list<std::int64_t> index) const;
  /// The only element, whatever its dtype (an i64 beyond 2^53 rounds).
  /// \throws ShapeError  there is not exactly one
  double item() const;

  /// The same elements, row-major without gaps: itself if it is so already.
  Tensor contiguous() const;

  // Views. Axes may be negative. All throw ShapeError on what does not fit.

  /// The same elements in row-major order under another shape; one extent may
  /// be -1 and is inferred. Copies only where no strides can express it.
  Tensor reshaped(Shape shape) const;
  /// Axis i of the result is axis `axes[i]` of this.
  Tensor permuted(const Axes& axes) const;
  /// Elements [start, start + count) of one axis.
  Tensor narrowed(int axis, std::int64_t start, std::int64_t count) const;
  /// Axis i of this becomes axis `axes[i]` of the result, everything else
  /// repeats; an extent of 1 stretches.
  Tensor broadcasted(const Shape& shape, const Axes& axes) const;
  /// Right-aligned, as NumPy.
  Tensor broadcasted(const Shape& shape) const;
  Tensor reversed(const Axes& axes) const;
  /// Every `step`-th element of [start, stop) of one axis, step >= 1.
  Tensor sliced(int axis, std::int64_t start, std::int64_t stop,
                std::int64_t step) const;

  /// Type and elements, cut after `limit` of them.
  std::string text(std::int64_t limit = 64) const;

 private:
  Tensor(const Type& type, const Strides& strides,
         std::shared_ptr<const std::byte> storage, const std::byte* data);

  Type type_;
  Strides strides_;
  std::int64_t element_count_ = 1;
  std::shared_ptr<const std::byte> storage_;
  const std::byte* data_ = nullptr;
};

/// Whether types are equal and every element has the same bits, any NaN equal
/// to any NaN: the equality of the numerics contract.
bool bits_equal(const Tensor& left, const Tensor& right);

}  // namespace topos
