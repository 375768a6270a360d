// Row formulas with exponentials, compiled once per instruction set. Rows are
// taken in pieces that stay in L1, so that memory is read and written as seldom
// as a formula allows: once, but for rows that are longer than a piece.

#include <algorithm>
#include <limits>

#include "kernels/elementary.h"
#include "kernels/row_pieces.h"
#include "kernels/rows.h"
#include "kernels/simd_targets.h"
#include "kernels/sum.h"
#include "kernels/targets.h"
#include "math/elementary.h"
#include "ops/sum_reference.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/doubles-inl.h"
#include "kernels/exp-inl.h"
#include "kernels/extremes-inl.h"

#ifndef TOPOS_KERNELS_SOFTMAX_ONCE
#define TOPOS_KERNELS_SOFTMAX_ONCE
namespace topos::kernels {
namespace {

inline void exponentials(float* x, std::size_t n) { exp(x, x, n); }

inline void exponentials(double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) x[i] = math::exp(x[i]);
}

inline void logarithms(const float* x, float* y, std::size_t n) { ln(x, y, n); }

inline void logarithms(const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] = math::ln(x[i]);
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

/// Rows of up to four vectors less their shifts.
template <class T>
HWY_INLINE void shift_short_rows(const T* x, T* y, size_t rows, size_t columns,
                                 T* shifts) {
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  if (columns <= width) {
    shift_short_rows<1>(x, y, rows, columns, shifts);
  } else if (columns <= 2 * width) {
    shift_short_rows<2>(x, y, rows, columns, shifts);
  } else if (columns <= 3 * width) {
    shift_short_rows<3>(x, y, rows, columns, shifts);
  } else {
    shift_short_rows<4>(x, y, rows, columns, shifts);
  }
}

/// What memory should bring while exponentials leave it idle: as many elements
/// as there are of those, to be read or to be written, or nothing.
template <class T>
struct Ahead {
  const T* read = nullptr;
  const T* written = nullptr;

  HWY_INLINE Ahead from(size_t i) const {
    return {read == nullptr ? read : read + i,
            written == nullptr ? written : written + i};
  }

  HWY_INLINE void bring(size_t i, size_t count) const {
    constexpr size_t line = 64 / sizeof(T);
    for (size_t k = i; k < i + count; k += line) {
      if (read != nullptr) __builtin_prefetch(read + k);
      if (written != nullptr) __builtin_prefetch(written + k, 1);
    }
  }
};

/// y = e^(x - shift) and the sum of it, of a block of n elements at most.
template <class T>
HWY_INLINE double shifted_block(const T* x, T shift, T* y, size_t n,
                                const Ahead<T>& ahead) {
  ahead.bring(0, n);
  subtract(x, shift, y, n);
  exponentials(y, n);
  double sum = 0;
  sums_of(y, 1, n, &sum);
  return sum;
}

#if TOPOS_VECTOR_DOUBLES
/// sum += v, which is element `at` of 16 and those after it.
HWY_INLINE void add_to_lanes(doubles::Vector (&sum)[doubles::lane_vectors],
                             size_t at, FloatVector v) {
  const DoublePair wide = promoted(v);
  const size_t lane = at % ops::sum_lanes / doubles::width;
  sum[lane] = hn::Add(sum[lane], wide.low);
  sum[lane + 1] = hn::Add(sum[lane + 1], wide.high);
}

/// In one pass.
HWY_NOINLINE double shifted_block(const float* x, float shift, float* y,
                                  size_t n, const Ahead<float>& ahead) {
  const FloatTag d;
  constexpr size_t width = hn::MaxLanes(FloatTag());
  constexpr size_t step = std::max(2 * width, ops::sum_lanes);
  const auto by = hn::Set(d, shift);
  doubles::Vector sum[doubles::lane_vectors];
  TOPOS_UNROLL
  for (auto& lanes : sum) lanes = hn::Zero(DoubleTag());
  size_t i = 0;
  for (; i + step <= n; i += step) {
    ahead.bring(i, step);
    TOPOS_UNROLL
    for (size_t k = 0; k < step; k += 2 * width) {
      FloatVector v0 = hn::Sub(hn::LoadU(d, x + i + k), by);
      FloatVector v1 = hn::Sub(hn::LoadU(d, x + i + k + width), by);
      replace<Exp>(v0, v1);
      hn::StoreU(v0, d, y + i + k);
      hn::StoreU(v1, d, y + i + k + width);
      add_to_lanes(sum, k, v0);
      add_to_lanes(sum, k + width, v1);
    }
  }
  if (i < n) {
    // A lane is never -0, so the +0 that fills the rest leaves it as it is.
    HWY_ALIGN float rest[step] = {};
    for (size_t k = 0; i + k < n; k += width) {
      const size_t count = std::min(width, n - i - k);
      const auto within = hn::FirstN(d, count);
      const FloatVector v = value<Exp>(hn::IfThenElseZero(
          within, hn::Sub(load_first(d, x + i + k, count), by)));
      store_first(d, v, y + i + k, count);
      hn::Store(hn::IfThenElseZero(within, v), d, rest + k);
    }
    TOPOS_UNROLL
    for (size_t k = 0; k < step; k += width) {
      add_to_lanes(sum, k, hn::Load(d, rest + k));
    }
  }
  return doubles::sum_of_lanes(sum);
}
#endif

/// Exponentials of rows less their shifts, which are together a piece at most.
/// \param ahead  of all of them
template <class T>
HWY_INLINE void shifted_piece(const T* x, T* y, size_t rows, size_t columns,
                              const Ahead<T>& ahead, T* shifts, double* sums) {
  constexpr size_t width = hn::MaxLanes(Tag<T>());
  if (columns <= 4 * width) {
    ahead.bring(0, rows * columns);
    shift_short_rows(x, y, rows, columns, shifts);
    exponentials(y, rows * columns);
    sums_of(y, rows, columns, sums);
    return;
  }
  for (size_t r = 0; r < rows; ++r) {
    const size_t at = r * columns;
    shifts[r] = shift_of(x + at, columns);
    sums[r] = shifted_block(x + at, shifts[r], y + at, columns, ahead.from(at));
  }
}

/// The shift of a long row, and the sum of its exponentials; they go to
/// `to(i)` for the piece from element i on.
template <class T, class F>
HWY_INLINE double shifted_row(const T* x, size_t columns, T& shift, F to) {
  shift = shift_of(x, columns);
  double total = 0;
  for (size_t i = 0; i < columns; i += piece) {
    const size_t n = std::min(piece, columns - i);
    const double block = shifted_block(x + i, shift, to(i), n, Ahead<T>());
    total = i == 0 ? block : total + block;
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
    // Rows are often followed by those of the next call.
    shifted_piece<T>(x + r * columns, out, count, columns,
                     {x + (r + count) * columns}, shifts, sums);
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
      shifted_piece<T>(
          x + r * columns, scratch, count, columns,
          {x + (r + count) * columns, y == nullptr ? y : y + r * columns},
          shifts, sums);
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
#undef TOPOS_DISPATCH

}  // namespace topos::kernels

#endif  // HWY_ONCE
