#pragma once

#include <array>

#include "ops/indexing.h"
#include "ops/operation.h"

namespace topos::ops {

/// The slices of x that an index names along an axis.
///
///   shape       x [batch..., before..., n, after...], index [batch...,
///   rest...]
///               -> [batch..., before..., rest..., after...]
///   C1 to C4    indexing.h
///   value       IndexError if an index is negative or not below n
///   derivative  dx = scatter_add(zeros, index, dy)
struct Gather {
  std::int8_t axis = 0;
  std::int8_t batch = 0;

  static constexpr std::string_view name = "gather";
  static constexpr bool only_moves = true;
  static constexpr int arity = 2;
  static constexpr std::size_t index_operand = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &Gather::axis},
                           std::pair{"batch", &Gather::batch});
  }
  bool operator==(const Gather&) const = default;

  static Gather make(Operands<Type> x, IndexOptions options) {
    return make_indexed<Gather>(x, options);
  }

  Type infer(Operands<Type> x) const {
    const Type type{x[0].dtype, sliced_shape(x[0], x[1], axis, batch)};
    type.size_bytes();
    return type;
  }

  void value(Operands<Tensor> x, Output y) const {
    const IndexedExtents at(x[0].shape(), x[1].shape(), axis, batch);
    const auto index = checked_indices(x[1], at.n);
    const Layout from = layout_of(x[0]);
    visit_dtype(y.type.dtype, [&]<class T>() {
      const T* elements = elements_of<T>(x[0]);
      T* out = y.as<T>();
      for (std::int64_t b = 0; b < at.batch; ++b) {
        for (std::int64_t o = 0; o < at.before; ++o) {
          for (std::int64_t r = 0; r < at.rest; ++r) {
            const std::int64_t i =
                index[static_cast<std::size_t>(b * at.rest + r)];
            const std::int64_t slice = (b * at.before + o) * at.n + i;
            for (std::int64_t a = 0; a < at.after; ++a) {
              *out++ = elements[position_of(from, slice * at.after + a)];
            }
          }
        }
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    const V zeros = full_like(dy, x[0].type(), 0);
    return {scatter_add(zeros, x[1], dy, {axis, batch}), std::nullopt};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.gather(x[0], x[1], {axis, batch}, x.result);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Gather>>({
        {"rows", {0}, "f32[3, 2]{1 2 3 4 5 6} i32[2]{2 0}", "f32[2, 2]{5 6 1 2}"},
        {"bf16", {}, "bf16[3]{1 2 0x1p-133} i32[2]{2 0}", "bf16[2]{0x1p-133 1}", "bf16[3]{1 0 1} -"},
        {"repeated", {0}, "f32[3]{10 20 30} i64[3]{2 0 2}", "f32[3]{30 10 30}", "f32[3]{1 0 2} -"},
        {"columns", {1}, "f32[2, 3]{1 2 3 4 5 6} i32[2]{2 1}", "f32[2, 2]{3 2 6 5}"},
        {"matrix of rows", {0}, "f32[2, 2]{1 2 3 4} i32[2, 1]{1 0}", "f32[2, 1, 2]{3 4 1 2}"},
        {"batched", {1, 1}, "f32[2, 3]{1 2 3 4 5 6} i32[2]{2 0}", "f32[2]{3 4}"},
        {"batched inside", {2, 1}, "f32[2, 2, 2]{1 2 3 4 5 6 7 8} i32[2, 1]{1 0}", "f32[2, 2, 1]{2 4 5 7}"},
        {"scalar", {0}, "f32[2]{7 8} i32[]{1}", "f32[]{8}"},
        {"none", {0}, "f32[2, 2]{1 2 3 4} i32[0]{}", "f32[0, 2]{}"},
        {"none of nothing", {0}, "f32[0, 2]{} i32[0]{}", "f32[0, 2]{}"},
        {"booleans", {0}, "boolean[2]{0 1} i32[1]{1}", "boolean[1]{1}", "-"},
        {"negative", {0}, "f32[3]{10 20 30} i32[2]{0 -1}", "the index -1 at position 1 is not in [0, 3)"},
        {"beyond", {0}, "f32[3]{10 20 30} i32[1]{3}", "the index 3 at position 0 is not in [0, 3)"},
        {"of nothing", {0}, "f32[0]{} i64[1]{0}", "the index 0 at position 0 is not in [0, 0)"},
        {"C1 dtype", {0}, "f32[3] f32[1]", "f32 is not an integer type"},
        {"C2 axis", {1}, "f32[3] i32[1]", "the axis 1 is not in a tensor of rank 1"},
        {"C2 batch", {0, 1}, "f32[3] i32[3]", "1 batch axes do not fit axis 0 and an index of rank 1"},
        {"C3 extents", {1, 1}, "f32[2, 3] i32[4]", "the batch extents 2 and 4 differ"},
        {"C4 rank", {0}, "f32[2, 1, 1, 1, 1] i32[1, 1, 1, 1, 1]", "9 axes, but a tensor has at most 8"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops
