// Row formulas, compiled once per instruction set. Rows are taken in pieces
// that stay in L1, so that memory is read and written as seldom as a formula
// allows: once, but for rows that are longer than a piece.

#include "kernels/rows.h"

#include <algorithm>
#include <limits>

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/sum.h"
#include "kernels/targets.h"
#include "math/elementary.h"
#include "ops/sum_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/doubles-inl.h"
#include "kernels/extremes-inl.h"

#ifndef TOPOS_KERNELS_ROWS_ONCE
#define TOPOS_KERNELS_ROWS_ONCE
namespace topos::kernels {
namespace {

/// Elements of a piece, a block of the sum; and rows of one at most.
inline constexpr std::size_t piece = ops::sum_block;
inline constexpr std::size_t piece_rows = 256;

/// How many rows make a piece, if one has no more elements than that.
inline std::size_t rows_together(std::size_t rows, std::size_t columns) {
  return std::min(
      {rows, piece_rows, piece / std::max<std::size_t>(columns, 1)});
}

inline void exponentials(float* x, std::size_t n) { exp(x, x, n); }

inline void exponentials(double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = math::exp(x[i]);
}

/// x = e^x, while memory brings the n elements that are written next:
/// exponentials leave it idle.
template <class T>
void exponentials(T* x, std::size_t n, const T* written) {
  constexpr std::size_t some = 512;
  constexpr std::size_t line = 64 / sizeof(T);
  for (std::size_t i = 0; i < n; i += some) {
    const std::size_t count = std::min(some, n - i);
    for (std::size_t k = i; k < i + count; k += line) {
      __builtin_prefetch(written + k, 1);
    }
    exponentials(x + i, count);
  }
}

inline void logarithms(const float* x, float* y, std::size_t n) { ln(x, y, n); }

inline void logarithms(const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = math::ln(x[i]);
}

template <class T>
void add_block(double& total, const T* x, std::size_t n, bool first) {
  double block = 0;
  sum_rows(x, 0, 1, n, &block);
  total = first ? block : total + block;
}

template <class T>
void sums_of(const T* x, std::size_t rows, std::size_t columns, double* sums) {
  sum_rows(x, static_cast<std::ptrdiff_t>(columns), rows, columns, sums);
}

}  // namespace
}  // namespace topos::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;

template <class T>
using Tag = hn::ScalableTag<T>;

/// y[i] = f(x[i]) over vectors, in place or not.
template <class T, class F>
HWY_INLINE void map(const T* x, T* y, size_t n, F f) {
  const Tag<T> d;
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  size_t i = 0;
  for (; i + width <= n; i += width) {
    hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < n) {
    store_first(d, f(load_first(d, x + i, n - i)), y + i, n - i);
  }
}

template <class T>
HWY_INLINE void subtract(const T* x, T shift, T* y, size_t n) {
  const auto by = hn::Set(Tag<T>(), shift);
  map(x, y, n, [by](auto v) HWY_ATTR { return hn::Sub(v, by); });
}

template <class T>
HWY_INLINE void scale(T* y, T factor, size_t n) {
  const auto by = hn::Set(Tag<T>(), factor);
  map(y, y, n, [by](auto v) HWY_ATTR { return hn::Mul(v, by); });
}

/// y = (x - shift) - log, or -inf everywhere: then `log` is.
template <class T>
HWY_INLINE void log_probabilities(const T* x, T shift, T log, T* y, size_t n) {
  if (log == -std::numeric_limits<T>::infinity()) {
    std::fill_n(y, n, log);
    return;
  }
  const auto by = hn::Set(Tag<T>(), shift);
  const auto less = hn::Set(Tag<T>(), log);
  map(x, y, n,
      [by, less](auto v) HWY_ATTR { return hn::Sub(hn::Sub(v, by), less); });
}

/// y = f64(x) - mean, rounded once.
template <class T>
HWY_INLINE void subtract_mean(const T* x, double mean, T* y, size_t n) {
  const auto by = hn::Set(doubles::Tag(), mean);
  constexpr size_t width = doubles::width;
  size_t i = 0;
  for (; i + width <= n; i += width) {
    doubles::store(hn::Sub(doubles::load(x + i), by), y + i, width);
  }
  if (i < n) {
    doubles::store(hn::Sub(doubles::load(x + i, n - i), by), y + i, n - i);
  }
}

template <class T>
HWY_INLINE T shift_of(const T* x, size_t columns) {
  const T greatest = extremes::extreme<extremes::Greatest>(x, columns);
  return greatest == -std::numeric_limits<T>::infinity() ? T(0) : greatest;
}

