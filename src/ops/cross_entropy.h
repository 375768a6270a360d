#pragma once

#include <array>

#include "ops/operation.h"

namespace topos::ops {

/// mean(-log_softmax(logits)[target]) over all rows, targets as class indices;
/// 16-bit types in f32.
///
///   C1          the logits are floating and have a class axis, the last
///   C2          the targets are integers, shaped as the rows: a loss never
///               broadcasts
///   derivative  u = dy/N; scatter_add(softmax(logits) u, targets, -u): no
///               one-hot matrix
struct CrossEntropy {
  static constexpr std::string_view name = "cross_entropy";
  static constexpr std::size_t index_operand = 1;
  static constexpr std::tuple<> fields() { return {}; }

  static void check(Operands<Type> x) {
    floating(x[0]);                         // C1
    normalize_axis(-1, x[0].shape.rank());  // C1
    integral(x[1]);                         // C2
    const Shape rows = x[0].shape.leading(-1);
    if (x[1].shape != rows) {  // C2
      throw ShapeError(fmt::format(
          "the targets are {}, but the rows of the logits {}: a loss does not "
          "broadcast",
          x[1].shape.text(), rows.text()));
    }
  }

  static IndexOptions classes(const Shape& logits) {
    return {logits.rank() - 1, logits.rank() - 1};
  }

  template <Differentiable V>
  static V formula(Operands<V> x) {
    const Type type = x[0].type();
    const V wide = log_softmax(widened(x[0]));
    return rounded(mean(-gather(wide, x[1], classes(type.shape))), type.dtype);
  }

  template <Differentiable V>
  static Cotangents<V> derivative(Operands<V> x, const V&, const V& dy) {
    const Shape rows = x[1].type().shape;
    const Type type = x[0].type();
    const V u = widened(dy) / rows.element_count();
    const V by_logits = scatter_add(softmax(widened(x[0])) * u, x[1],
                                    broadcast(-u, rows), classes(type.shape));
    return {rounded(by_logits, type.dtype), std::nullopt};
  }

  // clang-format off
  static auto rows() {
    return std::to_array<Row<CrossEntropy>>({
        {"even", {}, "f64[2, 2]{3 3 1 1} i32[2]{0 1}", "f64[]{0.6931471805599453}", "f64[2, 2]{-0.25 0.25 0.25 -0.25} -"},
        {"bf16", {}, "bf16[1, 3]{1 2 3} i32[1]{1}", "bf16[]{0x1.68p+0}"},
        {"one row", {}, "f64[2]{0 0} i64[]{1}", "f64[]{0.6931471805599453}"},
        {"three classes", {}, "f64[1, 3]{1 2 3} i32[1]{1}", "f64[]{1.4076059644443804}"},
        {"leading axes", {}, "f64[2, 1, 2]{0 0 0 0} i32[2, 1]{0 1}", "f64[]{0.6931471805599453}"},
        {"huge", {}, "f32[1, 2]{-4885.4614 4878.027} i32[1]{1}", "f32[]{0}", "f32[1, 2]{0 0} -"},
        {"masked", {}, "f32[1, 2]{-inf 3} i32[1]{1}", "f32[]{0}", "f32[1, 2]{0 0} -"},
        {"no rows", {}, "f32[0, 2]{} i32[0]{}", "f32[]{nan}", "f32[0, 2]{} -"},
        {"C1 logits", {}, "i32[3, 5] i32[3]", "i32 is not floating"},
        {"C1 scalar", {}, "f32[] i32[]", "the axis -1 is not in a tensor of rank 0"},
        {"C2 column", {}, "f32[3, 5] i32[3, 1]", "the targets are [3, 1], but the rows of the logits [3]: a loss does not broadcast"},
        {"C2 dtype", {}, "f32[3, 5] f32[3]", "f32 is not an integer type"},
        {"outside", {}, "f32[1, 2]{0 0} i32[1]{2}", "the index 2 at position 0 is not in [0, 2)"},
    });
  }
  // clang-format on
};

}  // namespace topos::ops
