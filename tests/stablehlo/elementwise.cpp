#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/scalar_functions.h"

/// \file
/// Operations on one element of each operand at a time, all of one type.

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

template <class Function>
UnaryKernel unary_kernel(ElementType element) {
  return visit_element(element, []<class T>() -> UnaryKernel {
    using C = Computed<T>;
    if constexpr (requires(C x) { Function::apply(x); }) {
      return [](const std::byte* x, std::byte* out, std::int64_t count) {
        const T* const from = reinterpret_cast<const T*>(x);
        T* const to = reinterpret_cast<T*>(out);
        for (std::int64_t i = 0; i < count; ++i) {
          to[i] = static_cast<T>(Function::apply(static_cast<C>(from[i])));
        }
      };
    } else {
      return nullptr;
    }
  });
}

template <class Function>
BinaryKernel binary_kernel(ElementType element) {
  return visit_element(element, []<class T>() -> BinaryKernel {
    using C = Computed<T>;
    if constexpr (requires(C x) { Function::apply(x, x); }) {
      return [](const std::byte* x, const std::byte* y, std::byte* out,
                std::int64_t count) {
        const T* const left = reinterpret_cast<const T*>(x);
        const T* const right = reinterpret_cast<const T*>(y);
        T* const to = reinterpret_cast<T*>(out);
        for (std::int64_t i = 0; i < count; ++i) {
          to[i] = static_cast<T>(Function::apply(static_cast<C>(left[i]),
                                                 static_cast<C>(right[i])));
        }
      };
    } else {
      return nullptr;
    }
  });
}

void check_uniform(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  for (const TensorType& other : op.operand_types) {
    if (other != type) {
      refuse(op, "operands of " + type.text() + " and " + other.text());
    }
  }
  const bool takes_it = op.row->unary != nullptr
                            ? op.row->unary(type.element) != nullptr
                            : op.row->binary(type.element) != nullptr;
  if (!takes_it) {
    refuse(op, "it does not take " + std::string(name(type.element)));
  }
  check_result(op, type);
}

Arrays evaluate_unary(Frame&, const Operation& op, std::span<const Array> in) {
  Array out(op.results[0]);
  op.row->unary(out.type().element)(in[0].data(), out.data(), out.count());
  return {out};
}

Arrays evaluate_binary(Frame&, const Operation& op, std::span<const Array> in) {
  Array out(op.results[0]);
  op.row->binary(out.type().element)(in[0].data(), in[1].data(), out.data(),
                                     out.count());
  return {out};
}

template <class Function>
constexpr OperationRow unary(std::string_view name) {
  return {name,
          1,
          0,
          Signature::uniform,
          {},
          check_uniform,
          evaluate_unary,
          unary_kernel<Function>,
          nullptr};
}

template <class Function>
constexpr OperationRow binary(std::string_view name) {
  return {name,
          2,
          0,
          Signature::uniform,
          {},
          check_uniform,
          evaluate_binary,
          nullptr,
          binary_kernel<Function>};
}

// Comparison.

constexpr std::array compare_attributes = {
    AttributeRow{"comparison_direction", "", Kind::keyword, true},
    AttributeRow{"compare_type", "", Kind::keyword, false}};

// What compare_type has to say about an element type: FLOAT may be TOTALORDER.
std::string_view natural_comparison(ElementType element) {
  if (is_floating(element)) return "FLOAT";
  return is_unsigned(element) || element == ElementType::i1 ? "UNSIGNED"
                                                            : "SIGNED";
}

void check_compare(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  if (op.operand_types[1] != type) {
    refuse(op,
           "operands of " + type.text() + " and " + op.operand_types[1].text());
  }
  constexpr std::array<std::string_view, 6> directions = {"EQ", "NE", "GE",
                                                          "GT", "LE", "LT"};
  const std::string& direction = op.get("comparison_direction").text;
  if (std::ranges::find(directions, direction) == directions.end()) {
    refuse(op, "no direction is called " + direction);
  }
  if (const Attribute* how = op.find("compare_type")) {
    const bool fits = how->text == natural_comparison(type.element) ||
                      (how->text == "TOTALORDER" && is_floating(type.element));
    if (!fits) {
      refuse(op, how->text + " of " + std::string(name(type.element)));
    }
  }
  check_result(op, type.with(ElementType::i1));
}

// The order of all floats: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
template <class T>
auto total_order(T x) {
  if constexpr (scalar::Float<T>) {
    using I = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    const I bits = std::bit_cast<I>(x);
    return bits < 0 ? static_cast<I>(std::numeric_limits<I>::max() ^ bits)
                    : bits;
  } else {
    return x;
  }
}

template <class T>
bool compare(T x, T y, std::string_view direction) {
  if (direction == "EQ") return x == y;
  if (direction == "NE") return x != y;
  if (direction == "GE") return x >= y;
  if (direction == "GT") return x > y;
  if (direction == "LE") return x <= y;
  return x < y;
}

