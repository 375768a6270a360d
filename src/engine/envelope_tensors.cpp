// The bounds of operations over whole tensors: movement, sums, products, rows.

#include <algorithm>

#include "engine/envelope.h"
#include "ops/evaluate.h"
#include "ops/indexing.h"

namespace topos::engines {

namespace {

bool has_undecided(const Tensor& bound) {
  const std::vector<double> errors = numbers(bound);
  return std::find(errors.begin(), errors.end(), undecided) != errors.end();
}

Tensor all_undecided(const Shape& shape) {
  return Tensor::full({f64, {}}, undecided).broadcasted(shape);
}

/// Elements with their errors, and where those lie that a reduction keeps and
/// reduces.
struct Reduction {
  Reduction(const Envelope& x, const Axes& axes)
      : values(numbers(x.value)),
        errors(numbers(x.bound)),
        at(ops::split(Layout::row_major(x.value.shape()), axes)) {}

  /// `f(row)` for each element of the result; `row(g)` then calls
  /// `g(index)` for each of the elements that it is made of.
  template <class F>
  void for_each_row(F&& f) const {
    for_each_position(at.kept, [&](std::int64_t base) {
      f([&](auto&& g) {
        for_each_position(at.reduced, [&](std::int64_t i) {
          g(static_cast<std::size_t>(base + i));
        });
      });
    });
  }
  /// The bound of the result, `f(row, j)` that of its element j.
  template <class F>
  Tensor reduced(const Shape& shape, F&& f) const {
    std::vector<double> result;
    for_each_row([&](auto&& row) { result.push_back(f(row, result.size())); });
    return Tensor(shape, result);
  }

  std::vector<double> values;
  std::vector<double> errors;
  ops::Split at;
};

template <class Row>
Terms terms_of(const Reduction& x, Row&& row) {
  Terms terms;
  row([&](std::size_t i) { terms.add(x.values[i], x.errors[i]); });
  return terms;
}

Tensor bound_of_extremum(const Envelope& x, const Axes& axes, const Tensor& y,
                         double sign) {
  const Reduction reduction(x, axes);
  const std::vector<double> values = numbers(y);
  return reduction.reduced(y.shape(), [&](auto&& row, std::size_t j) {
    ExtremumError extremum(values[j], sign);
    row([&](std::size_t i) {
      extremum.add(reduction.values[i], reduction.errors[i]);
    });
    return extremum.error();
  });
}

/// What softmax, logsumexp and log_softmax share: the errors of e^(x - m) and
/// of their sum s, as logarithms of the factors that they may be wrong by.
///
/// Both sides compute e^(x - m) from a rounded x - m, so |x - m| roundings, and
/// one of exp; a sum of n such terms is wrong by the mean of their errors with
/// the terms as weights, and by n roundings. The operands' errors move s by a
/// factor within (sum w e^-E, sum w e^E); the first is above e^-(sum w E), by
/// Jensen's inequality, and the second bounds that, too.
struct ShiftedSumError {
  template <class Row>
  ShiftedSumError(const Reduction& x, Row&& row, const Format& format) {
    row([&](std::size_t i) {
      special = special || !(x.values[i] < undecided);
      certain = certain && x.errors[i] == 0;
      greatest_error = std::fmax(greatest_error, x.errors[i]);
      maximum = std::fmax(maximum, x.values[i]);
    });
    if (special || greatest_error == undecided || std::isinf(maximum)) return;
    decided = true;
    double s = 0;
    row([&](std::size_t i) { s += std::exp(x.values[i] - maximum); });
    ln_s = std::log(s);
    double distance = 0;
    double above = 0;
    double count = 0;
    row([&](std::size_t i) {
      if (std::isinf(x.values[i])) return;
      ++count;
      const double weight = std::exp(x.values[i] - maximum) / s;
      if (weight == 0) return;
      distance += weight * distance_of(x, i);
      above += weight * std::expm1(std::fmin(x.errors[i], 1.0));
    });
    moved = greatest_error > 1 ? greatest_error : std::log1p(above);
    rounded =
        format.unit * (2 * distance + roundings_of<ops::Exp>() + count + 4) +
        count * format.smallest;
    decided = rounded < 0.25;
    rounded *= 1.5;  // -ln(1 - r) < 1.5 r below 0.25
  }

  /// At most |x - m| on either side.
  double distance_of(const Reduction& x, std::size_t i) const {
    return std::fabs(x.values[i] - maximum) + x.errors[i] + greatest_error;
  }
  /// Where no error is bounded: a NaN or +inf in a row that is certain gives
  /// what it must, as does a row of nothing but -inf.
  double otherwise() const { return certain ? 0 : undecided; }

