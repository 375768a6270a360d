#include "engine/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "kernels/bf16_dot.h"
#include "kernels/blas.h"
#include "kernels/few_rows.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}
constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Elements of a tile that holds whole rows or several batch entries.
constexpr std::int64_t tile_elements = 16384;
/// Nanoseconds of an entry that is not worth being cut.
constexpr double worth_a_tile = 20000;
/// Rows of a tile: enough to use a packed panel well, few enough to leave the
/// second cache to what follows the product.
constexpr std::int64_t least_rows = 32;
constexpr std::int64_t greatest_rows = 96;
/// Panels of a tile: each element of the left operand that is fetched meets
/// their columns.
constexpr std::int64_t greatest_panels = 6;
/// Bytes of one packed block; larger ones are cut to fewer panels.
constexpr std::int64_t greatest_block = std::int64_t{4} << 20;
/// Inner extents beyond this are packed a block at a time, for all rows of an
/// entry up to as many: a packed panel would not stay in any cache.
constexpr std::int64_t long_inner = 8192;
constexpr std::int64_t rows_of_long = 384;
/// Tiles that divide well among threads.
constexpr std::int64_t wanted_tiles = 16;

Layout leading(const Layout& layout) {
  return {
      layout.shape.leading(-2),
      Strides(std::span(layout.strides.begin(),
                        static_cast<std::size_t>(layout.strides.size() - 2))),
      layout.offset};
}

kernels::MatrixStrides matrix(const Layout& layout) {
  return {layout.strides[-2], layout.strides[-1]};
}

std::int64_t panel_columns(DType dtype) {
  return static_cast<std::int64_t>(dtype == f32
                                       ? kernels::panel_columns<float>
                                       : kernels::panel_columns<double>);
}

/// c = a b, a block of k after the other: each is packed, and meets all rows.
template <class T, class S>
void multiply_blocks(const T* a, kernels::MatrixStrides a_strides, const S* b,
                     kernels::MatrixStrides b_strides, T* c, std::int64_t c_row,
                     kernels::MatmulShape shape, T* packed,
                     std::byte* scratch) {
  const kernels::Range panels = kernels::all_panels<T>(shape.n);
  for (std::size_t k = 0; k < shape.k; k += ops::matmul_block) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    const std::size_t depth = std::min(ops::matmul_block, shape.k - k);
    kernels::pack_right(packed, b + at * b_strides.row, b_strides, depth,
                        shape.n, panels);
    kernels::matmul_packed(a + at * a_strides.column, a_strides, packed, c,
                           c_row, {shape.m, shape.n, depth}, {0, shape.m},
                           panels, scratch, k > 0);
  }
}

}  // namespace

Rectangle TileGrid::tile(std::int64_t index) const {
  const std::int64_t row = index % down() * tile_rows;
  const std::int64_t column = index / down() % across() * tile_columns;
  const std::int64_t band = index / down() / across() * band_rows;
  return {band + row, std::min({tile_rows, band_rows - row, rows - band - row}),
          column, std::min(tile_columns, columns - column)};
}

Product::Product(const Access& left, const Access& right, DType dtype,
                 DType left_dtype, DType right_dtype, std::int64_t rows,
                 std::int64_t columns, bool whole_rows, Numerics numerics)
    : dtype_(dtype),
      right_dtype_(right_dtype),
      is_dot_(left_dtype != dtype),
      left_(left.root),
      right_(right.root),
      left_layout_(left.layout),
      right_layout_(right.layout),
      m_(left.layout.shape[-2]),
      k_(left.layout.shape[-1]),
      whole_rows_(whole_rows),
      shared_right_(right.layout.shape.rank() == 2) {
  if (shared_right_) {
    // All rows of the left operand as one matrix, if strides can say so.
    if (const auto matrix = left.layout.reshaped(Shape{rows, k_})) {
      left_layout_ = *matrix;
      m_ = rows;
    }
  }
  grid_.rows = rows;
  grid_.columns = columns;
  // A view may be larger than memory, and a panel is wider than a column.
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(columns + panel_columns(f32), k_, &bytes) ||
      __builtin_mul_overflow(bytes, shared_right_ ? 1 : rows / m_, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t{64}, &bytes)) {
    throw RuntimeError(fmt::format(
        "a product's operand of {} x {} does not fit memory", k_, columns));
  }
  const std::int64_t panels = quotient(columns, panel_columns(dtype));
  entry_bytes_ = aligned(
      static_cast<std::size_t>(panels * panel_columns(dtype) * packed_rows()) *
      size_bytes(dtype));
  const auto taken = [](const Layout& layout) {
    return kernels::blas_takes(matrix(layout),
                               static_cast<std::size_t>(layout.shape[-2]),
                               static_cast<std::size_t>(layout.shape[-1]));
  };
  is_blas_ = numerics == Numerics::fast && left_dtype == dtype &&
             right_dtype == dtype && kernels::blas_pays() &&
             taken(left_layout_) && taken(right_layout_);
  choose_tiles();
}

