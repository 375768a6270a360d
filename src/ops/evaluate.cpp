#include "ops/evaluate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "ops/print.h"
#include "ops/widening.h"

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

void plainly_into(const Any& op, Operands<Tensor> x, Output y) {
  std::visit([&](const auto& o) { into(o, x, y); }, op);
}

std::optional<Widening> widening_of(const Any& op, Operands<Tensor> x) {
  const auto narrow = [](const Tensor& t) { return is_half(t.dtype()); };
  if (std::none_of(x.begin(), x.end(), narrow)) return std::nullopt;
  std::vector<Type> types;
  for (const Tensor& operand : x) types.push_back(operand.type());
  return widening(op, types);
}

}  // namespace

void evaluate_into(const Any& op, Operands<Tensor> x, Output y) {
  const auto wide = widening_of(op, x);
  if (!wide) return plainly_into(op, x, y);
  std::vector<Tensor> operands;
  for (const Tensor& operand : x) {
    operands.push_back(is_half(operand.dtype())
                           ? evaluate(Cast{wide->dtype},
                                      {wide->dtype, operand.shape()}, {operand})
                           : operand);
  }
  if (!is_half(y.type.dtype)) return plainly_into(op, operands, y);
  plainly_into(Cast{y.type.dtype}, {evaluate(op, wide->result, operands)}, y);
}

Tensor evaluate(const Any& op, const Type& type, Operands<Tensor> x) {
  return std::visit(
      [&](const auto& o) -> Tensor {
        if constexpr (ViewValue<std::decay_t<decltype(o)>>) {
          return o.view(x[0]);
        } else {
          std::byte* data = nullptr;
          Tensor y = Tensor::uninitialized(type, data);
          evaluate_into(op, x, {type, data});
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
