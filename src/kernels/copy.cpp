// Copies between layouts. The two innermost axes are one loop: runs of
// neighbours, repetitions, or squares that vectors transpose.

#include "kernels/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

// to[i, j] = from[j, i]; rows of both are contiguous.
template <class T>
HWY_INLINE void transpose_plainly(const T* from, int64_t from_step, T* to,
                                  int64_t to_step, int64_t rows,
                                  int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      to[i * to_step + j] = from[j * from_step + i];
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

// Blocks of 128 bits, each from a row of its own: block b from the row that
// lies b steps on.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const hn::TFromD<D>* from,
                                  int64_t step) {
  constexpr std::size_t lanes = hn::MaxLanes(D());
  if constexpr (lanes * sizeof(hn::TFromD<D>) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto blocks =
        static_cast<int64_t>(lanes * sizeof(hn::TFromD<D>) / 32);
    return hn::Combine(d, load_blocks(half, from + blocks * step, step),
                       load_blocks(half, from, step));
  }
}

// A square of 4 rows of `to`, a vector each, from 4 columns of `from`.
HWY_INLINE void transpose_square(const std::uint32_t* from, int64_t from_step,
                                 std::uint32_t* to, int64_t to_step) {
  const hn::ScalableTag<std::uint32_t> d;
  const int64_t step = 4 * from_step;
  const auto a = load_blocks(d, from, step);
  const auto b = load_blocks(d, from + from_step, step);
  const auto c = load_blocks(d, from + 2 * from_step, step);
  const auto e = load_blocks(d, from + 3 * from_step, step);
  const auto low_ac = hn::InterleaveLower(d, a, c);
  const auto low_be = hn::InterleaveLower(d, b, e);
  const auto high_ac = hn::InterleaveUpper(d, a, c);
  const auto high_be = hn::InterleaveUpper(d, b, e);
  hn::StoreU(hn::InterleaveLower(d, low_ac, low_be), d, to);
  hn::StoreU(hn::InterleaveUpper(d, low_ac, low_be), d, to + to_step);
  hn::StoreU(hn::InterleaveLower(d, high_ac, high_be), d, to + 2 * to_step);
  hn::StoreU(hn::InterleaveUpper(d, high_ac, high_be), d, to + 3 * to_step);
}

// The same of 2 rows.
HWY_INLINE void transpose_square(const std::uint64_t* from, int64_t from_step,
                                 std::uint64_t* to, int64_t to_step) {
  const hn::ScalableTag<std::uint64_t> d;
  const int64_t step = 2 * from_step;
  const auto a = load_blocks(d, from, step);
  const auto b = load_blocks(d, from + from_step, step);
  hn::StoreU(hn::InterleaveLower(d, a, b), d, to);
  hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + to_step);
}

#endif

// Both sides of a block of this edge stay near.
inline constexpr int64_t block_edge = 64;

#if HWY_TARGET == HWY_SCALAR

template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step,
               int64_t rows, int64_t columns) {
  for (int64_t j = 0; j < columns; j += block_edge) {
    transpose_plainly(from + j * from_step, from_step, to + j, to_step, rows,
                      std::min(block_edge, columns - j));
  }
}

#else

template <class T>
HWY_INLINE void transpose_block(const T* from, int64_t from_step, T* to,
                                int64_t to_step, int64_t rows,
                                int64_t columns) {
  constexpr auto high = static_cast<int64_t>(16 / sizeof(T));
  constexpr auto wide =
      static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  const int64_t whole = rows / high * high;
  int64_t j = 0;
  for (; j + wide <= columns; j += wide) {
    for (int64_t i = 0; i < whole; i += high) {
      transpose_square(from + j * from_step + i, from_step,
                       to + i * to_step + j, to_step);
    }
  }
  transpose_plainly(from + j * from_step, from_step, to + j, to_step, whole,
                    columns - j);
  transpose_plainly(from + whole, from_step, to + whole * to_step, to_step,
                    rows - whole, columns);
}

