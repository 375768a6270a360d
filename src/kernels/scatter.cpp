// Scattered sums, compiled once per instruction set: vectors run along a row,
// and the sums of a few vectors stay in registers while updates pass by.

#include "kernels/scatter.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <type_traits>

#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scatter.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/doubles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::size_t;

/// One row's entries: [begin, end).
struct Run {
  const ScatterEntry* begin;
  const ScatterEntry* end;
};

// Columns of `vectors` vectors, the last of which has `count` elements.
template <size_t vectors, class T>
HWY_INLINE void add_columns(T* row, const T* updates, size_t columns, Run run,
                            size_t count) {
  constexpr size_t width = doubles::width;
  doubles::Vector sum[vectors];
  TOPOS_UNROLL
  for (size_t v = 0; v < vectors; ++v) {
    sum[v] = doubles::load(row + v * width, v + 1 < vectors ? width : count);
  }
  for (const ScatterEntry* entry = run.begin; entry != run.end; ++entry) {
    const T* const x = updates + static_cast<size_t>(entry->from) * columns;
    TOPOS_UNROLL
    for (size_t v = 0; v < vectors; ++v) {
      sum[v] = hn::Add(sum[v], doubles::load(x + v * width,
                                             v + 1 < vectors ? width : count));
    }
  }
  TOPOS_UNROLL
  for (size_t v = 0; v < vectors; ++v) {
    doubles::store(sum[v], row + v * width, v + 1 < vectors ? width : count);
  }
}

template <class T>
HWY_INLINE void add_run(T* row, const T* updates, size_t columns, Run run) {
  constexpr size_t width = doubles::width;
  if (columns == 1) {
    auto total = static_cast<double>(*row);
    for (const ScatterEntry* entry = run.begin; entry != run.end; ++entry) {
      total += static_cast<double>(updates[entry->from]);
    }
    *row = static_cast<T>(total);
    return;
  }
  size_t c = 0;
  for (; c + 4 * width <= columns; c += 4 * width) {
    add_columns<4>(row + c, updates + c, columns, run, width);
  }
  if (c + 2 * width < columns) {
    add_columns<2>(row + c, updates + c, columns, run, width);
    c += 2 * width;
  }
  const size_t left = columns - c;
  if (left > width) {
    add_columns<2>(row + c, updates + c, columns, run, left - width);
  } else if (left > 0) {
    add_columns<1>(row + c, updates + c, columns, run, left);
  }
}

template <class T>
HWY_INLINE void add_all(T* rows, const T* updates, size_t columns,
                        const ScatterEntry* entries, size_t count) {
  const ScatterEntry* const end = entries + count;
  while (entries != end) {
    const ScatterEntry* next = entries + 1;
    while (next != end && next->to == entries->to) ++next;
    add_run(rows + static_cast<size_t>(entries->to) * columns, updates, columns,
            Run{entries, next});
    entries = next;
  }
}

void add_f32(float* rows, const float* updates, size_t columns,
             const ScatterEntry* entries, size_t count) {
  add_all(rows, updates, columns, entries, count);
}

void add_f64(double* rows, const double* updates, size_t columns,
             const ScatterEntry* entries, size_t count) {
  add_all(rows, updates, columns, entries, count);
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

namespace {

/// Fewer entries are put in their places one by one.
constexpr std::size_t few_entries = 16;
/// Of a digit: as many counters stay in L1.
constexpr int greatest_digit = 11;

int width_of(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }

void insert_each(ScatterEntry* entries, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const ScatterEntry entry = entries[i];
    std::size_t at = i;
    for (; at > 0 && entries[at - 1].to > entry.to; --at) {
      entries[at] = entries[at - 1];
    }
    entries[at] = entry;
  }
}

}  // namespace

void sort_entries(ScatterEntry* entries, ScatterEntry* scratch,
                  std::size_t count, std::int64_t n) {
  if (count <= few_entries) return insert_each(entries, count);
  // By digits, the last one first: each pass keeps the order of the one before.
  const int bits = width_of(static_cast<std::uint64_t>(n - 1));
  const int digit = std::min({greatest_digit, width_of(count), bits});
  std::size_t starts[(1u << greatest_digit) + 1];
  ScatterEntry* from = entries;
  ScatterEntry* to = scratch;
  for (int shift = 0; shift < bits; shift += digit) {
    const auto mask = (std::int64_t{1} << digit) - 1;
    const auto digit_of = [&](const ScatterEntry& entry) {
      return static_cast<std::size_t>((entry.to >> shift) & mask);
    };
    std::fill_n(starts, static_cast<std::size_t>(mask) + 2, 0);
    for (std::size_t i = 0; i < count; ++i) ++starts[digit_of(from[i]) + 1];
    for (std::int64_t d = 0; d < mask; ++d) starts[d + 1] += starts[d];
    for (std::size_t i = 0; i < count; ++i) {
      to[starts[digit_of(from[i])]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, count, entries);
}

HWY_EXPORT(add_f32);
HWY_EXPORT(add_f64);

template <class T>
void scatter_add_rows(T* rows, const T* updates, std::size_t columns,
                      const ScatterEntry* entries, std::size_t count) {
  if constexpr (std::same_as<T, float>) {
    apply_target_cap();
    HWY_DYNAMIC_DISPATCH(add_f32)(rows, updates, columns, entries, count);
  } else if constexpr (std::same_as<T, double>) {
    apply_target_cap();
    HWY_DYNAMIC_DISPATCH(add_f64)(rows, updates, columns, entries, count);
  } else {
    using U = std::make_unsigned_t<T>;
    for (std::size_t i = 0; i < count; ++i) {
      T* const row = rows + entries[i].to * static_cast<std::int64_t>(columns);
      const T* const x =
          updates + entries[i].from * static_cast<std::int64_t>(columns);
      for (std::size_t c = 0; c < columns; ++c) {
        row[c] = static_cast<T>(static_cast<U>(row[c]) + static_cast<U>(x[c]));
      }
    }
  }
}

template void scatter_add_rows(float*, const float*, std::size_t,
                               const ScatterEntry*, std::size_t);
template void scatter_add_rows(double*, const double*, std::size_t,
                               const ScatterEntry*, std::size_t);
template void scatter_add_rows(std::int32_t*, const std::int32_t*, std::size_t,
                               const ScatterEntry*, std::size_t);
template void scatter_add_rows(std::int64_t*, const std::int64_t*, std::size_t,
                               const ScatterEntry*, std::size_t);

}  // namespace topos::kernels

#endif  // HWY_ONCE