  double maximum = -undecided;
  double greatest_error = 0;
  double ln_s = 0;
  double moved = 0;    // of ln s, by the operands
  double rounded = 0;  // of ln s, by both sides
  bool special = false;
  bool certain = true;
  bool decided = false;
};

double ln_error(const ShiftedSumError& s, const Format& format) {
  return s.moved + s.rounded +
         roundings_of<ops::Ln>() * format.unit *
             (std::fabs(s.ln_s) + s.moved + s.rounded);
}

/// A bound of a result of x's shape, row by row: `f(s, i)`.
template <class F>
Tensor bound_of_rows(const Envelope& x, std::int8_t axis, F&& f) {
  const Reduction reduction(x, {axis});
  std::vector<double> result(reduction.values.size());
  const Format format = format_of(x.value.dtype());
  reduction.for_each_row([&](auto&& row) {
    const ShiftedSumError s(reduction, row, format);
    row([&](std::size_t i) {
      result[i] = s.decided ? f(reduction, s, i) : s.otherwise();
    });
  });
  return Tensor(x.value.shape(), result);
}

}  // namespace

Tensor bound(const ops::ArgMax& op, Bounded x, const Tensor& y) {
  const Reduction reduction(x[0], {op.axis});
  const std::vector<double> where = numbers(y);
  return reduction.reduced(y.shape(), [&](auto&& row, std::size_t j) {
    double best = 0;
    double best_error = 0;
    double index = 0;
    row([&](std::size_t i) {
      if (index++ != where[j]) return;
      best = reduction.values[i];
      best_error = reduction.errors[i];
    });
    bool decided = best_error != undecided;
    index = 0;
    row([&](std::size_t i) {
      if (index++ == where[j] || reduction.errors[i] + best_error == 0) return;
      decided = decided && reduction.errors[i] != undecided &&
                is_decided(reduction.values[i], reduction.errors[i], best,
                           best_error);
    });
    return decided ? 0 : undecided;
  });
}

Tensor bound(const ops::Center& op, Bounded x, const Tensor& y) {
  const Reduction reduction(x[0], op.axes);
  const DType dtype = y.dtype();
  const double unit = format_of(dtype).unit;
  const std::vector<double> values = numbers(y);
  std::vector<double> result(values.size());
  reduction.for_each_row([&](auto&& row) {
    double n = 0;
    double total = 0;
    row([&](std::size_t i) {
      ++n;
      total += reduction.values[i];
    });
    const double sum_error = terms_of(reduction, row).sum_error(dtype) / n;
    // XLA rounds a quotient, or a reciprocal and a product.
    const double mean_error =
        sum_error + 3 * unit * (std::fabs(total / n) + sum_error);
    row([&](std::size_t i) {
      const double moved = reduction.errors[i] + mean_error;
      result[i] = std::isfinite(values[i])
                      ? moved + 2 * unit * (std::fabs(values[i]) + moved)
                      : reduction.errors[i] + sum_error;
    });
  });
  return Tensor(y.shape(), result);
}

Tensor bound(const ops::Concat& op, Bounded x, const Tensor& y) {
  std::vector<Tensor> bounds;
  for (const Envelope& part : x) bounds.push_back(part.bound);
  return ops::evaluate(op, {f64, y.shape()}, bounds);
}

Tensor bound(const ops::Gather& op, Bounded x, const Tensor& y) {
  if (has_undecided(x[1].bound)) return all_undecided(y.shape());
  return ops::evaluate(op, {f64, y.shape()}, {x[0].bound, x[1].value});
}

Tensor bound(const ops::Iota&, Bounded, const Tensor& y) {
  return Tensor::zeros({f64, y.shape()});
}

Tensor bound(const ops::LogSoftmax& op, Bounded x, const Tensor& y) {
  const Format format = format_of(y.dtype());
  const std::vector<double> values = numbers(y);
  return bound_of_rows(
      x[0], op.axis,
      [&](const Reduction& in, const ShiftedSumError& s, std::size_t i) {
        if (std::isinf(values[i])) return 0.0;
        const double before = in.errors[i] + ln_error(s, format) +
                              2 * format.unit * s.distance_of(in, i);
        return before + 2 * format.unit * (std::fabs(values[i]) + before);
      });
}

Tensor bound(const ops::LogSumExp& op, Bounded x, const Tensor& y) {
  const Reduction reduction(x[0], {op.axis});
  const Format format = format_of(y.dtype());
  const std::vector<double> values = numbers(y);
  return reduction.reduced(y.shape(), [&](auto&& row, std::size_t j) {
    const ShiftedSumError s(reduction, row, format);
    if (!s.decided) return s.otherwise();
    const double before = ln_error(s, format);
    return before + 2 * format.unit * (std::fabs(values[j]) + before);
  });
}

Tensor bound(const ops::Matmul&, Bounded x, const Tensor& y) {
  const Shape& left = x[0].value.shape();
  const Shape& right = x[1].value.shape();
  const std::vector<double> a = numbers(x[0].value);
  const std::vector<double> a_error = numbers(x[0].bound);
  const std::vector<double> b = numbers(x[1].value);
  const std::vector<double> b_error = numbers(x[1].bound);
  const auto m = static_cast<std::size_t>(left[-2]);
  const auto k = static_cast<std::size_t>(left[-1]);
  const auto n = static_cast<std::size_t>(right[-1]);
  const bool one_matrix = right.rank() != left.rank();
  return filled(y.shape(), [&](std::size_t flat) {
    const std::size_t column = flat % n;
    const std::size_t row = flat / n;  // of all matrices
    const std::size_t matrix = one_matrix ? 0 : row / m;
    Terms terms;
    for (std::size_t l = 0; l < k; ++l) {
      const std::size_t i = row * k + l;
      const std::size_t j = (matrix * k + l) * n + column;
      terms.add_product(a[i], a_error[i], b[j], b_error[j]);
    }
    return terms.product_error(y.dtype());
  });
}

Tensor bound(const ops::Mean& op, Bounded x, const Tensor& y) {
  const Reduction reduction(x[0], op.axes);
  const auto n =
      static_cast<double>(ops::reduced_count(x[0].value.shape(), op.axes));
  const double unit = format_of(y.dtype()).unit;
  const std::vector<double> values = numbers(y);
  return reduction.reduced(y.shape(), [&](auto&& row, std::size_t j) {
    if (n == 0) return 0.0;
    const double moved = terms_of(reduction, row).sum_error(y.dtype()) / n;
    if (!std::isfinite(values[j])) return moved;
    return moved + 3 * unit * (std::fabs(values[j]) + moved);
  });
}

Tensor bound(const ops::Pad& op, Bounded x, const Tensor& y) {
  return ops::evaluate(ops::Pad{op.low, op.high, 0}, {f64, y.shape()},
                       {x[0].bound});
}

Tensor bound(const ops::ReduceMax& op, Bounded x, const Tensor& y) {
  return bound_of_extremum(x[0], op.axes, y, 1);
}

Tensor bound(const ops::ReduceMin& op, Bounded x, const Tensor& y) {
  return bound_of_extremum(x[0], op.axes, y, -1);
}

Tensor bound(const ops::ScatterAdd& op, Bounded x, const Tensor& y) {
  if (has_undecided(x[1].bound)) return all_undecided(y.shape());
  const ops::IndexedExtents at(x[0].value.shape(), x[1].value.shape(), op.axis,
                               op.batch);
  const auto index = ops::checked_indices(x[1].value, at.n);
  const std::vector<double> base = numbers(x[0].value);
  const std::vector<double> base_error = numbers(x[0].bound);
  const std::vector<double> updates = numbers(x[2].value);
  const std::vector<double> update_error = numbers(x[2].bound);
  std::vector<Terms> sums(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) {
    sums[i].add(base[i], base_error[i]);
  }
  std::size_t next = 0;
  for (std::int64_t b = 0; b < at.batch; ++b) {
    for (std::int64_t o = 0; o < at.before; ++o) {
      for (std::int64_t r = 0; r < at.rest; ++r) {
        const std::int64_t i = index[static_cast<std::size_t>(b * at.rest + r)];
        const std::int64_t slice = (b * at.before + o) * at.n + i;
        for (std::int64_t a = 0; a < at.after; ++a, ++next) {
          sums[static_cast<std::size_t>(slice * at.after + a)].add(
              updates[next], update_error[next]);
        }
      }
    }
  }
  return filled(y.shape(),
                [&](std::size_t i) { return sums[i].sum_error(y.dtype()); });
}

Tensor bound(const ops::Softmax& op, Bounded x, const Tensor& y) {
  const Format format = format_of(y.dtype());
  return bound_of_rows(
      x[0], op.axis,
      [&](const Reduction& in, const ShiftedSumError& s, std::size_t i) {
        if (std::isinf(in.values[i])) return 0.0;
        const double ln_y = in.values[i] - s.maximum - s.ln_s;
        // y within a factor e^+-wrong; a difference of quotients both, and a
        // product.
        const double wrong = in.errors[i] + s.moved + s.rounded +
                             format.unit * (2 * s.distance_of(in, i) +
                                            roundings_of<ops::Exp>() + 6);
        const double error = wrong < 1 ? std::exp(ln_y) * std::expm1(wrong)
                                       : std::exp(std::fmin(ln_y + wrong, 0.0));
        return std::fmin(error, 1 + 8 * format.unit) + format.smallest;
      });
}

Tensor bound(const ops::Sum& op, Bounded x, const Tensor& y) {
  const Reduction reduction(x[0], op.axes);
  return reduction.reduced(y.shape(), [&](auto&& row, std::size_t) {
    return terms_of(reduction, row).sum_error(y.dtype());
  });
}

}  // namespace topos::engines