template <class T>
void transpose(const T* from, int64_t from_step, T* to, int64_t to_step,
               int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i += block_edge) {
    for (int64_t j = 0; j < columns; j += block_edge) {
      transpose_block(from + j * from_step + i, from_step, to + i * to_step + j,
                      to_step, std::min(block_edge, rows - i),
                      std::min(block_edge, columns - j));
    }
  }
}

#endif

void transpose_32(const std::uint32_t* from, int64_t from_step,
                  std::uint32_t* to, int64_t to_step, int64_t rows,
                  int64_t columns) {
  transpose(from, from_step, to, to_step, rows, columns);
}

void transpose_64(const std::uint64_t* from, int64_t from_step,
                  std::uint64_t* to, int64_t to_step, int64_t rows,
                  int64_t columns) {
  transpose(from, from_step, to, to_step, rows, columns);
}

// Past the caches: what is that long is not read soon.
template <class T>
void stream(T* to, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  constexpr auto width = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr std::size_t bytes = static_cast<std::size_t>(width) * sizeof(T);
  for (; n > 0 && reinterpret_cast<std::uintptr_t>(to) % bytes != 0; --n) {
    *to++ = value;
  }
  const auto v = hn::Set(d, value);
  for (; n >= width; n -= width, to += width) hn::Stream(v, d, to);
  std::fill_n(to, n, value);
  hwy::FlushStream();
}

void stream_32(std::uint32_t* to, int64_t n, std::uint32_t value) {
  stream(to, n, value);
}

void stream_64(std::uint64_t* to, int64_t n, std::uint64_t value) {
  stream(to, n, value);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(transpose_32);
HWY_EXPORT(transpose_64);
HWY_EXPORT(stream_32);
HWY_EXPORT(stream_64);

namespace {

/// Runs of one element as long as this go past the caches.
constexpr std::size_t streamed_bytes = std::size_t{8} << 20;
/// Fewer elements along an axis are not worth a transposition by squares.
constexpr std::int64_t least_edge = 4;

struct Plane {
  std::int64_t rows, row_from, row_to;
  std::int64_t columns, column_from, column_to;
};

template <class T>
void fill(T* to, std::int64_t n, T value) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    if (static_cast<std::size_t>(n) * sizeof(T) >= streamed_bytes) {
      if constexpr (sizeof(T) == 4) {
        HWY_DYNAMIC_DISPATCH(stream_32)(to, n, value);
      } else {
        HWY_DYNAMIC_DISPATCH(stream_64)(to, n, value);
      }
      return;
    }
  }
  std::fill_n(to, n, value);
}

template <class T>
void copy_plane(const T* from, T* to, const Plane& p) {
  const auto bytes = static_cast<std::size_t>(p.columns) * sizeof(T);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    if (p.column_from == 1 && p.column_to == 1) {
      std::memcpy(to, from, bytes);
    } else if (p.column_from == 0 && p.column_to == 1) {
      fill(to, p.columns, *from);
    } else {
      for (std::int64_t c = 0; c < p.columns; ++c) {
        to[c * p.column_to] = from[c * p.column_from];
      }
    }
    from += p.row_from;
    to += p.row_to;
  }
}

template <class T>
void transpose_plane(const T* from, T* to, const Plane& p) {
  if constexpr (sizeof(T) == 4) {
    HWY_DYNAMIC_DISPATCH(transpose_32)
    (from, p.column_from, to, p.row_to, p.rows, p.columns);
  } else if constexpr (sizeof(T) == 8) {
    HWY_DYNAMIC_DISPATCH(transpose_64)
    (from, p.column_from, to, p.row_to, p.rows, p.columns);
  } else {
    // A few columns at a time, so that the lines of the source stay near.
    for (std::int64_t c = 0; c < p.columns; c += 16) {
      Plane part = p;
      part.columns = std::min<std::int64_t>(16, p.columns - c);
      copy_plane(from + c * p.column_from, to + c, part);
    }
  }
}

}  // namespace

