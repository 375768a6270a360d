#include "ops/evaluate.h"

#include <array>
#include <type_traits>
#include <variant>

#include "ops/print.h"

namespace topos::ops {

namespace {

template <class Op>
void into(const Op& op, Operands<Tensor> x, Output y) {
  if constexpr (Elementwise<Op>) {
    std::array<Tensor, Op::arity> operands;
    std::array<const void*, Op::arity> data = {};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      operands[i] = x[i].contiguous();
      data[i] = operands[i].data();
    }
    tile_function(op, operands.back().dtype())(
        data.data(), y.data,
        static_cast<std::size_t>(y.type.shape.element_count()));
  } else if constexpr (ViewValue<Op>) {
    // What no layout can express (some reshapes) keeps the row-major order.
    const Layout from = layout_of(x[0]);
    gather_elements(x[0].data(), op.view(from).value_or(from),
                    size_bytes(y.type.dtype), y.data);
  } else {
    op.value(x, y);
  }
}

}  // namespace

void evaluate_into(const Any& op, Operands<Tensor> x, Output y) {
  std::visit([&](const auto& o) { into(o, x, y); }, op);
}

Tensor evaluate(const Any& op, const Type& type, Operands<Tensor> x) {
  return std::visit(
      [&](const auto& o) -> Tensor {
        if constexpr (ViewValue<std::decay_t<decltype(o)>>) {
          return o.view(x[0]);
        } else {
          std::byte* data = nullptr;
          Tensor y = Tensor::uninitialized(type, data);
          into(o, x, {type, data});
          return y;
        }
      },
      op);
}

Type infer(const Any& op, Operands<Type> x) {
  return std::visit([&](const auto& o) { return Type(o.infer(x)); }, op);
}

std::string_view name_of(const Any& op) {
  return std::visit(
      [](const auto& o) {
        return std::string_view(std::decay_t<decltype(o)>::name);
      },
      op);
}

std::string fields_of(const Any& op) {
  return std::visit([](const auto& o) { return fields_text(o); }, op);
}

}  // namespace topos::ops
