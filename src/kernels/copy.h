// Elements moved from one layout to another: transposes, slices into a larger
// tensor, broadcasts, reversals.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/layout.h"

namespace topos::kernels {

/// A copy of all elements of one layout to the same indices of another,
/// prepared once. The elements written must be distinct.
class StridedCopy {
 public:
  StridedCopy() = default;
  /// \pre `from` and `to` have one shape; element_bytes is 1, 2, 4 or 8
  StridedCopy(const Layout& from, const Layout& to, std::size_t element_bytes);

  /// Part `part` of `parts`. \param from, to  the layouts' element 0
  void run(const std::byte* from, std::byte* to, int part = 0,
           int parts = 1) const;

  std::int64_t element_count() const noexcept { return count_; }

 private:
  struct Axis {
    std::int64_t extent;
    std::int64_t from;  // strides, in elements
    std::int64_t to;
  };

  /// Appends an axis, or makes the last one longer if they are one.
  void add(const Axis& axis);
  void choose_split();
  /// If another axis than the last has neighbours in the source, makes it the
  /// last but one.
  void find_transpose();

  int rank_ = 0;
  int split_ = 0;  // the axis that parts divide
  bool transposes_ = false;
  std::size_t element_bytes_ = 1;
  std::int64_t count_ = 0;
  std::int64_t from_offset_ = 0;
  std::int64_t to_offset_ = 0;
  std::array<Axis, max_rank> axes_ = {};  // by descending stride in `to`
};

}  // namespace topos::kernels