StridedCopy::StridedCopy(const Layout& from, const Layout& to,
                         std::size_t element_bytes)
    : element_bytes_(element_bytes),
      count_(from.shape.element_count()),
      from_offset_(from.offset),
      to_offset_(to.offset) {
  if (count_ == 0) return;
  std::array<Axis, max_rank> axes = {};
  int rank = 0;
  for (int i = 0; i < from.shape.rank(); ++i) {
    if (from.shape[i] == 1) continue;
    axes[static_cast<std::size_t>(rank++)] = {from.shape[i], from.strides[i],
                                              to.strides[i]};
  }
  std::stable_sort(axes.begin(), axes.begin() + rank,
                   [](const Axis& a, const Axis& b) {
                     return std::abs(a.to) > std::abs(b.to);
                   });
  for (int i = 0; i < rank; ++i) add(axes[static_cast<std::size_t>(i)]);
  find_transpose();
  // There are always two.
  if (rank_ == 0) add({1, 1, 1});
  if (rank_ == 1) {
    axes_[1] = std::exchange(axes_[0], {1, 0, 0});
    rank_ = 2;
  }
  choose_split();
}

void StridedCopy::add(const Axis& axis) {
  if (rank_ > 0) {
    Axis& last = axes_[static_cast<std::size_t>(rank_ - 1)];
    if (last.from == axis.from * axis.extent &&
        last.to == axis.to * axis.extent) {
      last = {last.extent * axis.extent, axis.from, axis.to};
      return;
    }
  }
  axes_[static_cast<std::size_t>(rank_++)] = axis;
}

void StridedCopy::find_transpose() {
  if (rank_ < 2) return;
  const Axis& last = axes_[static_cast<std::size_t>(rank_ - 1)];
  if (last.to != 1 || last.from == 1 || last.extent < least_edge) return;
  const auto end = axes_.begin() + rank_ - 1;
  const auto found = std::find_if(axes_.begin(), end, [](const Axis& axis) {
    return axis.from == 1 && axis.extent >= least_edge;
  });
  if (found == end) return;
  transposes_ = true;
  std::rotate(found, found + 1, end);
}

void StridedCopy::choose_split() {
  for (int i = 1; i < rank_; ++i) {
    // The first of the longest, but not for a little.
    if (axes_[static_cast<std::size_t>(i)].extent >
        4 * axes_[static_cast<std::size_t>(split_)].extent) {
      split_ = i;
    }
  }
}

void StridedCopy::run(const std::byte* from, std::byte* to, int part,
                      int parts) const {
  if (count_ == 0) return;
  apply_target_cap();
  std::array<Axis, max_rank> axes = axes_;
  std::int64_t from_at = from_offset_;
  std::int64_t to_at = to_offset_;
  Axis& split = axes[static_cast<std::size_t>(split_)];
  const std::int64_t begin = split.extent * part / parts;
  split.extent = split.extent * (part + 1) / parts - begin;
  from_at += begin * split.from;
  to_at += begin * split.to;
  if (split.extent == 0) return;

  const Axis& row = axes[static_cast<std::size_t>(rank_ - 2)];
  const Axis& column = axes[static_cast<std::size_t>(rank_ - 1)];
  const Plane plane{row.extent,    row.from,    row.to,
                    column.extent, column.from, column.to};
  const auto run_as = [&]<class T>(T) {
    const T* in = reinterpret_cast<const T*>(from) + from_at;
    T* out = reinterpret_cast<T*>(to) + to_at;
    std::array<std::int64_t, max_rank> index = {};
    for (;;) {
      if (transposes_) {
        transpose_plane(in, out, plane);
      } else {
        copy_plane(in, out, plane);
      }
      int at = rank_ - 3;
      for (; at >= 0; --at) {
        const Axis& axis = axes[static_cast<std::size_t>(at)];
        in += axis.from;
        out += axis.to;
        auto& i = index[static_cast<std::size_t>(at)];
        if (++i < axis.extent) break;
        in -= axis.from * axis.extent;
        out -= axis.to * axis.extent;
        i = 0;
      }
      if (at < 0) return;
    }
  };
  switch (element_bytes_) {
    case 1:
      return run_as(std::uint8_t{});
    case 2:
      return run_as(std::uint16_t{});
    case 4:
      return run_as(std::uint32_t{});
    default:
      return run_as(std::uint64_t{});
  }
}

}  // namespace topos::kernels

#endif  // HWY_ONCE
