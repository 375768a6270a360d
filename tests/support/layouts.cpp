#include "support/layouts.h"

#include <cstring>

#include "tensor/layout.h"
#include "tensor/visit.h"

namespace topos::test {
namespace {

Axes all_axes(int rank) {
  Axes result;
  for (int axis = 0; axis < rank; ++axis) {
    result.push_back(static_cast<std::int8_t>(axis));
  }
  return result;
}

/// The elements lie in column-major order.
Tensor column_major(const Tensor& x) {
  Axes order;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    order.push_back(static_cast<std::int8_t>(axis));
  }
  return x.permuted(order).contiguous().permuted(order);
}

/// The elements lie from last to first.
Tensor backwards(const Tensor& x) {
  const Axes axes = all_axes(x.rank());
  if (axes.empty()) return x;
  return x.reversed(axes).contiguous().reversed(axes);
}

/// Each element is followed by noise: bytes of ones, a NaN or an index out of
/// any range.
Tensor with_gaps(const Tensor& x) {
  if (x.rank() == 0) return x;
  Shape wide = x.shape();
  wide[-1] *= 3;
  std::byte* data = nullptr;
  const Tensor storage = Tensor::uninitialized({x.dtype(), wide}, data);
  const std::size_t bytes = size_bytes(x.dtype());
  // A byte of a boolean may only be 0 or 1.
  std::memset(data, x.dtype() == boolean ? 1 : 0xff,
              static_cast<std::size_t>(wide.element_count()) * bytes);
  const Tensor packed = x.contiguous();
  for (std::int64_t i = 0; i < x.element_count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::memcpy(data + (3 * at + 1) * bytes, packed.data() + at * bytes, bytes);
  }
  if (x.element_count() == 0) return x;
  return storage.sliced(-1, 1, wide[-1], 3);
}

/// The elements along one axis are one element, if they all are equal.
Tensor repeated(const Tensor& x, int axis) {
  if (x.element_count() == 0) return x;
  const Tensor view = x.narrowed(axis, 0, 1).broadcasted(x.shape());
  return bits_equal(view, x) ? view : x;
}

}  // namespace

std::vector<Variant> variants(const Tensor& x) {
  std::vector<Variant> result;
  const auto add = [&](std::string layout, Tensor tensor) {
    if (!tensor.is_contiguous()) {
      result.push_back({std::move(layout), std::move(tensor)});
    }
  };
  add("column-major", column_major(x));
  add("reversed", backwards(x));
  add("with gaps", with_gaps(x));
  for (int axis = 0; axis < x.rank(); ++axis) {
    add("repeated along axis " + std::to_string(axis), repeated(x, axis));
  }
  return result;
}

}  // namespace topos::test
