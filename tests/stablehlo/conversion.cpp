#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"

/// \file
/// Operations that change the element type or its precision.

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

void check_convert(const Operation& op) {
  if (op.results.size() != 1) refuse(op, "it has one result");
  check_result(op, op.operand_types[0].with(op.results[0].element));
}

// Floats to integers truncate, saturate, and take NaN to 0, as in XLA.
template <class To, class From>
To convert(From x) {
  if constexpr (sizeof(From) == 2 && !std::same_as<From, To>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From{};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    // 2^digits is the first integer beyond, and a float exactly.
    const From beyond = std::ldexp(From{1}, Limits::digits);
    if (x >= beyond) return Limits::max();
    const From whole = std::trunc(x);
    if (std::is_signed_v<To> ? whole < -beyond : whole < 0) {
      return Limits::min();
    }
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(x);
  }
}

Arrays evaluate_convert(Frame&, const Operation& op,
                        std::span<const Array> in) {
  Array out(op.results[0]);
  visit_element(in[0].type().element, [&]<class From>() {
    visit_element(out.type().element, [&]<class To>() {
      for (std::int64_t i = 0; i < out.count(); ++i) {
        out.as<To>()[i] = convert<To>(in[0].as<From>()[i]);
      }
    });
  });
  return {out};
}

void check_bitcast(const Operation& op) {
  if (op.results.size() != 1) refuse(op, "it has one result");
  const TensorType& from = op.operand_types[0];
  const TensorType& to = op.results[0];
  const int from_bits = bit_width(from.element);
  const int to_bits = bit_width(to.element);
  if (std::max(from_bits, to_bits) % std::min(from_bits, to_bits) != 0 ||
      (std::min(from_bits, to_bits) == 1 && from_bits != to_bits)) {
    refuse(op, from.text() + " to " + to.text());
  }
  // The wider type has no last axis, along which the narrower one lies.
  const TensorType& wide = from_bits > to_bits ? from : to;
  const TensorType& narrow = from_bits > to_bits ? to : from;
  Shape shape = wide.shape;
  if (from_bits != to_bits) {
    if (shape.rank() == max_rank) refuse(op, "too many axes");
    shape.push_back(bit_width(wide.element) / bit_width(narrow.element));
  }
  if (narrow.shape != shape) refuse(op, from.text() + " to " + to.text());
}

Arrays evaluate_bitcast(Frame&, const Operation& op,
                        std::span<const Array> in) {
  return {in[0].viewed(op.results[0])};
}

void check_is_finite(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  if (!is_floating(type.element)) {
    refuse(op, "it does not take " + std::string(name(type.element)));
  }
  check_result(op, type.with(ElementType::i1));
}

Arrays evaluate_is_finite(Frame&, const Operation& op,
                          std::span<const Array> in) {
  Array out(op.results[0]);
  visit_element(in[0].type().element, [&]<class T>() {
    if constexpr (std::floating_point<Computed<T>>) {
      for (std::int64_t i = 0; i < out.count(); ++i) {
        out.as<bool>()[i] =
            std::isfinite(static_cast<Computed<T>>(in[0].as<T>()[i]));
      }
    }
  });
  return {out};
}

constexpr std::array precision_attributes = {
    AttributeRow{"exponent_bits", "", Kind::integer, true},
    AttributeRow{"mantissa_bits", "", Kind::integer, true}};

void check_reduce_precision(const Operation& op) {
  const TensorType& type = op.operand_types[0];
  if (!is_floating(type.element)) {
    refuse(op, "it does not take " + std::string(name(type.element)));
  }
  const std::int64_t exponent = op.get("exponent_bits").integer;
  const std::int64_t mantissa = op.get("mantissa_bits").integer;
  if (exponent < 1 || mantissa < 0) {
    refuse(op, "e" + std::to_string(exponent) + "m" + std::to_string(mantissa));
  }
  check_result(op, type);
}

// To nearest even in a format of that many bits: what is too large becomes
// infinite, and what is below the least normal becomes a zero, as in XLA.
template <std::floating_point T>
T reduce_precision(T x, int exponent_bits, int mantissa_bits) {
  if (!std::isfinite(x) || x == 0) return x;
  using Limits = std::numeric_limits<T>;
  T result = x;
  if (mantissa_bits < Limits::digits - 1) {
    using Bits =
        std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    // Integers of floats are in order, so the carry goes to the exponent.
    const int dropped = Limits::digits - 1 - mantissa_bits;
    const Bits bits = std::bit_cast<Bits>(x);
    const Bits odd = (bits >> dropped) & 1;
    const Bits half = (Bits{1} << (dropped - 1)) - 1;
    result = std::bit_cast<T>(
        static_cast<Bits>((bits + half + odd) & ~((Bits{1} << dropped) - 1)));
  }
  const int bias =
      exponent_bits >= 16 ? 1 << 15 : (1 << (exponent_bits - 1)) - 1;
  if (bias < Limits::max_exponent - 1) {
    const int exponent = std::ilogb(result);
    if (std::isinf(result) || exponent > bias) {
      return std::copysign(Limits::infinity(), x);
    }
    if (exponent < 1 - bias) return std::copysign(T{0}, x);
  }
  return result;
}

Arrays evaluate_reduce_precision(Frame&, const Operation& op,
                                 std::span<const Array> in) {
  Array out(op.results[0]);
  const auto bits_of = [&](std::string_view attribute) {
    return static_cast<int>(
        std::min<std::int64_t>(op.get(attribute).integer, 64));
  };
  visit_element(out.type().element, [&]<class T>() {
    if constexpr (std::floating_point<Computed<T>>) {
      for (std::int64_t i = 0; i < out.count(); ++i) {
        const Computed<T> x = in[0].as<T>()[i];
        out.as<T>()[i] = static_cast<T>(reduce_precision(
            x, bits_of("exponent_bits"), bits_of("mantissa_bits")));
      }
    }
  });
  return {out};
}

// clang-format off
constexpr std::array rows = {
    OperationRow{"stablehlo.convert", 1, 0, Signature::uniform, {}, check_convert, evaluate_convert},
    OperationRow{"stablehlo.bitcast_convert", 1, 0, Signature::functional, {}, check_bitcast, evaluate_bitcast},
    OperationRow{"stablehlo.is_finite", 1, 0, Signature::functional, {}, check_is_finite, evaluate_is_finite},
    OperationRow{"stablehlo.reduce_precision", 1, 0, Signature::uniform, precision_attributes, check_reduce_precision, evaluate_reduce_precision},
};
// clang-format on

}  // namespace

std::span<const OperationRow> conversion_rows() { return rows; }

}  // namespace topos::stablehlo_text
