// The bounds of smooth elementwise operations, from the value and the
// derivative that they have anyway, and the choice of a rule for every
// operation.

#include <algorithm>
#include <array>

#include "engine/envelope.h"
#include "ops/evaluate.h"
#include "ops/widening.h"

namespace topos::engines {

namespace {

bool is_certain(const Tensor& bound) {
  const std::vector<double> errors = numbers(bound);
  return std::all_of(errors.begin(), errors.end(),
                     [](double error) { return error == 0; });
}

// ---- How far a result moves with its operands ---------------------------
//
// |f(x') - f(x)| where x' is within `e` of x, for the operations whose slopes
// have a maximum between corners, or overflow in f64 where the result does not.

double moved_by(const ops::Mul&, std::span<const double> x,
                std::span<const double> e) {
  return scaled(std::fabs(x[0]), e[1]) + scaled(std::fabs(x[1]) + e[1], e[0]);
}

double moved_by(const ops::MaskedProduct&, std::span<const double> x,
                std::span<const double> e) {
  const bool is_zero = (x[0] == 0 && e[0] == 0) || (x[1] == 0 && e[1] == 0);
  return is_zero ? 0 : moved_by(ops::Mul{}, x, e);
}

/// |a'/b' - a/b| <= |a' - a| / |b'| + |a/b| |b' - b| / |b'|.
double moved_by(const ops::Div&, std::span<const double> x,
                std::span<const double> e) {
  const double near = std::fabs(x[1]) - e[1];
  if (!(near > 0)) return undecided;
  return e[0] / near + scaled(std::fabs(x[0] / x[1]), e[1] / near);
}

/// The slope -1/2 x^(-3/2) is steepest at the near end.
double moved_by(const ops::Rsqrt&, std::span<const double> x,
                std::span<const double> e) {
  const double near = x[0] - e[0];
  if (!(near > 0)) return undecided;
  return 0.5 / std::sqrt(near) * (e[0] / near);
}

/// The slope 1 / (1 + x) is steepest at the near end; beyond -1 there is none.
double moved_by(const ops::Log1p&, std::span<const double> x,
                std::span<const double> e) {
  const double near = 1 + x[0] - e[0];
  return near > 0 ? e[0] / near : undecided;
}

/// The slope of a sine changes by at most e within e, and is at most 1.
double moved_by(const ops::Sin&, std::span<const double> x,
                std::span<const double> e) {
  return scaled(std::fmin(std::fabs(std::cos(x[0])) + e[0], 1.0), e[0]);
}

double moved_by(const ops::Cos&, std::span<const double> x,
                std::span<const double> e) {
  return scaled(std::fmin(std::fabs(std::sin(x[0])) + e[0], 1.0), e[0]);
}

/// Slopes |b| a^b / a and a^b |ln a|: the maxima of their factors lie at
/// corners, as a^b is monotone in both.
double moved_by(const ops::Pow&, std::span<const double> x,
                std::span<const double> e) {
  const double near = std::fabs(x[0]) - e[0];
  const double far = std::fabs(x[0]) + e[0];
  const double exponent = std::fabs(x[1]) + e[1];
  if (x[0] > 0 && near > 0) {
    double power = 0;
    for (double base : {near, far}) {
      for (double b : {x[1] - e[1], x[1] + e[1]}) {
        power = std::fmax(power, std::pow(base, b));
      }
    }
    const double slope =
        std::fmax(std::fabs(std::log(near)), std::fabs(std::log(far)));
    return scaled(power, exponent * (e[0] / near)) +
           scaled(power * slope, e[1]);
  }
  if (far == 0 && x[1] > e[1]) return 0;  // 0^b = 0
  // Through or below zero only powers with certain integers are smooth.
  if (e[1] > 0 || std::trunc(x[1]) != x[1]) return undecided;
  if (x[1] == 0) return 0;
  const double steepest = x[1] >= 1 ? far : std::fmax(near, 0.0);
  return scaled(exponent * std::pow(steepest, x[1] - 1), e[0]);
}

template <class Op>
concept MovesByRule = requires(std::span<const double> x) {
  moved_by(Op{}, x, x);
};

/// Calls `f(operands, result)`, in f64, at the corners of the box of operands
/// and where it comes nearest to 0.
template <class Op, class F>
void for_each_corner(const Op& op, Bounded x, const Shape& shape, F&& f) {
  constexpr std::size_t places = 3;
  std::vector<std::array<Tensor, places>> ends;
  std::size_t corners = 1;
  for (const Envelope& operand : x) {
    const Tensor center = cast(operand.value, f64);
    const Tensor low = center - operand.bound;
    const Tensor high = center + operand.bound;
    ends.push_back({low, high, maximum(low, minimum(high, 0.0))});
    corners *= places;
  }
  for (std::size_t corner = 0; corner < corners; ++corner) {
    std::vector<Tensor> at;
    std::size_t rest = corner;
    for (const auto& end : ends) {
      at.push_back(end[rest % places]);
      rest /= places;
    }
    f(at, ops::evaluate(op, {f64, shape}, at));
  }
}

/// The greatest |dy / dx_i| of each operand and element, by the operation's own
/// derivative. As a function of x_i it must have no maximum but at the ends of
/// an interval or at 0; an operation that has needs a `moved_by` above.
template <class Op>
std::vector<std::vector<double>> slopes_of(const Op& op, Bounded x,
                                           const Shape& shape) {
  const Tensor one = Tensor::full({f64, {}}, 1.0).broadcasted(shape);
  const auto count = static_cast<std::size_t>(shape.element_count());
  std::vector<std::vector<double>> greatest(x.size(),
                                            std::vector<double>(count));
  for_each_corner(
      op, x, shape, [&](const std::vector<Tensor>& at, const Tensor& y) {
        const auto slopes = op.derivative(ops::Operands<Tensor>(at), y, one);
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (!slopes[i]) continue;
          const std::vector<double> slope = numbers(*slopes[i]);
          for (std::size_t j = 0; j < count; ++j) {
            // NaN stays: what is not defined all over the box is undecided.
            double& most = greatest[i][j];
            if (!(std::fabs(slope[j]) <= most)) most = std::fabs(slope[j]);
          }
        }
      });
  return greatest;
}

/// Where y is infinite or NaN: whether it is at all corners.
template <class Op>
std::vector<char> constancy_of(const Op& op, Bounded x, const Tensor& y) {
  const Format format = format_of(y.dtype());
  const double margin = 1 - (roundings_of<Op>() + 1) * format.unit;
  const std::vector<double> values = numbers(y);
  std::vector<char> result(values.size(), 1);
  for_each_corner(
      op, x, y.shape(), [&](const std::vector<Tensor>&, const Tensor& there) {
        const std::vector<double> found = numbers(there);
        for (std::size_t j = 0; j < found.size(); ++j) {
          const bool same =
              std::isnan(values[j])
                  ? std::isnan(found[j])
                  : std::fabs(found[j]) * margin > format.greatest &&
                        std::signbit(found[j]) == std::signbit(values[j]);
          if (!same) result[j] = false;
        }
      });
  return result;
}

/// Whether an infinity or NaN that comes of uncertain or finite operands is no
/// safe demand, though it is one at all corners.
template <class Op>
bool is_loose(double y, std::span<const double> x, std::span<const double> e) {
  const auto any = [&](auto&& is) {
    return std::any_of(x.begin(), x.end(), is);
  };
  const auto is_zero = [](double value) { return value == 0; };
  const auto is_infinite = [](double value) { return std::isinf(value); };
  if (is_one_of<Op, ops::Mul, ops::MaskedProduct>) {
    // Fused into a sum, a product may come back before it overflows.
    return std::isinf(y) && !any(is_infinite);
  }
  if (is_one_of<Op, ops::Div, ops::Rsqrt, ops::Pow> && any(is_zero)) {
    // Bounds do not know the sign of a zero.
    return std::isinf(y);
  }
  // Between two exponents that are not whole lies one that is.
  return is_one_of<Op, ops::Pow> && std::isnan(y) && e.back() > 0;
}

/// By the mean value theorem |f(x') - f(x)| is at most the sum of the greatest
/// slopes times the bounds; then both sides round.
template <class Op>
Tensor smooth_bound(const Op& op, Bounded x, const Tensor& y) {
  std::vector<std::vector<double>> operands;
  std::vector<std::vector<double>> errors;
  bool real = is_floating(y.dtype());
  bool certain = true;
  for (const Envelope& operand : x) {
    operands.push_back(numbers(operand.value));
    errors.push_back(numbers(operand.bound));
    real = real && is_floating(operand.value.dtype());
    certain = certain && is_certain(operand.bound);
  }
  const std::vector<double> values = numbers(y);
  if (!real) {
    return filled(y.shape(), [&](std::size_t j) {
      const bool known = std::all_of(errors.begin(), errors.end(),
                                     [&](const auto& e) { return e[j] == 0; });
      return known ? 0 : undecided;
    });
  }
  std::vector<std::vector<double>> slopes;
  std::vector<char> constant(values.size(), 1);
  if constexpr (requires { &Op::template value<double>; }) {
    if (!certain) {
      if constexpr (!MovesByRule<Op>) slopes = slopes_of(op, x, y.shape());
      if (!std::all_of(values.begin(), values.end(),
                       [](double value) { return std::isfinite(value); })) {
        constant = constancy_of(op, x, y);
      }
    }
  }
  const double rounding = roundings_of<Op>() * format_of(y.dtype()).unit;
  std::vector<double> at(x.size());
  std::vector<double> e(x.size());
  return filled(y.shape(), [&](std::size_t j) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      at[i] = operands[i][j];
      e[i] = errors[i][j];
    }
    const bool known = std::all_of(e.begin(), e.end(),
                                   [](double error) { return error == 0; });
    double moved = 0;
    if (!known) {
      if constexpr (MovesByRule<Op>) {
        moved = moved_by(op, at, e);
      } else {
        for (std::size_t i = 0; i < e.size(); ++i) {
          moved += scaled(slopes[i][j], e[i]);
        }
      }
    }
    if (std::isfinite(values[j])) {
      return moved + rounding * (std::fabs(values[j]) + moved);
    }
    if (is_loose<Op>(values[j], at, e)) return undecided;
    if (known || moved == 0) return 0.0;
    const bool open = std::find(e.begin(), e.end(), undecided) != e.end();
    return constant[j] && !open ? 0 : undecided;
  });
}

