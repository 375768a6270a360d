// Row formulas over the rows of a tile, with the bits of their definitions:
// the same steps over elements without gaps.

#include <limits>

#include "engine/row_formula.h"
#include "kernels/sum.h"

namespace topos::engines {

namespace {

template <class T>
double row_sum(const T* x, std::size_t columns) {
  double total = 0;
  kernels::sum_rows(x, static_cast<std::ptrdiff_t>(columns), 1, columns,
                    &total);
  return total;
}

template <class Extremum, class T>
T row_extremum(const T* x, std::size_t columns) {
  T best = x[0];
  for (std::size_t i = 1; i < columns; ++i) {
    best = Extremum::value(best, x[i]);
  }
  return best;
}

template <class T>
T shift_of(const T* x, std::size_t columns) {
  const T maximum = row_extremum<ops::Maximum>(x, columns);
  return maximum == -std::numeric_limits<T>::infinity() ? T(0) : maximum;
}

/// y = e^(x - shift), and the sum of y.
template <class T>
T shifted_exponentials(const T* x, T shift, T* y, std::size_t columns) {
  for (std::size_t i = 0; i < columns; ++i) y[i] = math::exp(x[i] - shift);
  return static_cast<T>(row_sum(y, columns));
}

/// Exponentials of a row in pieces, where they are needed only for their sum.
template <class T>
T exponential_sum(const T* x, T shift, std::size_t columns) {
  ops::SumAccumulator sum;
  for (std::size_t i = 0; i < columns; ++i) {
    sum.add(static_cast<double>(math::exp(x[i] - shift)));
  }
  return static_cast<T>(sum.total());
}

template <class T>
void one_row(const ops::Sum&, const T* x, T* y, std::size_t columns) {
  *y = static_cast<T>(row_sum(x, columns));
}

template <class T>
void one_row(const ops::Mean&, const T* x, T* y, std::size_t columns) {
  *y = static_cast<T>(row_sum(x, columns) / static_cast<double>(columns));
}

template <class T>
void one_row(const ops::Center&, const T* x, T* y, std::size_t columns) {
  const double mean = row_sum(x, columns) / static_cast<double>(columns);
  for (std::size_t i = 0; i < columns; ++i) {
    y[i] = static_cast<T>(static_cast<double>(x[i]) - mean);
  }
}

template <class T>
void one_row(const ops::ReduceMax&, const T* x, T* y, std::size_t columns) {
  *y = row_extremum<ops::Maximum>(x, columns);
}

template <class T>
void one_row(const ops::ReduceMin&, const T* x, T* y, std::size_t columns) {
  *y = row_extremum<ops::Minimum>(x, columns);
}

template <class T>
void one_row(const ops::Softmax&, const T* x, T* y, std::size_t columns) {
  const T sum = shifted_exponentials(x, shift_of(x, columns), y, columns);
  const T r = sum == 0 ? T(0) : 1 / sum;
  for (std::size_t i = 0; i < columns; ++i) y[i] *= r;
}

template <class T>
void one_row(const ops::LogSoftmax&, const T* x, T* y, std::size_t columns) {
  const T shift = shift_of(x, columns);
  const T sum = exponential_sum(x, shift, columns);
  const T log = math::ln(sum);
  for (std::size_t i = 0; i < columns; ++i) {
    y[i] =
        sum == 0 ? -std::numeric_limits<T>::infinity() : (x[i] - shift) - log;
  }
}

template <class T>
void one_row(const ops::LogSumExp&, const T* x, T* y, std::size_t columns) {
  const T shift = shift_of(x, columns);
  const T sum = exponential_sum(x, shift, columns);
  *y = sum == 0 ? -std::numeric_limits<T>::infinity() : shift + math::ln(sum);
}

template <class Op, class T>
void all_rows(const std::byte* x, std::byte* y, std::size_t rows,
              std::size_t columns) {
  const T* in = reinterpret_cast<const T*>(x);
  T* out = reinterpret_cast<T*>(y);
  for (std::size_t row = 0; row < rows; ++row) {
    one_row(Op{}, in, out, columns);
    in += columns;
    out += keeps_row<Op> ? columns : 1;
  }
}

}  // namespace

RowFunction row_function(const ops::Any& op, DType dtype) {
  return std::visit(
      [&]<class Op>(const Op&) -> RowFunction {
        if constexpr (RowFormula<Op>) {
          if (dtype == f32) return all_rows<Op, float>;
          if (dtype == f64) return all_rows<Op, double>;
        }
        return nullptr;
      },
      op);
}

}  // namespace topos::engines
