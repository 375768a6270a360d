#pragma once

#include <topos/error.h>
#include <topos/functions.h>
#include <topos/site.h>
#include <topos/tape.h>

#include <span>
#include <string>
#include <string_view>
#include <variant>

/// \file
/// What the optimizers ask of a rate and of gradients.

namespace topos::nn {

/// The rate in the dtype of the parameter that it moves.
template <class V, class Rate>
Rate rate_for(DType dtype, const Rate& rate) {
  const V* value = std::get_if<V>(&rate.what);
  if (value == nullptr || value->dtype() == dtype) return rate;
  return Rate(cast(rate, dtype), rate.site);
}

/// The rate as a scalar of the dtype of `like`, on its tape.
inline Value rate_value(Value like, const Operand& rate) {
  const DType dtype = like.dtype();
  if (const Number* number = std::get_if<Number>(&rate.what)) {
    return full_like(like, {dtype, {}}, *number);
  }
  return rate_for<Value>(dtype, rate).value();
}

template <class V, class Rate>
void check_rate(const Rate& rate) {
  const V* value = std::get_if<V>(&rate.what);
  if (value == nullptr) return;
  const Type type = value->type();
  if (!is_floating(type.dtype)) {
    throw DTypeError("the rate is " + type.text() + ", not floating");
  }
  if (type.shape.rank() != 0) {
    throw ShapeError("the rate is " + type.text() + ", not a scalar");
  }
}

inline void check_gradient(const std::string& parameter, const Type& type,
                           const Type& gradient) {
  if (gradient == type) return;
  const std::string message = "the gradient of \"" + parameter + "\", " +
                              type.text() + ", is " + gradient.text();
  if (gradient.dtype != type.dtype) throw DTypeError(message);
  throw ShapeError(message);
}

/// Each gradient shaped as its parameter, and of its dtype.
inline void check_gradients(const Tape& tape,
                            std::span<const Gradient> gradients) {
  for (const auto& [parameter, gradient] : gradients) {
    check_gradient(tape.name(parameter), parameter.type(), gradient.type());
  }
}

/// Runs `f`; an error leaves with the user's line and with what was asked.
template <class F>
auto at_line(std::string_view asked, Site site, F&& f) {
  try {
    return f();
  } catch (Error& error) {
    error.add_context(site.text() + ": " + std::string(asked) + ": ");
    throw;
  }
}

}  // namespace topos::nn