template <class Op>
Tensor rule(const Op& op, Bounded x, const Tensor& y) {
  if constexpr (requires { bound(op, x, y); }) {
    return bound(op, x, y);
  } else if constexpr (ops::ViewValue<Op>) {
    return op.view(x[0].bound);
  } else if constexpr (ops::Elementwise<Op>) {
    return smooth_bound(op, x, y);
  } else {
    static_assert(ops::Elementwise<Op>,
                  "an operation over whole tensors needs a bound in "
                  "engine/envelope.h: how far may another engine be from it?");
  }
}

/// 16-bit types: both sides compute in f32 (we some sums in f64) and round.
/// With z before that rounding, |y' - y| <= |y' - z'| + |z' - z| + |z - y|.
Tensor widened_bound(const ops::Any& op, const ops::Widening& wide, Bounded x,
                     const Tensor& y) {
  std::vector<Envelope> operands(x.begin(), x.end());
  std::vector<Tensor> values;
  for (Envelope& operand : operands) {
    if (is_half(operand.value.dtype())) {
      operand.value = cast(operand.value, wide.dtype);
    }
    values.push_back(operand.value);
  }
  const Tensor z = ops::evaluate(op, wide.result, values);
  const Tensor bound = bound_of(op, operands, z);
  if (!is_half(y.dtype())) return bound;
  const Format format = format_of(y.dtype());
  const std::vector<double> errors = numbers(bound);
  const std::vector<double> before = numbers(z);
  const std::vector<double> rounded = numbers(cast(z, y.dtype()));
  const std::vector<double> found = numbers(y);
  return filled(y.shape(), [&](std::size_t i) {
    const bool is_certain = errors[i] == 0;
    const double theirs = is_certain ? rounded[i] : before[i];
    const bool same =
        theirs == found[i] || (std::isnan(theirs) && std::isnan(found[i]));
    const double apart = same ? 0 : std::fabs(theirs - found[i]);
    if (is_certain && !std::isfinite(apart)) return undecided;
    if (is_certain) return apart;
    return errors[i] + apart +
           format.rounding(std::fabs(before[i]) + errors[i]);
  });
}

}  // namespace

Tensor bound_of(const ops::Any& op, Bounded x, const Tensor& y) {
  std::vector<Type> types;
  for (const Envelope& operand : x) types.push_back(operand.value.type());
  if (const auto wide = ops::widening(op, types, f32)) {
    return settled(widened_bound(op, *wide, x, y), y);
  }
  return settled(std::visit([&](const auto& o) { return rule(o, x, y); }, op),
                 y);
}

}  // namespace topos::engines
