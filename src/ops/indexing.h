#pragma once

#include <algorithm>
#include <vector>

#include "ops/operation.h"
#include "tensor/visit.h"

namespace topos::ops {

/// Where the axes of an indexed tensor lie: [batch..., before..., n, after...]
/// addressed by an index [batch..., rest...]; the slices are
/// [batch..., before..., rest..., after...].
///
///   C1  the index has an integer dtype
///   C2  0 <= batch <= axis < rank of the tensor, batch <= rank of the index
///   C3  the first `batch` extents of both are equal
///   C4  the slices have no more axes than a tensor may have
template <class Op>
Op make_indexed(Operands<Type> x, IndexOptions options) {
  return {
      axis_attribute(options.axis, x[0].shape.rank()),
      static_cast<std::int8_t>(std::clamp(options.batch, -1, max_rank + 1))};
}

inline Shape sliced_shape(const Type& x, const Type& index, int axis,
                          int batch) {
  integral(index);                                                // C1
  expect_axis(axis, x.shape.rank());                              // C2
  if (batch < 0 || batch > axis || batch > index.shape.rank()) {  // C2
    throw ShapeError(
        fmt::format("{} batch axes do not fit axis {} and an index of rank {}",
                    batch, axis, index.shape.rank()));
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) {
    if (i < batch && x.shape[i] != index.shape[i]) {  // C3
      throw ShapeError(fmt::format("the batch extents {} and {} differ",
                                   x.shape[i], index.shape[i]));
    }
    shape.push_back(x.shape[i]);
  }
  for (int i = batch; i < index.shape.rank(); ++i) {
    shape.push_back(index.shape[i]);
  }
  for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  shape.element_count();
  return shape;
}

/// The extents that an indexed access runs over.
struct IndexedExtents {
  std::int64_t batch = 1;   // paired
  std::int64_t before = 1;  // of the tensor
  std::int64_t n = 1;       // addressed
  std::int64_t rest = 1;    // of the index
  std::int64_t after = 1;   // of the tensor

  IndexedExtents(const Shape& x, const Shape& index, int axis, int batch_axes) {
    for (int i = 0; i < batch_axes; ++i) batch *= x[i];
    for (int i = batch_axes; i < axis; ++i) before *= x[i];
    n = x[axis];
    for (int i = batch_axes; i < index.rank(); ++i) rest *= index[i];
    for (int i = axis + 1; i < x.rank(); ++i) after *= x[i];
  }
};

/// The error of an index out of range, at its row-major position.
[[noreturn]] inline void index_out_of_range(std::int64_t index,
                                            std::int64_t position,
                                            std::int64_t n) {
  throw IndexError(fmt::format("the index {} at position {} is not in [0, {})",
                               index, position, n));
}

/// The indices in row-major order, checked.
/// \throws IndexError  one is not in [0, n)
inline std::vector<std::int64_t> checked_indices(const Tensor& index,
                                                 std::int64_t n) {
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(index.element_count()));
  visit_dtype(index.dtype(), [&]<class T>() {
    const T* from = elements_of<T>(index);
    for_each_position(layout_of(index), [&](std::int64_t at) {
      const auto i = static_cast<std::int64_t>(from[at]);
      if (i < 0 || i >= n) {
        index_out_of_range(i, static_cast<std::int64_t>(result.size()), n);
      }
      result.push_back(i);
    });
  });
  return result;
}

}  // namespace topos::ops
