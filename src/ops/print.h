#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "ops/operation.h"

/// \file
/// Attributes and calls as text, for readers and errors.

namespace topos::ops {

inline std::string text_of(std::int8_t x) { return fmt::format("{}", x); }
inline std::string text_of(std::int64_t x) { return fmt::format("{}", x); }
inline std::string text_of(double x) { return fmt::format("{}", x); }
inline std::string text_of(bool x) { return x ? "true" : "false"; }
inline std::string text_of(DType x) { return std::string(name(x)); }
inline std::string text_of(GeluForm x) {
  return x == GeluForm::erf ? "erf" : "tanh";
}
template <class T>
requires requires(const T& x) { x.text(); }
std::string text_of(const T& x) { return x.text(); }

/// The attributes of an operation or composite: ` axis=0, count=2`; empty if
/// it has none.
template <class Op>
std::string fields_text(const Op& op) {
  std::string result;
  std::apply(
      [&](const auto&... field) {
        ((result += fmt::format("{}{}={}", result.empty() ? " " : ", ",
                                field.first, text_of(op.*field.second))),
         ...);
      },
      Op::fields());
  return result;
}

/// An operand as its caller wrote it: a type, or a number that has met none.
using Written = std::variant<Type, Number>;

/// What was asked: `matmul: [8, 64] x [32, 3]`, with dtypes where they differ.
inline std::string call_text(std::string_view name,
                             std::span<const Written> operands) {
  const Type* first = nullptr;
  bool mixed = false;
  for (const Written& operand : operands) {
    if (const Type* type = std::get_if<Type>(&operand)) {
      if (first == nullptr) first = type;
      mixed |= type->dtype != first->dtype;
    }
  }
  std::string result(name);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    result += i == 0 ? ": " : operands.size() == 2 ? " x " : ", ";
    if (const Type* type = std::get_if<Type>(&operands[i])) {
      result += mixed ? type->text() : type->shape.text();
    } else {
      result += std::get<Number>(operands[i]).text();
    }
  }
  return result;
}

inline std::string call_text(std::string_view name, Operands<Type> types) {
  return call_text(name, std::vector<Written>(types.begin(), types.end()));
}

}  // namespace topos::ops
