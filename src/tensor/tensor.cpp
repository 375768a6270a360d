#include "topos/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>

#include "tensor/layout.h"
#include "tensor/memory.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos {

namespace {

[[noreturn]] void no_memory(const Type& type) {
  throw RuntimeError(fmt::format("no memory for {} ({} bytes)", type.text(),
                                 type.size_bytes()));
}

std::shared_ptr<std::byte> allocate(const Type& type) {
  Memory memory = allocate_memory(type.size_bytes());
  if (memory == nullptr) no_memory(type);
  return memory;
}

void expect_dtype(DType asked, const Type& found) {
  if (asked != found.dtype) {
    throw DTypeError(fmt::format("elements of {} were asked of {}", name(asked),
                                 found.text()));
  }
}

}  // namespace

Tensor::Tensor() {
  // One zero for all of them: an empty slot costs no allocation.
  static const Tensor zero = scalar(0.0f);
  *this = zero;
}

template <Element T>
Tensor::Tensor(Shape shape, std::span<const T> elements) {
  const Type type{dtype_of<T>, shape};
  if (static_cast<std::uint64_t>(shape.element_count()) != elements.size()) {
    throw ShapeError(fmt::format("{} elements do not fill the shape {}",
                                 elements.size(), shape.text()));
  }
  std::byte* data = nullptr;
  *this = uninitialized(type, data);
  if (!elements.empty()) {
    std::memcpy(data, elements.data(), elements.size_bytes());
  }
}

template <Element T>
Tensor::Tensor(Shape shape, const std::vector<T>& elements) : Tensor() {
  if constexpr (std::same_as<T, bool>) {
    const auto bytes = std::make_unique<bool[]>(elements.size());
    std::copy(elements.begin(), elements.end(), bytes.get());
    *this = Tensor(shape, std::span<const bool>(bytes.get(), elements.size()));
  } else {
    *this = Tensor(shape, std::span<const T>(elements));
  }
}

Tensor::Tensor(const Type& type, const Strides& strides,
               std::shared_ptr<const std::byte> storage, const std::byte* data)
    : type_(type),
      strides_(strides),
      element_count_(type.shape.element_count()),
      storage_(std::move(storage)),
      data_(data) {}

Tensor Tensor::uninitialized(const Type& type, std::byte*& data) {
  std::shared_ptr<std::byte> storage = allocate(type);
  data = storage.get();
  return {type, row_major_strides(type.shape), std::move(storage), data};
}

Tensor Tensor::borrowed(const Type& type, const Strides& strides,
                        const std::byte* data) {
  if (strides.size() != type.shape.rank()) {
    throw ShapeError(
        fmt::format("{} strides do not fit {}", strides.size(), type.text()));
  }
  return {type, strides, nullptr, data};
}

Tensor Tensor::zeros(const Type& type) {
  std::byte* data = nullptr;
  Tensor result = uninitialized(type, data);
  std::memset(data, 0, type.size_bytes());
  return result;
}

Tensor Tensor::full(const Type& type, Number value) {
  return visit_dtype(type.dtype, [&]<class T>() {
    return scalar(value.as<T>()).broadcasted(type.shape).contiguous();
  });
}

bool Tensor::is_contiguous() const noexcept {
  return layout_of(*this).is_contiguous();
}

template <Element T>
std::vector<T> Tensor::to_vector() const {
  expect_dtype(dtype_of<T>, type_);
  std::vector<T> result;
  try {
    result.reserve(static_cast<std::size_t>(element_count_));
  } catch (const std::exception&) {  // a view may be larger than its storage
    no_memory(type_);
  }
  const T* from = reinterpret_cast<const T*>(data_);
  for_each_position(layout_of(*this),
                    [&](std::int64_t at) { result.push_back(from[at]); });
  return result;
}

template <Element T>
std::span<const T> Tensor::span() const {
  expect_dtype(dtype_of<T>, type_);
  if (!is_contiguous()) {
    throw UsageError(fmt::format(
        "a span of {} was asked for, but it is a view with gaps: take "
        "contiguous() first",
        type_.text()));
  }
  return {reinterpret_cast<const T*>(data_),
          static_cast<std::size_t>(element_count_)};
}

template <Element T>
T Tensor::at(std::initializer_list<std::int64_t> index) const {
  expect_dtype(dtype_of<T>, type_);
  const Shape asked(index);
  bool inside = asked.rank() == rank();
  std::int64_t position = 0;
  for (int axis = 0; inside && axis < rank(); ++axis) {
    inside = asked[axis] >= 0 && asked[axis] < shape()[axis];
    if (inside) position += asked[axis] * strides_[axis];
  }
  if (!inside) {
    throw ShapeError(
        fmt::format("the index {} is not in {}", asked.text(), type_.text()));
  }
  return reinterpret_cast<const T*>(data_)[position];
}

double Tensor::item() const {
  if (element_count_ != 1) {
    throw ShapeError(
        fmt::format("the only element was asked of {}", type_.text()));
  }
  return visit_dtype(dtype(), [&]<class T>() {
    return static_cast<double>(*reinterpret_cast<const T*>(data_));
  });
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  std::byte* data = nullptr;
  Tensor result = uninitialized(type_, data);
  gather_elements(data_, layout_of(*this), topos::size_bytes(dtype()), data);
  return result;
}

namespace {

/// Where a view of `data` begins. One without elements stays where it is: its
/// offset may lead out of the storage.
const std::byte* start_of(const Layout& view, DType dtype,
                          const std::byte* data) {
  if (view.shape.element_count() == 0) return data;
  return data + view.offset * static_cast<std::int64_t>(size_bytes(dtype));
}

}  // namespace