void Product::choose_tiles() {
  const std::int64_t columns = grid_.columns;
  const std::int64_t panels = quotient(columns, panel_columns(dtype_));
  const auto at_most = [&](std::size_t m) {
    return m_ <= static_cast<std::int64_t>(m);
  };
  const Strides& strides = right_layout_.strides;
  const bool is_wide = right_dtype_ == dtype_;
  using kernels::streamed_rows;
  const bool is_in_pages =
      strides[-2] * static_cast<std::int64_t>(size_bytes(dtype_)) % 4096 == 0;
  const std::size_t wide_rows = is_in_pages && !whole_rows_
                                    ? kernels::in_place_rows_of_pages
                                    : kernels::in_place_rows;
  const bool in_place =
      (strides[-1] == 1 && at_most(is_wide ? wide_rows : streamed_rows)) ||
      (strides[-2] == 1 &&
       at_most(is_wide ? kernels::few_rows : streamed_rows));
  if (!keeps_right_ && (is_blas_ || (in_place && !is_dot_))) {
    how_ = Right::in_place;
  } else if (keeps_right_ || whole_rows_) {
    how_ = Right::ahead;
  }
  grid_.band_rows = m_;
  grid_.tile_columns = columns;
  const std::int64_t entries = grid_.rows / m_;
  const double entry_cost = cost() / static_cast<double>(entries);
  const bool small =
      m_ * columns <= tile_elements / 2 && entry_cost < worth_a_tile;
  if (whole_rows_ || small) {
    // Several entries make a tile, or several tiles an entry.
    grid_.tile_rows = std::max(tile_elements / columns, least_rows);
    if (grid_.tile_rows >= 2 * m_) {
      grid_.tile_rows = grid_.tile_rows / m_ * m_;
      grid_.band_rows = grid_.rows;
    }
    grid_.tile_rows = std::min(grid_.tile_rows, grid_.band_rows);
    return;
  }
  if (how_ == Right::in_place) {
    // Few rows: long pieces of the right operand's rows, read as streams.
    const bool streams = at_most(streamed_rows);
    const std::int64_t piece = std::clamp<std::int64_t>(
        columns / wanted_tiles, streams ? 256 : 128, streams ? 2048 : 384);
    const std::int64_t pieces = quotient(columns, piece);
    grid_.tile_columns = quotient(quotient(columns, pieces), 64) * 64;
    grid_.tile_rows = m_;
    return;
  }
  const std::int64_t most_rows = packs_blocks() ? rows_of_long : greatest_rows;
  const std::int64_t down = quotient(m_, most_rows);
  // Multiples of six, the rows of a register tile on most targets.
  grid_.tile_rows = std::min(quotient(quotient(m_, down), 6) * 6, m_);
  const std::int64_t panel_bytes =
      std::max<std::int64_t>(packed_depth(), 1) * 256;
  std::int64_t width = std::clamp<std::int64_t>(greatest_block / panel_bytes, 2,
                                                greatest_panels);
  const std::int64_t rows_of_tiles = down * entries;
  while (width > 1 && quotient(panels, width) * rows_of_tiles < wanted_tiles) {
    --width;
  }
  const std::int64_t across = quotient(panels, width);
  grid_.tile_columns = quotient(panels, across) * panel_columns(dtype_);
}

