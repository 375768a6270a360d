// The bounds of elementwise operations that jump, choose or convert.

#include <algorithm>
#include <array>

#include "engine/envelope.h"

namespace topos::engines {

namespace {

/// The bound of an and (or, with the two truths exchanged): one operand that is
/// certainly `deciding` decides.
Tensor bound_of_logical(Bounded x, const Tensor& y, bool deciding) {
  const std::vector<double> a = numbers(x[0].value);
  const std::vector<double> b = numbers(x[1].value);
  const std::vector<double> a_error = numbers(x[0].bound);
  const std::vector<double> b_error = numbers(x[1].bound);
  return filled(y.shape(), [&](std::size_t i) {
    const auto decides = [&](double value, double error) {
      return error == 0 && (value != 0) == deciding;
    };
    const bool certain = a_error[i] + b_error[i] == 0;
    return certain || decides(a[i], a_error[i]) || decides(b[i], b_error[i])
               ? 0
               : undecided;
  });
}

Tensor bound_of_extremum(Bounded x, const Tensor& y, double sign) {
  const std::vector<double> values = numbers(y);
  std::array<std::vector<double>, 2> operands;
  std::array<std::vector<double>, 2> errors;
  for (std::size_t i : {0u, 1u}) {
    operands[i] = numbers(x[i].value);
    errors[i] = numbers(x[i].bound);
  }
  return filled(y.shape(), [&](std::size_t j) {
    ExtremumError extremum(values[j], sign);
    for (std::size_t i : {0u, 1u}) extremum.add(operands[i][j], errors[i][j]);
    return extremum.error();
  });
}

}  // namespace

Tensor bound(const ops::Cast& op, Bounded x, const Tensor& y) {
  const DType from = x[0].value.dtype();
  const std::vector<double> values = numbers(x[0].value);
  const std::vector<double> errors = numbers(x[0].bound);
  const bool narrows = is_half(op.to) || (from == f64 && op.to == f32);
  const Format to = format_of(op.to);
  // XLA's CPU compiler goes to 16 bits by way of f32, and so rounds twice.
  const std::vector<double> rounded = numbers(y);
  const std::vector<double> twice =
      is_half(op.to) ? numbers(cast(cast(x[0].value, f32), op.to)) : rounded;
  return filled(y.shape(), [&](std::size_t i) {
    const double error = errors[i];
    if (error == 0) {
      const bool same = twice[i] == rounded[i] || std::isnan(rounded[i]);
      return same ? 0.0 : std::fabs(twice[i] - rounded[i]);
    }
    if (is_floating(op.to)) {
      if (from == boolean) return 1.0;
      return error +
             (narrows ? 2 * to.rounding(std::fabs(values[i]) + error) : 0);
    }
    if (op.to == boolean) {
      return is_decided(values[i], error, 0, 0) ? 0 : undecided;
    }
    return std::trunc(values[i] - error) == std::trunc(values[i] + error)
               ? 0
               : undecided;
  });
}

Tensor bound(const ops::IsFinite&, Bounded x, const Tensor& y) {
  // `settled` made undecided whatever may overflow.
  const std::vector<double> errors = numbers(x[0].bound);
  return filled(y.shape(), [&](std::size_t i) {
    return errors[i] == undecided ? undecided : 0;
  });
}

Tensor bound(const ops::LogicalAnd&, Bounded x, const Tensor& y) {
  return bound_of_logical(x, y, false);
}

Tensor bound(const ops::LogicalOr&, Bounded x, const Tensor& y) {
  return bound_of_logical(x, y, true);
}

Tensor bound(const ops::Maximum&, Bounded x, const Tensor& y) {
  return bound_of_extremum(x, y, 1);
}

Tensor bound(const ops::Minimum&, Bounded x, const Tensor& y) {
  return bound_of_extremum(x, y, -1);
}

Tensor bound(const ops::Select&, Bounded x, const Tensor& y) {
  const std::vector<double> choice = numbers(x[0].value);
  const std::vector<double> doubt = numbers(x[0].bound);
  std::array<std::vector<double>, 2> values;
  std::array<std::vector<double>, 2> errors;
  for (std::size_t i : {0u, 1u}) {
    values[i] = numbers(x[i + 1].value);
    errors[i] = numbers(x[i + 1].bound);
  }
  return filled(y.shape(), [&](std::size_t j) {
    const std::size_t taken = choice[j] != 0 ? 0 : 1;
    const std::size_t other = 1 - taken;
    if (doubt[j] == 0) return errors[taken][j];
    if (!is_floating(y.dtype())) return undecided;
    const double gap = std::fabs(values[0][j] - values[1][j]);
    if (!std::isfinite(gap)) return undecided;
    return std::fmax(errors[taken][j], gap + errors[other][j]);
  });
}

Tensor bound(const ops::Sign&, Bounded x, const Tensor& y) {
  const std::vector<double> values = numbers(x[0].value);
  const std::vector<double> errors = numbers(x[0].bound);
  return filled(y.shape(), [&](std::size_t i) {
    if (errors[i] == 0 || errors[i] == undecided) return errors[i];
    const auto sign_at = [](double x_i) { return (x_i > 0) - (x_i < 0); };
    const int here = sign_at(values[i]);
    return static_cast<double>(std::max(sign_at(values[i] + errors[i]) - here,
                                        here - sign_at(values[i] - errors[i])));
  });
}

}  // namespace topos::engines