Arrays evaluate_compare(Frame&, const Operation& op,
                        std::span<const Array> in) {
  Array out(op.results[0]);
  const std::string_view direction = op.get("comparison_direction").text;
  const Attribute* how = op.find("compare_type");
  const bool total = how != nullptr && how->text == "TOTALORDER";
  visit_element(in[0].type().element, [&]<class T>() {
    const T* const x = in[0].as<T>();
    const T* const y = in[1].as<T>();
    for (std::int64_t i = 0; i < out.count(); ++i) {
      out.as<bool>()[i] =
          total
              ? compare(total_order(static_cast<Computed<T>>(x[i])),
                        total_order(static_cast<Computed<T>>(y[i])), direction)
              : compare(x[i], y[i], direction);
    }
  });
  return {out};
}

// Select and clamp, whose first, or outer, operands may be scalars.

void check_select(const Operation& op) {
  const TensorType& predicate = op.operand_types[0];
  const TensorType& type = op.operand_types[1];
  if (predicate.element != ElementType::i1) {
    refuse(op, "a predicate of " + predicate.text());
  }
  if (!predicate.is_scalar() && predicate.shape != type.shape) {
    refuse(op, "a predicate of " + predicate.text() + " for " + type.text());
  }
  if (op.operand_types[2] != type) {
    refuse(op,
           "operands of " + type.text() + " and " + op.operand_types[2].text());
  }
  check_result(op, type);
}

Arrays evaluate_select(Frame&, const Operation& op, std::span<const Array> in) {
  Array out(op.results[0]);
  const std::int64_t step = in[0].type().is_scalar() ? 0 : 1;
  visit_element(out.type().element, [&]<class T>() {
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const bool chosen = in[0].as<bool>()[i * step];
      out.as<T>()[i] = in[chosen ? 1 : 2].as<T>()[i];
    }
  });
  return {out};
}

void check_clamp(const Operation& op) {
  const TensorType& type = op.operand_types[1];
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const TensorType& bound = op.operand_types[i];
    if (bound.element != type.element ||
        (!bound.is_scalar() && bound != type)) {
      refuse(op, "a bound of " + bound.text() + " for " + type.text());
    }
  }
  check_result(op, type);
}

Arrays evaluate_clamp(Frame&, const Operation& op, std::span<const Array> in) {
  Array out(op.results[0]);
  const std::int64_t low_step = in[0].type().is_scalar() ? 0 : 1;
  const std::int64_t high_step = in[2].type().is_scalar() ? 0 : 1;
  visit_element(out.type().element, [&]<class T>() {
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const auto element = [&](std::size_t k, std::int64_t at) {
        return static_cast<Computed<T>>(in[k].as<T>()[at]);
      };
      out.as<T>()[i] = static_cast<T>(scalar::Minimum::apply(
          scalar::Maximum::apply(element(1, i), element(0, i * low_step)),
          element(2, i * high_step)));
    }
  });
  return {out};
}

// clang-format off
constexpr std::array rows = {
    unary<scalar::Abs>("stablehlo.abs"),
    unary<scalar::Cbrt>("stablehlo.cbrt"),
    unary<scalar::Ceil>("stablehlo.ceil"),
    unary<scalar::Cosine>("stablehlo.cosine"),
    unary<scalar::Exponential>("stablehlo.exponential"),
    unary<scalar::ExponentialMinusOne>("stablehlo.exponential_minus_one"),
    unary<scalar::Floor>("stablehlo.floor"),
    unary<scalar::Log>("stablehlo.log"),
    unary<scalar::LogPlusOne>("stablehlo.log_plus_one"),
    unary<scalar::Logistic>("stablehlo.logistic"),
    unary<scalar::Negate>("stablehlo.negate"),
    unary<scalar::Not>("stablehlo.not"),
    unary<scalar::RoundNearestEven>("stablehlo.round_nearest_even"),
    unary<scalar::Rsqrt>("stablehlo.rsqrt"),
    unary<scalar::Sign>("stablehlo.sign"),
    unary<scalar::Sine>("stablehlo.sine"),
    unary<scalar::Sqrt>("stablehlo.sqrt"),
    unary<scalar::Tanh>("stablehlo.tanh"),
    binary<scalar::Add>("stablehlo.add"),
    binary<scalar::And>("stablehlo.and"),
    binary<scalar::Divide>("stablehlo.divide"),
    binary<scalar::Maximum>("stablehlo.maximum"),
    binary<scalar::Minimum>("stablehlo.minimum"),
    binary<scalar::Multiply>("stablehlo.multiply"),
    binary<scalar::Or>("stablehlo.or"),
    binary<scalar::Power>("stablehlo.power"),
    binary<scalar::Remainder>("stablehlo.remainder"),
    binary<scalar::ShiftLeft>("stablehlo.shift_left"),
    binary<scalar::ShiftRightArithmetic>("stablehlo.shift_right_arithmetic"),
    binary<scalar::ShiftRightLogical>("stablehlo.shift_right_logical"),
    binary<scalar::Subtract>("stablehlo.subtract"),
    binary<scalar::Xor>("stablehlo.xor"),
    OperationRow{"stablehlo.compare", 2, 0, Signature::functional, compare_attributes, check_compare, evaluate_compare},
    OperationRow{"stablehlo.select", 3, 0, Signature::select, {}, check_select, evaluate_select},
    OperationRow{"stablehlo.clamp", 3, 0, Signature::uniform, {}, check_clamp, evaluate_clamp},
};
// clang-format on

}  // namespace

std::span<const OperationRow> elementwise_rows() { return rows; }

}  // namespace topos::stablehlo_text
