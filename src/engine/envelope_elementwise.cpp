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

/// What an operation does while each operand ranges over value +- bound.
struct Range {
  std::vector<std::vector<double>> slopes;  // the greatest |dy / dx_i|
  /// Where y is infinite or NaN: whether it is all over.
  std::vector<char> constant;
};

/// |da^b| on a box. |b| a^(b - 1) and a^b |ln a| have maxima inside; those of
/// their factors lie at corners.
std::array<double, 2> pow_slopes(const std::array<double, 2>& a,
                                 const std::array<double, 2>& b) {
  const double far = std::fmax(std::fabs(a[0]), std::fabs(a[1]));
  const double near =
      a[0] <= 0 && a[1] >= 0 ? 0 : std::fmin(std::fabs(a[0]), std::fabs(a[1]));
  const auto greatest = [&](double shift) {
    double result = 0;
    for (double base : {near, far}) {
      for (double exponent : b) {
        result = std::fmax(result, std::pow(base, exponent - shift));
      }
    }
    return result;
  };
  const double by_base =
      scaled(greatest(1), std::fmax(std::fabs(b[0]), std::fabs(b[1])));
  if (a[0] > 0) {
    return {by_base, greatest(0) * std::fmax(std::fabs(std::log(a[0])),
                                             std::fabs(std::log(a[1])))};
  }
  if (far == 0 && b[0] > 0) return {by_base, 0};  // 0^b = 0
  // Through or below zero only powers with certain integers are smooth.
  const bool whole = b[0] == b[1] && std::trunc(b[0]) == b[0];
  return {whole ? by_base : undecided, undecided};
}

/// Evaluates value and derivative in f64 at the corners of the box of operands
/// and where it comes nearest to 0: there |dy / dx_i| is greatest if, as a
/// function of x_i, it has no other maximum inside. That is so for every
/// operation here but sin, cos and pow; a new one that has such a maximum needs
/// a line beside theirs.
template <class Op>
Range range_of(const Op& op, Bounded x, const Tensor& y) {
  constexpr std::size_t n = Op::arity;
  constexpr std::size_t places = 3;
  const Type type{f64, y.shape()};
  const Format format = format_of(y.dtype());
  const double margin = 1 - (roundings_of<Op>() + 1) * format.unit;
  const std::vector<double> values = numbers(y);
  const Tensor one = Tensor::full({f64, {}}, 1.0).broadcasted(y.shape());

  std::array<std::array<Tensor, places>, n> ends;
  std::size_t corners = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor center = cast(x[i].value, f64);
    const Tensor low = center - x[i].bound;
    const Tensor high = center + x[i].bound;
    ends[i] = {low, high, maximum(low, minimum(high, 0.0))};
    corners *= places;
  }
  Range range;
  range.slopes.assign(n, std::vector<double>(values.size()));
  range.constant.assign(values.size(), 1);
  for (std::size_t corner = 0; corner < corners; ++corner) {
    std::vector<Tensor> at;
    for (std::size_t i = 0, rest = corner; i < n; ++i, rest /= places) {
      at.push_back(ends[i][rest % places]);
    }
    const Tensor there = ops::evaluate(op, type, at);
    const auto slopes = op.derivative(ops::Operands<Tensor>(at), there, one);
    for (std::size_t i = 0; i < n; ++i) {
      if (!slopes[i]) continue;
      const std::vector<double> slope = numbers(*slopes[i]);
      for (std::size_t j = 0; j < slope.size(); ++j) {
        double& greatest = range.slopes[i][j];
        // NaN stays: what is not defined all over the box is undecided.
        if (!(std::fabs(slope[j]) <= greatest)) greatest = std::fabs(slope[j]);
      }
    }
    const std::vector<double> found = numbers(there);
    for (std::size_t j = 0; j < found.size(); ++j) {
      const bool same =
          std::isnan(values[j])
              ? std::isnan(found[j])
              : std::fabs(found[j]) * margin > format.greatest &&
                    std::signbit(found[j]) == std::signbit(values[j]);
      range.constant[j] = range.constant[j] && same;
    }
  }
  if constexpr (is_one_of<Op, ops::Sin, ops::Cos>) {
    // Slopes that change by at most the distance to the nearest corner.
    const std::vector<double> errors = numbers(x[0].bound);
    for (std::size_t j = 0; j < values.size(); ++j) {
      double& slope = range.slopes[0][j];
      slope = std::isnan(slope) ? slope : std::fmin(slope + errors[j], 1.0);
    }
  }
  if constexpr (std::is_same_v<Op, ops::Pow>) {
    std::array<std::array<std::vector<double>, 2>, 2> box;
    for (std::size_t i : {0u, 1u}) {
      box[i] = {numbers(ends[i][0]), numbers(ends[i][1])};
    }
    for (std::size_t j = 0; j < values.size(); ++j) {
      const auto slopes = pow_slopes({box[0][0][j], box[0][1][j]},
                                     {box[1][0][j], box[1][1][j]});
      for (std::size_t i : {0u, 1u}) range.slopes[i][j] = slopes[i];
    }
  }
  return range;
}

/// By the mean value theorem |f(x') - f(x)| is at most the sum of the greatest
/// slopes times the bounds; then both sides round.
template <class Op>
Tensor smooth_bound(const Op& op, Bounded x, const Tensor& y) {
  std::vector<std::vector<double>> operands;
  std::vector<std::vector<double>> errors;
  bool certain = true;
  for (const Envelope& operand : x) {
    operands.push_back(numbers(operand.value));
    errors.push_back(numbers(operand.bound));
    certain = certain && is_certain(operand.bound);
  }
  const bool real =
      is_floating(y.dtype()) &&
      std::all_of(x.begin(), x.end(), [](const Envelope& operand) {
        return is_floating(operand.value.dtype());
      });
  Range range;
  if constexpr (requires { &Op::template value<double>; }) {
    if (real && !certain) range = range_of(op, x, y);
  }
  const std::vector<double> values = numbers(y);
  // A product that overflows does not if it is fused into a sum.
  const auto overflows = [&](std::size_t j) {
    return std::isinf(values[j]) &&
           std::all_of(operands.begin(), operands.end(),
                       [&](const auto& x_i) { return std::isfinite(x_i[j]); });
  };
  const double rounding = real ? roundings_of<Op>() : 0;
  const double unit = format_of(y.dtype()).unit;
  return filled(y.shape(), [&](std::size_t j) {
    double moved = 0;
    bool open = false;  // nothing is known of an operand
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double error = errors[i][j];
      if (error == 0) continue;
      if (!real) return undecided;
      const double slope = range.slopes[i][j];
      // 0 b is 0 here, even if b may be infinite.
      if (std::is_same_v<Op, ops::MaskedProduct> && slope == 0) continue;
      moved += scaled(slope, error);
      open = open || error == undecided;
    }
    if (!std::isfinite(values[j])) {
      if (std::is_same_v<Op, ops::Mul> && overflows(j)) return undecided;
      if (certain || moved == 0) return 0.0;
      return range.constant[j] && !open ? 0 : undecided;
    }
    return moved + rounding * unit * (std::fabs(values[j]) + moved);
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
