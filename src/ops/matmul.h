#pragma once

#include <array>

#include "ops/matmul_reference.h"
#include "ops/operation.h"

namespace topos::ops {

/// Matrix product over the last two axes.
///
///   shape  [..., m, k] x [..., k, n] -> [..., m, n]
///          [..., m, k] x [k, n]      -> [..., m, n], one product of all rows
///   C1     the ranks are equal, two or more; or the right one is two
///   C2     of equal ranks, the axes before the last two are equal
///   C3     the inner extents, the two k, are equal
///   C4     the dtypes are equal and floating
///   value  matmul_reference.h
///   derivative  dleft = dy right', dright = left' dy; where all rows of the
///          left operand meet one matrix, k of that product runs over all of
///          them in row-major order
struct Matmul {
  static constexpr std::string_view name = "matmul";
  static constexpr int arity = 2;
  static constexpr std::tuple<> fields() { return {}; }
  bool operator==(const Matmul&) const = default;

  static Shape infer_shape(const Shape& left, const Shape& right) {
    const bool all_rows = right.rank() == 2 && left.rank() >= 2;
    if (!all_rows && (left.rank() != right.rank() || left.rank() < 2)) {  // C1
      throw ShapeError(
          fmt::format("the ranks {} and {} must be equal, >= 2, or the right "
                      "one 2",
                      left.rank(), right.rank()));
    }
    if (!all_rows && left.leading(-2) != right.leading(-2)) {  // C2
      throw ShapeError(fmt::format("the batch axes {} and {} differ",
                                   left.leading(-2).text(),
                                   right.leading(-2).text()));
    }
    if (left[-1] != right[-2]) {  // C3
      throw ShapeError(fmt::format("the inner extents {} and {} differ",
                                   left[-1], right[-2]));
    }
    return left.with(-1, right[-1]);
  }

  static Type infer(Operands<Type> x) {
    expect_equal_dtypes(x[0], x[1]);  // C4
    floating(x[0]);                   // C4
    const Type type{x[0].dtype, infer_shape(x[0].shape, x[1].shape)};
    type.size_bytes();
    return type;
  }

  static void value(Operands<Tensor> x, Output y) {
    const Layout left = layout_of(x[0]);
    const Layout right = layout_of(x[1]);
    const auto matrix = [](const Layout& layout) {
      return MatrixStrides{layout.strides[-2], layout.strides[-1]};
    };
    const Layout batch{left.shape.leading(-2), leading(left.strides), 0};
    const std::int64_t m = left.shape[-2];
    const std::int64_t k = left.shape[-1];
    const std::int64_t n = right.shape[-1];
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Real<T>) {
        std::int64_t entry = 0;
        for_each_position(batch, [&](std::int64_t at) {
          const std::int64_t right_at =
              right.shape.rank() == left.shape.rank()
                  ? position_of({batch.shape, leading(right.strides), 0}, entry)
                  : 0;
          matmul_reference(
              elements_of<T>(x[0]) + at, matrix(left),
              elements_of<T>(x[1]) + right_at, matrix(right),
              y.as<T>() + entry * m * n, {n, 1}, static_cast<std::size_t>(m),
              static_cast<std::size_t>(n), static_cast<std::size_t>(k));
          ++entry;
        });
      }
    });
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    const Shape left = x[0].type().shape;
    const Shape right = x[1].type().shape;
    const V by_left = matmul(dy, transpose(x[1]));
    if (left.rank() == right.rank()) {
      return {by_left, matmul(transpose(x[0]), dy)};
    }
    const std::int64_t rows = left.leading(-1).element_count();
    return {by_left, matmul(transpose(reshape(x[0], Shape{rows, left[-1]})),
                            reshape(dy, Shape{rows, right[-1]}))};
  }

  static stablehlo::Value lower(stablehlo::Writer& out,
                                const stablehlo::Call& x) {
    const int rank = x[0].type.shape.rank();
    const int batch = x[1].type.shape.rank() == rank ? rank - 2 : 0;
    return out.dot_general(x[0], x[1], batch, rank - 1, batch);
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<Matmul>>({
        {"plain", {}, "f32[2, 3]{1 2 3 4 5 6} f32[3, 2]{1 2 3 4 5 6}", "f32[2, 2]{22 28 49 64}"},
        {"bf16", {}, "bf16[1, 3]{256 1 1} bf16[3, 1]{1 1 1}", "bf16[1, 1]{258}"},
        {"f16", {}, "f16[1, 2]{256 256} f16[2, 1]{256 -256}", "f16[1, 1]{0}"},
        {"batched", {}, "f64[2, 1, 2]{1 2 3 4} f64[2, 2, 1]{5 6 7 8}", "f64[2, 1, 1]{17 53}"},
        {"rows", {}, "f32[2, 1, 2]{1 2 3 4} f32[2, 1]{5 6}", "f32[2, 1, 1]{17 39}"},
        {"no terms", {}, "f32[2, 0]{} f32[0, 1]{}", "f32[2, 1]{0 0}"},
        {"no batch", {}, "f32[0, 2, 3]{} f32[0, 3, 1]{}", "f32[0, 2, 1]{}"},
        {"no rows", {}, "f32[2, 0, 1]{} f32[1, 2]{3 4}", "f32[2, 0, 2]{}", "f32[2, 0, 1]{} f32[1, 2]{0 0}"},
        {"0 NaN", {}, "f32[1, 2]{0 1} f32[2, 1]{nan 2}", "f32[1, 1]{nan}", "f32[1, 2]{nan 2} f32[2, 1]{0 1}"},
        {"inf 0", {}, "f32[1, 1]{inf} f32[1, 1]{0}", "f32[1, 1]{nan}", "f32[1, 1]{0} f32[1, 1]{inf}"},
        {"fused", {}, "f32[1, 2]{0x1.000002p0 -1} f32[2, 1]{0x1.000002p0 1}", "f32[1, 1]{0x1p-22}"},
        {"C1 rank", {}, "f32[2, 3] f32[7, 3, 5]", "the ranks 2 and 3 must be equal, >= 2, or the right one 2"},
        {"C1 vectors", {}, "f32[3] f32[3, 2]", "the ranks 1 and 2 must be equal, >= 2, or the right one 2"},
        {"C2 batch", {}, "f32[1, 2, 3] f32[7, 3, 5]", "the batch axes [1] and [7] differ"},
        {"C3 inner", {}, "f32[2, 3] f32[4, 5]", "the inner extents 3 and 4 differ"},
        {"C4 dtypes", {}, "f32[2, 3] f64[3, 5]", "the dtypes f32 and f64 differ: cast one"},
        {"C4 integers", {}, "i32[2, 3] i32[3, 5]", "i32 is not floating"},
        {"overflow", {}, "f32[4294967296, 0] f32[0, 4294967296]", "the element count of the shape [4294967296, 4294967296] overflows"},
    });
  }
  // clang-format on

 private:
  static Strides leading(const Strides& strides) {
    return Strides(std::span(strides.begin(),
                             static_cast<std::size_t>(strides.size() - 2)));
  }
};

}  // namespace topos::ops
