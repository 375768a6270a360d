// Row formulas over the rows of a tile, with the bits of their definitions:
// the same steps over elements without gaps.

#include <cstring>
#include <limits>

#include "engine/tile.h"
#include "kernels/sum.h"
#include "tensor/visit.h"

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

template <class Op>
concept RowFormula = requires(const Op& op, const float* x, float* y) {
  one_row(op, x, y, std::size_t{});
};

/// Whether the formula gives as many elements as it takes.
template <class Op>
constexpr bool keeps_row =
    std::is_same_v<Op, ops::Center> || std::is_same_v<Op, ops::Softmax> ||
    std::is_same_v<Op, ops::LogSoftmax>;

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

ExpandFunction expand_function(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> ExpandFunction {
    return [](const std::byte* x, std::byte* y, std::size_t rows,
              std::size_t columns) {
      const T* in = reinterpret_cast<const T*>(x);
      T* out = reinterpret_cast<T*>(y);
      for (std::size_t row = 0; row < rows; ++row) {
        std::fill_n(out + row * columns, columns, in[row]);
      }
    };
  });
}

Layout collapsed(const Layout& layout) {
  Layout result{{}, {}, layout.offset};
  for (int axis = 0; axis < layout.shape.rank(); ++axis) {
    const std::int64_t extent = layout.shape[axis];
    const std::int64_t stride = layout.strides[axis];
    if (extent == 1) continue;
    if (!result.shape.empty() && result.strides[-1] == stride * extent) {
      result.shape[-1] *= extent;
      result.strides[-1] = stride;
    } else {
      result.shape.push_back(extent);
      result.strides.push_back(stride);
    }
  }
  return result;
}

LoadFunction load_function(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> LoadFunction {
    return [](const std::byte* base, const Layout& layout, std::int64_t start,
              std::size_t n, std::byte* to) {
      const T* from = reinterpret_cast<const T*>(base);
      T* out = reinterpret_cast<T*>(to);
      const int rank = layout.shape.rank();
      if (rank == 0) {
        std::fill_n(out, n, from[layout.offset]);
        return;
      }
      std::array<std::int64_t, max_rank> index = {};
      std::int64_t left = start;
      std::int64_t at = layout.offset;
      for (int axis = rank - 1; axis >= 0; --axis) {
        const std::int64_t i = left % layout.shape[axis];
        index[static_cast<std::size_t>(axis)] = i;
        at += i * layout.strides[axis];
        left /= layout.shape[axis];
      }
      const std::int64_t inner = layout.shape[-1];
      const std::int64_t stride = layout.strides[-1];
      std::int64_t inner_index = index[static_cast<std::size_t>(rank - 1)];
      while (n > 0) {
        const auto run = static_cast<std::size_t>(std::min<std::int64_t>(
            inner - inner_index, static_cast<std::int64_t>(n)));
        if (stride == 1) {
          std::memcpy(out, from + at, run * sizeof(T));
        } else if (stride == 0) {
          std::fill_n(out, run, from[at]);
        } else {
          for (std::size_t i = 0; i < run; ++i) {
            out[i] = from[at + static_cast<std::int64_t>(i) * stride];
          }
        }
        out += run;
        n -= run;
        at -= inner_index * stride;  // to the start of this inner axis
        inner_index = 0;
        for (int axis = rank - 2; axis >= 0; --axis) {
          at += layout.strides[axis];
          auto& i = index[static_cast<std::size_t>(axis)];
          if (++i < layout.shape[axis]) break;
          at -= layout.strides[axis] * layout.shape[axis];
          i = 0;
        }
      }
    };
  });
}

}  // namespace topos::engines