Tensor Tensor::reshaped(Shape shape) const {
  const Shape to = infer_extents(type_.shape, shape);
  if (const auto layout = layout_of(*this).reshaped(to)) {
    return {{dtype(), to}, layout->strides, storage_, data_};
  }
  return contiguous().reshaped(to);
}

Tensor Tensor::permuted(const Axes& axes) const {
  if (axes.size() != rank()) {
    throw ShapeError(fmt::format("{} axes do not permute a tensor of rank {}",
                                 axes.size(), rank()));
  }
  normalize_axes(axes, rank());
  Axes order;
  for (int axis : axes) {
    order.push_back(static_cast<std::int8_t>(normalize_axis(axis, rank())));
  }
  const Layout layout = layout_of(*this).permuted(order);
  return {{dtype(), layout.shape}, layout.strides, storage_, data_};
}

Tensor Tensor::narrowed(int axis, std::int64_t start,
                        std::int64_t count) const {
  const int at = normalize_axis(axis, rank());
  if (start < 0 || count < 0 || start > shape()[at] ||
      count > shape()[at] - start) {
    throw ShapeError(
        fmt::format("the elements [{}, {} + {}) are not in axis {} of {}",
                    start, start, count, at, shape().text()));
  }
  const Layout layout = layout_of(*this).narrowed(at, start, count);
  return {{dtype(), layout.shape},
          layout.strides,
          storage_,
          start_of(layout, dtype(), data_)};
}

Tensor Tensor::broadcasted(const Shape& to, const Axes& axes) const {
  if (axes.size() != rank()) {
    throw ShapeError(fmt::format("{} axes do not place a tensor of rank {}",
                                 axes.size(), rank()));
  }
  int last = -1;
  for (int axis = 0; axis < rank(); ++axis) {
    const int at = normalize_axis(axes[axis], to.rank());
    if (at <= last) {
      throw ShapeError(
          fmt::format("the axes {} are not ascending", axes.text()));
    }
    last = at;
    if (shape()[axis] != to[at] && shape()[axis] != 1) {
      throw ShapeError(fmt::format("{} does not broadcast to {}",
                                   shape().text(), to.text()));
    }
  }
  const Layout layout = layout_of(*this).broadcasted(to, axes);
  return {{dtype(), to}, layout.strides, storage_, data_};
}

Tensor Tensor::broadcasted(const Shape& to) const {
  if (rank() > to.rank()) {
    throw ShapeError(
        fmt::format("{} does not broadcast to {}", shape().text(), to.text()));
  }
  Axes axes;
  for (int axis = to.rank() - rank(); axis < to.rank(); ++axis) {
    axes.push_back(static_cast<std::int8_t>(axis));
  }
  return broadcasted(to, axes);
}

Tensor Tensor::reversed(const Axes& axes) const {
  const Axes at = axes.empty() ? axes : normalize_axes(axes, rank());
  const Layout layout = layout_of(*this).reversed(at);
  return {type_, layout.strides, storage_, start_of(layout, dtype(), data_)};
}

Tensor Tensor::sliced(int axis, std::int64_t start, std::int64_t stop,
                      std::int64_t step) const {
  const int at = normalize_axis(axis, rank());
  if (start < 0 || stop < start || stop > shape()[at] || step < 1) {
    throw ShapeError(fmt::format("the slice {}:{}:{} is not in axis {} of {}",
                                 start, stop, step, at, shape().text()));
  }
  Layout layout = layout_of(*this).narrowed(at, start, stop - start);
  // In this order nothing overflows, however large the step.
  const std::int64_t count = start == stop ? 0 : (stop - start - 1) / step + 1;
  layout.shape[at] = count;
  if (count > 1) layout.strides[at] *= step;
  return {{dtype(), layout.shape},
          layout.strides,
          storage_,
          start_of(layout, dtype(), data_)};
}

std::string Tensor::text(std::int64_t limit) const {
  std::string result = type_.text() + "{";
  visit_dtype(dtype(), [&]<class T>() {
    const Layout layout = layout_of(*this);
    for (std::int64_t index = 0; index < std::min(limit, element_count_);
         ++index) {
      if (index > 0) result += ' ';
      using Printed = std::conditional_t<sizeof(T) == 2, float, T>;
      fmt::format_to(std::back_inserter(result), "{}",
                     Printed{reinterpret_cast<const T*>(
                         data_)[position_of(layout, index)]});
    }
  });
  if (limit < element_count_) result += " ...";
  return result + "}";
}

bool bits_equal(const Tensor& left, const Tensor& right) {
  if (left.type() != right.type()) return false;
  return visit_dtype(left.dtype(), [&]<class T>() {
    const Tensor a = left.contiguous();
    const Tensor b = right.contiguous();
    const auto x = a.span<T>();
    const auto y = b.span<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if constexpr (!std::integral<T>) {
        if (x[i] != x[i] && y[i] != y[i]) continue;  // NaN
      }
      if (std::memcmp(&x[i], &y[i], sizeof(T)) != 0) return false;
    }
    return true;
  });
}

#define TOPOS_INSTANTIATE(T)                             \
  template Tensor::Tensor(Shape, std::span<const T>);    \
  template Tensor::Tensor(Shape, const std::vector<T>&); \
  template std::vector<T> Tensor::to_vector<T>() const;  \
  template std::span<const T> Tensor::span<T>() const;   \
  template T Tensor::at<T>(std::initializer_list<std::int64_t>) const;
TOPOS_INSTANTIATE(float)
TOPOS_INSTANTIATE(double)
TOPOS_INSTANTIATE(BFloat16)
TOPOS_INSTANTIATE(Float16)
TOPOS_INSTANTIATE(std::int32_t)
TOPOS_INSTANTIATE(std::int64_t)
TOPOS_INSTANTIATE(bool)
#undef TOPOS_INSTANTIATE

}  // namespace topos