/// Rows of a few vectors less their shifts: each row is read once. The vectors
/// that are stored may reach into the next row, which comes later; a masked
/// store would keep that row's load waiting.
template <size_t vectors, class T>
HWY_INLINE void shift_short_rows(const T* x, T* y, size_t rows, size_t columns,
                                 T* shifts) {
  const Tag<T> d;
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  constexpr size_t last = (vectors - 1) * width;
  const size_t count = columns - last;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const auto within = hn::FirstN(d, count);
  const size_t overrun = x == y ? 0 : rows * columns;
  for (size_t r = 0; r < rows; ++r, x += columns, y += columns) {
    hn::Vec<Tag<T>> v[vectors];
    extremes::Running<extremes::Greatest, T> running;
    TOPOS_UNROLL
    for (size_t i = 0; i + 1 < vectors; ++i) {
      v[i] = hn::LoadU(d, x + i * width);
      running.add(v[i]);
    }
    v[vectors - 1] = hn::IfThenElse(within, load_first(d, x + last, count),
                                    hn::Set(d, -infinity));
    running.add(v[vectors - 1]);
    const T greatest = extremes::settled(running, x, columns);
    shifts[r] = greatest == -infinity ? T(0) : greatest;
    const auto shift = hn::Set(d, shifts[r]);
    TOPOS_UNROLL
    for (size_t i = 0; i + 1 < vectors; ++i) {
      hn::StoreU(hn::Sub(v[i], shift), d, y + i * width);
    }
    const auto end = hn::Sub(v[vectors - 1], shift);
    if (r * columns + last + width <= overrun) {
      hn::StoreU(end, d, y + last);
    } else {
      store_first(d, end, y + last, count);
    }
  }
}

/// Rows less their shifts.
template <class T>
HWY_INLINE void shift_rows(const T* x, T* y, size_t rows, size_t columns,
                           T* shifts) {
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  if (columns <= width) {
    shift_short_rows<1>(x, y, rows, columns, shifts);
  } else if (columns <= 2 * width) {
    shift_short_rows<2>(x, y, rows, columns, shifts);
  } else if (columns <= 3 * width) {
    shift_short_rows<3>(x, y, rows, columns, shifts);
  } else if (columns <= 4 * width) {
    shift_short_rows<4>(x, y, rows, columns, shifts);
  } else {
    for (size_t r = 0; r < rows; ++r, x += columns, y += columns) {
      shifts[r] = shift_of(x, columns);
      subtract(x, shifts[r], y, columns);
    }
  }
}

/// Exponentials of rows less their shifts, which are together a piece at most.
/// \param written  what the caller writes next, or null
template <class T>
HWY_INLINE void shifted_piece(const T* x, T* y, size_t rows, size_t columns,
                              const T* written, T* shifts, double* sums) {
  shift_rows(x, y, rows, columns, shifts);
  if (written == nullptr) {
    exponentials(y, rows * columns);
  } else {
    exponentials(y, rows * columns, written);
  }
  sums_of(y, rows, columns, sums);
}

/// The shift of a long row, and the sum of its exponentials; they go to
/// `to(i)` for the piece from element i on.
template <class T, class F>
HWY_INLINE double shifted_row(const T* x, size_t columns, T& shift, F to) {
  shift = shift_of(x, columns);
  double total = 0;
  for (size_t i = 0; i < columns; i += piece) {
    const size_t n = std::min(piece, columns - i);
    T* const y = to(i);
    subtract(x + i, shift, y, n);
    exponentials(y, n);
    add_block(total, y, n, i == 0);
  }
  return total;
}

template <class T>
HWY_INLINE T reciprocal(T sum) {
  return sum == 0 ? T(0) : 1 / sum;
}

/// Rows that are a piece together, each times the reciprocal of its sum.
template <class T>
HWY_INLINE void scale_rows(T* y, size_t rows, size_t columns,
                           const double* sums) {
  const Tag<T> d;
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  if (columns > 8 * width) {
    for (size_t r = 0; r < rows; ++r) {
      scale(y + r * columns, reciprocal(static_cast<T>(sums[r])), columns);
    }
    return;
  }
  // Factors first, an element each: rows that are not whole vectors then need
  // no masks.
  HWY_ALIGN T factors[piece + width];
  for (size_t r = 0; r < rows; ++r) {
    const auto factor = hn::Set(d, reciprocal(static_cast<T>(sums[r])));
    for (size_t c = 0; c < columns; c += width) {
      hn::StoreU(factor, d, factors + r * columns + c);
    }
  }
  const T* factor = factors;
  map(y, y, rows * columns, [&factor, d](auto v) HWY_ATTR {
    const auto by = hn::Load(d, factor);
    factor += width;
    return hn::Mul(v, by);
  });
}

template <class T>
void softmax(const T* x, T* y, size_t rows, size_t columns) {
  if (columns > piece) {
    for (size_t r = 0; r < rows; ++r, x += columns, y += columns) {
      T shift;
      const double sum =
          shifted_row(x, columns, shift, [y](size_t i) { return y + i; });
      scale(y, reciprocal(static_cast<T>(sum)), columns);
    }
    return;
  }
  const size_t together = rows_together(rows, columns);
  for (size_t r = 0; r < rows; r += together) {
    const size_t count = std::min(together, rows - r);
    T shifts[piece_rows];
    double sums[piece_rows];
    T* const out = y + r * columns;
    shifted_piece<T>(x + r * columns, out, count, columns, nullptr, shifts,
                     sums);
    scale_rows(out, count, columns, sums);
  }
}

