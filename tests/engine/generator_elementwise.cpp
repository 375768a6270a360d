#include <iterator>
#include <tuple>
#include <utility>

#include "engine/generator.h"
#include "graph/recording.h"
#include "ops/evaluate.h"
#include "topos/error.h"

namespace topos::test {

namespace {

/// An elementwise operation without attributes, with the dtypes of operands
/// that it takes.
struct Elementwise {
  ops::Any op;
  std::vector<std::vector<DType>> signatures;
};

/// Those of `op`, found by asking its type rule.
template <class Op>
Elementwise elementwise_of(const Op& op) {
  static constexpr DType dtypes[] = {f32, f64, bf16, f16, i32, i64, boolean};
  std::size_t count = 1;
  for (int i = 0; i < Op::arity; ++i) count *= std::size(dtypes);
  Elementwise result{op, {}};
  for (std::size_t code = 0; code < count; ++code) {
    std::vector<DType> signature;
    std::vector<Type> types;
    std::size_t left = code;
    for (int i = 0; i < Op::arity; ++i) {
      signature.push_back(dtypes[left % std::size(dtypes)]);
      types.push_back({signature.back(), {}});
      left /= std::size(dtypes);
    }
    try {
      op.infer(types);
      result.signatures.push_back(signature);
    } catch (const DTypeError&) {
    }
  }
  return result;
}

/// All in the catalogue, so that a new one is drawn without being named here.
const std::vector<Elementwise>& all_elementwise() {
  static const std::vector<Elementwise> all = [] {
    std::vector<Elementwise> result;
    ops::All::for_each([&]<class Op>() {
      if constexpr (ops::Elementwise<Op>) {
        if constexpr (std::tuple_size_v<decltype(Op::fields())> == 0) {
          result.push_back(elementwise_of(Op{}));
        }
      }
    });
    return result;
  }();
  return all;
}

}  // namespace

void Generator::elementwise() {
  const auto& all = all_elementwise();
  const auto& drawn = all[static_cast<std::size_t>(
      below(static_cast<std::int64_t>(all.size())))];
  // Mostly in the dtype of a value that is there, so that chains grow.
  const DType wanted = chance(0.6) ? f32 : dtype();
  std::vector<const std::vector<DType>*> fitting;
  for (const auto& signature : drawn.signatures) {
    if (signature.back() == wanted) fitting.push_back(&signature);
  }
  if (fitting.empty()) {
    for (const auto& signature : drawn.signatures) {
      fitting.push_back(&signature);
    }
  }
  const std::vector<DType>& dtypes = *fitting[static_cast<std::size_t>(
      below(static_cast<std::int64_t>(fitting.size())))];
  // One operand is there or new; the others are found beside it.
  const auto arity = static_cast<int>(dtypes.size());
  const auto at = static_cast<std::size_t>(below(arity));
  const Known x = some([&](const Type& t) { return t.dtype == dtypes[at]; },
                       [&] {
                         return Type{dtypes[at], shape()};
                       });
  std::vector<Operand> operands;
  bool stretches = true;  // one may, or two would not fit each other
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    if (i == at) {
      operands.emplace_back(x.value);
    } else {
      operands.push_back(
          partner(x, dtypes[i], std::exchange(stretches, false)));
    }
  }
  record([&] { return apply(drawn.op, dtypes, operands); });
}

/// Records as the public functions do: numbers and smaller operands broadcast.
Value Generator::apply(const ops::Any& op, std::span<const DType> dtypes,
                       std::span<const Operand> operands) {
  graph::Recording& recording = graph::Recording::of(tape_);
  Shape shape;
  for (const Operand& operand : operands) {
    if (std::holds_alternative<Value>(operand.what)) {
      shape = broadcast_shapes(shape, operand.type().shape);
    }
  }
  std::vector<std::uint32_t> nodes;
  std::vector<Type> types;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    types.push_back({dtypes[i], shape});
    if (const Number* number = std::get_if<Number>(&operands[i].what)) {
      nodes.push_back(recording.number(types[i], *number, Site::here()));
    } else if (operands[i].type().shape == shape) {
      nodes.push_back(recording.node(operands[i].value()));
    } else {
      nodes.push_back(recording.node(broadcast(operands[i], shape)));
    }
  }
  return recording.value(
      recording.append(op, ops::infer(op, types), nodes, Site::here()));
}

void Generator::negations() {
  const Known x = floating();
  const Operand other = partner(x, x.type.dtype, true);
  const Value a = x.value;
  switch (below(7)) {
    case 0:
      return record([=] { return a + -a; });
    case 1: {
      const Value b =
          std::holds_alternative<Value>(other.what) ? push(-other) : push(-a);
      return record([=] { return b + a; });
    }
    case 2:
      return record([=] { return -(-a); });
    case 3:
      return record([=] { return -a * -a; });
    case 4:
      return record([=] { return cast(cast(a, f64), f32); });
    case 5:
      return record([=] { return (a * 1.0 - 0.0) / 8.0; });
    default:
      return record([=] { return -0.0 - a; });
  }
}

void Generator::halves() {
  const Known x = floating(1);
  const int axis = chance(0.7) ? 0 : below(x.type.shape.rank());
  const std::int64_t half = x.type.shape[axis] / 2;
  const std::int64_t second = x.type.shape[axis] - half;
  record([=] {
    const Value a = narrow(x.value, axis, 0, half);
    const Value b = narrow(x.value, axis, second, half);
    return a * logistic(b) - b;
  });
}

void Generator::convert() {
  const Value x = any().value;
  const DType to = dtype();
  record([=] { return cast(x, to); });
}

}  // namespace topos::test