double Product::cost() const noexcept {
  return static_cast<double>(grid_.rows) * static_cast<double>(grid_.columns) *
         static_cast<double>(k_) * 0.03;
}

std::int64_t Product::parts(int threads) const noexcept {
  // As many for each thread, and some, so that one that comes late does less.
  std::int64_t each = 8;
  if (how_ == Right::by_block) {
    // Each part packs what it needs: many only if each has whole columns of
    // tiles.
    const std::int64_t whole = grid_.bands() * grid_.across() / 4;
    const std::int64_t least = grid_.count() >= 8 * threads ? 2 : 1;
    each = std::clamp<std::int64_t>(whole / threads, least, 4);
  }
  return std::min(each * threads, grid_.count());
}

void Product::keep_right() noexcept {
  if (is_blas_ || (right_dtype_ != dtype_ && !is_dot_)) return;
  if (how_ == Right::in_place &&
      m_ <= static_cast<std::int64_t>(kernels::streamed_rows)) {
    return;
  }
  keeps_right_ = true;
  choose_tiles();
}

std::size_t Product::worker_bytes() const noexcept {
  std::size_t bytes = aligned(kernels::matmul_scratch_bytes);
  if (how_ == Right::by_block) {
    const std::int64_t width = panel_columns(dtype_);
    bytes += static_cast<std::size_t>(quotient(grid_.tile_columns, width) *
                                      width * packed_depth()) *
             size_bytes(dtype_);
  }
  return bytes;
}

std::size_t Product::ahead_bytes() const noexcept {
  if (how_ != Right::ahead) return 0;
  return entry_bytes_ *
         static_cast<std::size_t>(shared_right_ ? 1 : grid_.rows / m_);
}

std::int64_t Product::packed_rows() const noexcept {
  return is_dot_ ? static_cast<std::int64_t>(
                       kernels::pair_rows(static_cast<std::size_t>(k_)))
                 : k_;
}

bool Product::packs_blocks() const noexcept {
  return how_ == Right::by_block && !is_dot_ && k_ > long_inner;
}

std::int64_t Product::packed_depth() const noexcept {
  return packs_blocks() ? static_cast<std::int64_t>(ops::matmul_block)
                        : packed_rows();
}

std::int64_t Product::entry_panels() const noexcept {
  return quotient(grid_.columns, panel_columns(dtype_));
}

std::size_t Product::panel_count() const noexcept {
  if (how_ != Right::ahead) return 0;
  return static_cast<std::size_t>(entry_panels() *
                                  (shared_right_ ? 1 : grid_.rows / m_));
}

template <class F>
void Product::visit_types(F&& f) const {
  if (dtype_ == f64) {
    f.template operator()<double, double, double>();
  } else if (is_dot_) {
    f.template operator()<float, BFloat16, BFloat16>();
  } else if (right_dtype_ == bf16) {
    f.template operator()<float, float, BFloat16>();
  } else if (right_dtype_ == f16) {
    f.template operator()<float, float, Float16>();
  } else {
    f.template operator()<float, float, float>();
  }
}

template <class S>
const S* Product::right_matrix(const Addresses& addresses,
                               std::int64_t entry) const {
  return reinterpret_cast<const S*>(addresses[right_]) +
         (shared_right_ ? right_layout_.offset
                        : position_of(leading(right_layout_), entry));
}

template <class T, class A, class S>
void Product::pack_panels(std::byte* packed, const S* right, std::int64_t n,
                          kernels::Range panels) const {
  const auto k = static_cast<std::size_t>(k_);
  const auto columns = static_cast<std::size_t>(n);
  if constexpr (std::is_same_v<A, T>) {
    kernels::pack_right(reinterpret_cast<T*>(packed), right,
                        matrix(right_layout_), k, columns, panels);
  } else {
    kernels::pack_pairs(reinterpret_cast<std::uint32_t*>(packed), right,
                        matrix(right_layout_), k, columns, panels);
  }
}