/// Calls f(row, shift, ln of the sum of its exponentials) for each row,
/// which then writes the row of y, if there is one.
template <class T, class F>
HWY_INLINE void for_shifted_rows(const T* x, const T* y, size_t rows,
                                 size_t columns, F f) {
  HWY_ALIGN T scratch[piece];
  const size_t together = std::max<size_t>(rows_together(rows, columns), 1);
  for (size_t r = 0; r < rows; r += together) {
    const size_t count = std::min(together, rows - r);
    T shifts[piece_rows];
    double sums[piece_rows];
    T logs[piece_rows];
    if (columns > piece) {
      sums[0] = shifted_row(x + r * columns, columns, shifts[0],
                            [&scratch](size_t) { return scratch; });
    } else {
      shifted_piece(x + r * columns, scratch, count, columns,
                    y == nullptr ? y : y + r * columns, shifts, sums);
    }
    for (size_t i = 0; i < count; ++i) logs[i] = static_cast<T>(sums[i]);
    logarithms(logs, logs, count);
    for (size_t i = 0; i < count; ++i) f(r + i, shifts[i], logs[i]);
  }
}

template <class T>
void log_softmax(const T* x, T* y, size_t rows, size_t columns) {
  for_shifted_rows(x, y, rows, columns, [=](size_t r, T shift, T log) HWY_ATTR {
    log_probabilities(x + r * columns, shift, log, y + r * columns, columns);
  });
}

template <class T>
void logsumexp(const T* x, T* y, size_t rows, size_t columns) {
  // The logarithm of a sum that is 0 is -inf, as it should be: the shift is 0.
  for_shifted_rows<T>(x, nullptr, rows, columns,
                      [y](size_t r, T shift, T log) { y[r] = shift + log; });
}

template <class T>
void center(const T* x, T* y, size_t rows, size_t columns) {
  const size_t together = std::max<size_t>(rows_together(rows, columns), 1);
  const auto n = static_cast<double>(columns);
  double sums[piece_rows];
  for (size_t r = 0; r < rows; r += together) {
    const size_t count = std::min(together, rows - r);
    sums_of(x + r * columns, count, columns, sums);
    for (size_t i = r; i < r + count; ++i) {
      subtract_mean(x + i * columns, sums[i - r] / n, y + i * columns, columns);
    }
  }
}

#define TOPOS_FLOATS(function)                                                 \
  void function##_f32(const float* x, float* y, size_t rows, size_t columns) { \
    function(x, y, rows, columns);                                             \
  }                                                                            \
  void function##_f64(const double* x, double* y, size_t rows,                 \
                      size_t columns) {                                        \
    function(x, y, rows, columns);                                             \
  }
TOPOS_FLOATS(softmax)
TOPOS_FLOATS(log_softmax)
TOPOS_FLOATS(logsumexp)
TOPOS_FLOATS(center)
#undef TOPOS_FLOATS

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

// Each formula for each type: exported, then dispatched to.
#define TOPOS_DISPATCH(formula, name, T)                                  \
  HWY_EXPORT(name);                                                       \
  template <>                                                             \
  void formula(const T* x, T* y, std::size_t rows, std::size_t columns) { \
    apply_target_cap();                                                   \
    HWY_DYNAMIC_DISPATCH(name)(x, y, rows, columns);                      \
  }
TOPOS_DISPATCH(softmax_rows, softmax_f32, float)
TOPOS_DISPATCH(softmax_rows, softmax_f64, double)
TOPOS_DISPATCH(log_softmax_rows, log_softmax_f32, float)
TOPOS_DISPATCH(log_softmax_rows, log_softmax_f64, double)
TOPOS_DISPATCH(logsumexp_of_rows, logsumexp_f32, float)
TOPOS_DISPATCH(logsumexp_of_rows, logsumexp_f64, double)
TOPOS_DISPATCH(center_rows, center_f32, float)
TOPOS_DISPATCH(center_rows, center_f64, double)
#undef TOPOS_DISPATCH

namespace {

/// y = f(sum) of each row.
template <class T, class F>
void of_sums(const T* x, T* y, std::size_t rows, std::size_t columns, F f) {
  double sums[piece_rows];
  for (std::size_t r = 0; r < rows; r += piece_rows) {
    const std::size_t count = std::min(piece_rows, rows - r);
    sums_of(x + r * columns, count, columns, sums);
    for (std::size_t i = 0; i < count; ++i) {
      y[r + i] = static_cast<T>(f(sums[i]));
    }
  }
}

}  // namespace

template <std::floating_point T>
void sum_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns) {
  of_sums(x, y, rows, columns, [](double sum) { return sum; });
}

template <std::floating_point T>
void mean_of_rows(const T* x, T* y, std::size_t rows, std::size_t columns) {
  const auto n = static_cast<double>(columns);
  of_sums(x, y, rows, columns, [n](double sum) { return sum / n; });
}

template void sum_of_rows(const float*, float*, std::size_t, std::size_t);
template void sum_of_rows(const double*, double*, std::size_t, std::size_t);
template void mean_of_rows(const float*, float*, std::size_t, std::size_t);
template void mean_of_rows(const double*, double*, std::size_t, std::size_t);

}  // namespace topos::kernels

#endif  // HWY_ONCE
