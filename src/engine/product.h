#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/feeds.h"
#include "kernels/matmul.h"
#include "topos/plan.h"

/// \file
/// The matrix product of a group: how it is cut into tiles, and how a tile of
/// it is computed.

namespace topos::engines {

/// Where the elements of every node lie during a step, by node.
using Addresses = std::vector<std::byte*>;

/// Rows and columns of a group.
struct Rectangle {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_column;
  std::int64_t columns;
};

/// How the rows and columns of a group are cut. No tile crosses the end of a
/// band of rows; the tiles below each other in a band follow each other, so
/// that what belongs to their columns is made ready once.
struct TileGrid {
  std::int64_t rows = 0;  // of the group
  std::int64_t columns = 0;
  std::int64_t band_rows = 1;
  std::int64_t tile_rows = 1;
  std::int64_t tile_columns = 1;

  std::int64_t down() const { return quotient(band_rows, tile_rows); }
  std::int64_t across() const { return quotient(columns, tile_columns); }
  std::int64_t bands() const { return quotient(rows, band_rows); }
  std::int64_t count() const { return bands() * across() * down(); }
  Rectangle tile(std::int64_t index) const;

 private:
  static std::int64_t quotient(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;  // rounded up
  }
};

class Product {
 public:
  /// \param dtype          of the result
  /// \param left_dtype     the same, or bf16 if bf16_dot computes the product
  /// \param right_dtype    the same, or one of 16 bits that is widened to it
  /// \param rows, columns  of the result, all leading axes being rows
  /// \param whole_rows     whether tiles have to hold whole rows
  /// \throws RuntimeError  the packed operand would not fit memory
  Product(const Access& left, const Access& right, DType dtype,
          DType left_dtype, DType right_dtype, std::int64_t rows,
          std::int64_t columns, bool whole_rows, Numerics numerics);

  std::uint32_t left() const noexcept { return left_; }
  std::uint32_t right() const noexcept { return right_; }
  const Layout& right_layout() const noexcept { return right_layout_; }
  DType dtype() const noexcept { return dtype_; }
  const TileGrid& grid() const noexcept { return grid_; }
  /// Roughly the nanoseconds of one thread for everything.
  double cost() const noexcept;
  /// In how many parts so many threads do best.
  std::int64_t parts(int threads) const noexcept;

  /// From now on the right operand is packed ahead, for as long as it does not
  /// change; unless packing does not pay, as for the few rows that read it as a
  /// stream, or would widen it. Changes the grid.
  void keep_right() noexcept;
  bool keeps_right() const noexcept { return keeps_right_; }

  /// Bytes of scratch of each worker.
  std::size_t worker_bytes() const noexcept;
  /// Bytes of the right operand packed ahead of all tiles; 0 if tiles read it
  /// where it lies or pack what they need.
  std::size_t ahead_bytes() const noexcept;
  /// Parts that packing ahead divides into.
  std::size_t panel_count() const noexcept;
  void pack(const Addresses& addresses, std::byte* packed,
            kernels::Range panels) const;

  /// What one worker brings along from tile to tile.
  struct Worker {
    const std::byte* ahead;  // the right operand, if it was packed ahead
    std::byte* scratch;      // worker_bytes()
    std::int64_t held = -1;  // whose columns the scratch has packed
  };
  /// Writes a tile, its rows `row_elements` apart.
  void multiply(const Addresses& addresses, Worker& worker,
                const Rectangle& tile, std::byte* to,
                std::int64_t row_elements) const;

 private:
  /// How tiles find the right operand.
  enum class Right : std::uint8_t {
    in_place,  // few rows: packing would cost as much as the product
    by_block,  // each worker packs the columns of its tiles
    ahead      // packed before all tiles: they hold whole rows, or it stays
  };

  void choose_tiles();
  std::int64_t entry_panels() const noexcept;
  /// Whether tiles pack a block of k at a time.
  bool packs_blocks() const noexcept;
  /// Rows of what tiles pack.
  std::int64_t packed_depth() const noexcept;
  /// Rows of a packed panel.
  std::int64_t packed_rows() const noexcept;
  /// Calls f<T, A, S>() with the types of the result and of the operands.
  template <class F>
  void visit_types(F&& f) const;
  template <class S>
  const S* right_matrix(const Addresses& addresses, std::int64_t entry) const;
  template <class T, class A, class S>
  void pack_panels(std::byte* packed, const S* right, std::int64_t n,
                   kernels::Range panels) const;
  template <class T, class A, class S>
  void multiply_entry(const Addresses& addresses, Worker& worker,
                      std::int64_t entry, const Rectangle& part, T* to,
                      std::int64_t row_elements) const;

  DType dtype_;
  DType right_dtype_;
  bool is_dot_;           // of pairs of bf16: not the interpreter's bits
  bool is_blas_ = false;  // nor are these
  std::uint32_t left_;    // nodes
  std::uint32_t right_;
  Layout left_layout_;
  Layout right_layout_;
  std::int64_t m_ = 0;  // of one batch entry
  std::int64_t k_ = 0;
  bool whole_rows_;  // a tile has them
  bool keeps_right_ = false;
  bool shared_right_;            // one right operand for all entries
  std::size_t entry_bytes_ = 0;  // of a packed right operand
  Right how_ = Right::by_block;
  TileGrid grid_;
};

}  // namespace topos::engines