void Product::pack(const Addresses& addresses, std::byte* packed,
                   kernels::Range panels) const {
  const auto each = static_cast<std::size_t>(entry_panels());
  while (panels.begin < panels.end) {
    const std::size_t entry = panels.begin / each;
    const std::size_t first = panels.begin % each;
    const std::size_t last =
        std::min(each, first + (panels.end - panels.begin));
    visit_types([&]<class T, class A, class S>() {
      pack_panels<T, A>(
          packed + entry * entry_bytes_,
          right_matrix<S>(addresses, static_cast<std::int64_t>(entry)),
          grid_.columns, {first, last});
    });
    panels.begin += last - first;
  }
}

template <class T, class A, class S>
void Product::multiply_entry(const Addresses& addresses, Worker& worker,
                             std::int64_t entry, const Rectangle& part, T* to,
                             std::int64_t row_elements) const {
  const kernels::MatrixStrides strides = matrix(left_layout_);
  const A* left = reinterpret_cast<const A*>(addresses[left_]) +
                  position_of(leading(left_layout_), entry) +
                  part.first_row % m_ * strides.row;
  const kernels::MatmulShape shape{static_cast<std::size_t>(part.rows),
                                   static_cast<std::size_t>(part.columns),
                                   static_cast<std::size_t>(k_)};
  const kernels::MatrixStrides right_strides = matrix(right_layout_);
  const S* const right = right_matrix<S>(addresses, entry) +
                         part.first_column * right_strides.column;
  if constexpr (std::is_same_v<A, T>) {
    if (how_ == Right::in_place) {
      if constexpr (std::is_same_v<T, S>) {
        if (is_blas_) {
          kernels::blas_multiply(left, strides, right, right_strides, to,
                                 row_elements, shape);
          return;
        }
        if (right_strides.column == 1 && shape.m > kernels::streamed_rows) {
          kernels::matmul_in_place(left, strides, right, right_strides.row, to,
                                   row_elements, shape, worker.scratch);
          return;
        }
      }
      kernels::multiply_few_rows(left, strides, right, right_strides, to,
                                 row_elements, shape, worker.scratch);
      return;
    }
  }
  std::byte* const block =
      worker.scratch + aligned(kernels::matmul_scratch_bytes);
  if constexpr (std::is_same_v<A, T>) {
    if (packs_blocks()) {
      multiply_blocks(left, strides, right, right_strides, to, row_elements,
                      shape, reinterpret_cast<T*>(block), worker.scratch);
      return;
    }
  }
  const std::byte* packed = block;
  if (how_ == Right::ahead) {
    packed =
        worker.ahead +
        static_cast<std::size_t>(shared_right_ ? 0 : entry) * entry_bytes_ +
        static_cast<std::size_t>(part.first_column * packed_rows()) * sizeof(T);
  } else {
    const std::int64_t wanted = (shared_right_ ? 0 : entry) * grid_.across() +
                                part.first_column / grid_.tile_columns;
    if (worker.held != wanted) {
      pack_panels<T, A>(worker.scratch + aligned(kernels::matmul_scratch_bytes),
                        right, part.columns, kernels::all_panels<T>(shape.n));
      worker.held = wanted;
    }
  }
  const kernels::Range rows{0, shape.m};
  const kernels::Range panels = kernels::all_panels<T>(shape.n);
  if constexpr (std::is_same_v<A, T>) {
    kernels::matmul_packed(left, strides, reinterpret_cast<const T*>(packed),
                           to, row_elements, shape, rows, panels,
                           worker.scratch);
  } else {
    kernels::matmul_pairs(left, strides,
                          reinterpret_cast<const std::uint32_t*>(packed), to,
                          row_elements, shape, rows, panels, worker.scratch);
  }
}

void Product::multiply(const Addresses& addresses, Worker& worker,
                       const Rectangle& tile, std::byte* to,
                       std::int64_t row_elements) const {
  visit_types([&]<class T, class A, class S>() {
    T* at = reinterpret_cast<T*>(to);
    Rectangle part = tile;
    std::int64_t left = tile.rows;
    while (left > 0) {
      const std::int64_t entry = part.first_row / m_;
      part.rows = std::min(left, (entry + 1) * m_ - part.first_row);
      multiply_entry<T, A, S>(addresses, worker, entry, part, at, row_elements);
      at += part.rows * row_elements;
      part.first_row += part.rows;
      left -= part.rows;
    }
  });
}

}  // namespace topos::engines
