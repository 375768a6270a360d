// The bounds of elementwise operations. Smooth ones get theirs from the value
// and the derivative that they have anyway; the few that jump, choose or
// convert have a rule each.

#include <algorithm>
#include <array>

#include "engine/envelope.h"
#include "ops/evaluate.h"

namespace topos::engines {

namespace {

template <class Op>
inline constexpr bool has_no_rule = false;

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
          result[j] = result[j] && same;
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
    static_assert(has_no_rule<Op>,
                  "an operation over whole tensors needs a bound in "
                  "engine/envelope.h: how far may another engine be from it?");
  }
}

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

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(x.element_count()));
  visit_dtype(x.dtype(), [&]<class T>() {
    const T* from = ops::elements_of<T>(x);
    for_each_position(ops::layout_of(x), [&](std::int64_t i) {
      result.push_back(static_cast<double>(from[i]));
    });
  });
  return result;
}

Tensor settled(const Tensor& bound, const Tensor& value) {
  // The f64 arithmetic of one rule on one element rounds fewer times than this,
  // relative to the bound; sums of more terms have u of f32, or count double.
  constexpr double own_roundings = 1 + 0x1p-40;
  const Format format = format_of(value.dtype());
  const std::vector<double> errors = numbers(bound);
  const std::vector<double> values = numbers(value);
  const bool real = is_floating(value.dtype());
  return filled(value.shape(), [&](std::size_t i) {
    const double error = errors[i] * own_roundings;
    const double size = std::fabs(values[i]);
    if (std::isnan(error)) return undecided;
    if (error > 0 && !(real && size + error <= format.greatest)) {
      return undecided;
    }
    if (!real || !(size - error < format.smallest)) return error;
    return error == 0 ? size : error + format.smallest;
  });
}

Tensor bound_of(const ops::Any& op, Bounded x, const Tensor& y) {
  return settled(std::visit([&](const auto& o) { return rule(o, x, y); }, op),
                 y);
}

Tensor bound(const ops::Cast& op, Bounded x, const Tensor& y) {
  const DType from = x[0].value.dtype();
  const std::vector<double> values = numbers(x[0].value);
  const std::vector<double> errors = numbers(x[0].bound);
  const bool narrows = from == f64 && op.to == f32;
  const double unit = narrows ? 2 * format_of(f32).unit : 0;
  return filled(y.shape(), [&](std::size_t i) {
    const double error = errors[i];
    if (error == 0) return 0.0;  // conversions round alike
    if (is_floating(op.to)) {
      if (from == boolean) return 1.0;
      return error + unit * (std::fabs(values[i]) + error);
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
