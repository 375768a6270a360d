#pragma once

#include <array>
#include <type_traits>
#include <vector>

#include "ops/indexing.h"
#include "ops/operation.h"

namespace topos::ops {

/// Slices added where an index names: gather's transpose.
///
///   shape       base [batch..., before..., n, after...], index
///               [batch..., rest...], updates as gather(base, index)
///   C1 to C4    indexing.h
///   C5          the updates have the base's dtype, and the shape of
///               gather(base, index)
///   C6          not boolean
///   value       the contributions to one element form one chain in ascending
///               order of the flattened index, starting from the base's
///               element, in f64, rounded once; elements that nobody names keep
///               their bits. Integers wrap
///   derivative  dbase = dy, dupdates = gather(dy, index)
struct ScatterAdd {
  std::int8_t axis = 0;
  std::int8_t batch = 0;

  static constexpr std::string_view name = "scatter_add";
  static constexpr bool sums_in_f64 = true;
  static constexpr int arity = 3;
  static constexpr std::size_t index_operand = 1;
  static constexpr auto fields() {
    return std::make_tuple(std::pair{"axis", &ScatterAdd::axis},
                           std::pair{"batch", &ScatterAdd::batch});
  }
  bool operator==(const ScatterAdd&) const = default;

  static ScatterAdd make(Operands<Type> x, IndexOptions options) {
    return make_indexed<ScatterAdd>(x, options);
  }

  Type infer(Operands<Type> x) const {
    arithmetic(x[0]);                 // C6
    expect_equal_dtypes(x[0], x[2]);  // C5
    const Shape slices = sliced_shape(x[0], x[1], axis, batch);
    if (x[2].shape != slices) {  // C5
      throw ShapeError(fmt::format("the updates are {}, but the index names {}",
                                   x[2].shape.text(), slices.text()));
    }
    return x[0];
  }

  void value(Operands<Tensor> x, Output y) const {
    const IndexedExtents at(x[0].shape(), x[1].shape(), axis, batch);
    const auto index = checked_indices(x[1], at.n);
    visit_dtype(y.type.dtype, [&]<class T>() {
      if constexpr (Arithmetic<T>) {
        // Integers wrap in the unsigned type of 64 bits.
        using Sum = std::conditional_t<Real<T>, double, std::uint64_t>;
        T* out = y.as<T>();
        gather_elements(x[0].data(), layout_of(x[0]), sizeof(T), y.data);
        const auto count = static_cast<std::size_t>(x[0].element_count());
        std::vector<Sum> sums(out, out + count);
        std::vector<bool> named(count);
        const Layout from = layout_of(x[2]);
        std::int64_t next = 0;
        for (std::int64_t b = 0; b < at.batch; ++b) {
          for (std::int64_t o = 0; o < at.before; ++o) {
            for (std::int64_t r = 0; r < at.rest; ++r) {
              const std::int64_t i =
                  index[static_cast<std::size_t>(b * at.rest + r)];
              const std::int64_t slice = (b * at.before + o) * at.n + i;
              for (std::int64_t a = 0; a < at.after; ++a) {
                const auto to = static_cast<std::size_t>(slice * at.after + a);
                sums[to] += static_cast<Sum>(
                    elements_of<T>(x[2])[position_of(from, next++)]);
                named[to] = true;
              }
            }
          }
        }
        for (std::size_t i = 0; i < count; ++i) {
          if (named[i]) out[i] = static_cast<T>(sums[i]);
        }
      }
    });
  }

  template <Differentiable V>
  Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) const {
    return {dy, std::nullopt, gather(dy, x[1], {axis, batch})};
  }

  stablehlo::Value lower(stablehlo::Writer& out,
                         const stablehlo::Call& x) const {
    return out.scatter_add(x[0], x[1], x[2], {axis, batch});
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<ScatterAdd>>({
        {"rows", {0}, "f32[2, 2]{1 2 3 4} i32[1]{1} f32[1, 2]{10 20}", "f32[2, 2]{1 2 13 24}"},
        {"one rounding", {}, "bf16[2]{1 3} i32[2]{0 0} bf16[2]{0x1p-8 0x1p-40}", "bf16[2]{0x1.02p0 3}", "bf16[2]{1 1} - bf16[2]{1 1}"},
        {"repeated", {0}, "f32[3]{0 0 0} i64[3]{2 0 2} f32[3]{1 2 3}", "f32[3]{2 0 4}", "f32[3]{1 1 1} - f32[3]{1 1 1}"},
        {"in f64", {0}, "f32[1]{0x1p24} i32[2]{0 0} f32[2]{1 1}", "f32[1]{16777218}", "f32[1]{1} - f32[2]{1 1}"},
        {"keeps bits", {0}, "f32[2]{-0 -0} i32[1]{1} f32[1]{0}", "f32[2]{-0 0}"},
        {"batched", {1, 1}, "f32[2, 2]{0 0 0 0} i32[2]{1 0} f32[2]{5 6}", "f32[2, 2]{0 5 6 0}"},
        {"columns", {1}, "f32[2, 2]{0 0 0 0} i32[3]{1 0 1} f32[2, 3]{1 2 3 4 5 6}", "f32[2, 2]{2 4 5 10}"},
        {"none", {0}, "f32[2]{1 -0} i32[0]{} f32[0]{}", "f32[2]{1 -0}"},
        {"wraps", {0}, "i32[1]{2147483647} i32[1]{0} i32[1]{1}", "i32[1]{-2147483648}", "-"},
        {"wraps i64", {0}, "i64[1]{-9223372036854775808} i32[1]{0} i64[1]{-1}", "i64[1]{9223372036854775807}", "-"},
        {"beyond", {0}, "f32[1]{0} i32[1]{1} f32[1]{1}", "the index 1 at position 0 is not in [0, 1)"},
        {"C6 boolean", {0}, "boolean[2] i32[1] boolean[1]", "boolean has no arithmetic"},
        {"C1 dtype", {0}, "f32[2] boolean[2] f32[2]", "boolean is not an integer type"},
        {"C2 axis", {1}, "f32[2] i32[2] f32[2]", "the axis 1 is not in a tensor of rank 1"},
        {"C5 shape", {0}, "f32[2] i32[3] f32[2]", "the updates are [2], but the index names [3]"},
        {"C5 dtype", {0}, "f32[2] i32[3] f64[3]", "the dtypes f32 and f64 differ: cast one"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops
