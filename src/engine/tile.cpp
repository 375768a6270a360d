#include "engine/tile.h"

#include <algorithm>

#include "kernels/sum.h"

namespace topos::engines {

namespace {

void sum_block_of(DType dtype, const std::byte* x, std::size_t n, double* sum) {
  if (dtype == f32) {
    kernels::sum_rows(reinterpret_cast<const float*>(x), 0, 1, n, sum);
  } else {
    kernels::sum_rows(reinterpret_cast<const double*>(x), 0, 1, n, sum);
  }
}

}  // namespace

void TileProgram::pack(const Addresses& addresses, std::byte* shared,
                       kernels::Range panels) const {
  if (product_) product_->pack(addresses, shared, panels);
}

int TileProgram::parts(int threads) const noexcept {
  return static_cast<int>(product_
                              ? product_->parts(threads)
                              : std::min<std::int64_t>(threads, tile_count()));
}

struct TileProgram::Tile {
  Rectangle at;
  std::byte** pointers;
  /// Of the group; rows in memory are so long.
  std::int64_t columns;

  /// From a row's first element to the next row's.
  std::int64_t row_elements(const Slot& slot) const {
    if (!slot.moves) return 0;
    if (slot.extent == Extent::row) return 1;
    return slot.in_memory ? columns : at.columns;
  }
  std::int64_t row_bytes(const Slot& slot) const {
    return row_elements(slot) * static_cast<std::int64_t>(slot.element_bytes);
  }
  /// The elements of a row that an instruction works on.
  std::int64_t row(const Instruction& step) const {
    return step.extent == Extent::full ? at.columns : 1;
  }
};

/// Prefetches elements [begin, end) of what the next tile reads and of what
/// this one writes.
void TileProgram::bring(const Tile& tile, std::size_t begin,
                        std::size_t end) const {
  constexpr std::size_t line = 64;
  const auto count = static_cast<std::size_t>(tile.at.rows * tile.at.columns);
  for (const Stream& stream : streams_) {
    const std::size_t bytes = slots_[stream.slot].element_bytes;
    const std::byte* const first =
        tile.pointers[stream.slot] + (stream.is_written ? 0 : count * bytes);
    for (std::size_t i = begin * bytes; i < end * bytes; i += line) {
      if (stream.is_written) {
        __builtin_prefetch(first + i, 1);
      } else {
        __builtin_prefetch(first + i, 0);
      }
    }
  }
}

/// A function that leaves memory idle, in pieces, while memory brings what
/// comes next.
void TileProgram::run_costly(const Instruction& step, const Tile& tile) const {
  constexpr std::size_t piece = 512;
  const auto count = static_cast<std::size_t>(tile.at.rows * tile.at.columns);
  const std::byte* x = tile.pointers[step.operands[0]];
  std::byte* to = tile.pointers[step.result];
  for (std::size_t i = 0; i < count; i += piece) {
    const std::size_t n = std::min(piece, count - i);
    bring(tile, i, i + n);
    const void* const operands[] = {x};
    step.tile(operands, to, n);
    x += n * slots_[step.operands[0]].element_bytes;
    to += n * slots_[step.result].element_bytes;
  }
}

/// Whether everything that an instruction touches lies without gaps. An element
/// a row beside whole rows does not, even where rows have one element: each row
/// takes its own.
bool TileProgram::is_dense(const Instruction& step, const Tile& tile) const {
  const std::int64_t row = tile.row(step);
  bool dense = tile.row_elements(slots_[step.result]) == row;
  for_each_operand(step, chains_, [&](std::uint32_t operand) {
    const Slot& slot = slots_[operand];
    dense = dense && (!slot.moves || (tile.row_elements(slot) == row &&
                                      slot.extent == step.extent));
  });
  return dense;
}

/// An elementwise operation: all rows at once if they lie without gaps.
void TileProgram::run_elements(const Instruction& step,
                               const Tile& tile) const {
  const auto row = static_cast<std::size_t>(tile.row(step));
  const void* operands[3];
  for (std::uint32_t i = 0; i < step.operand_count; ++i) {
    operands[i] = tile.pointers[step.operands[i]];
  }
  std::byte* to = tile.pointers[step.result];
  if (is_dense(step, tile)) {
    if (step.is_costly && !streams_.empty()) return run_costly(step, tile);
    step.tile(operands, to, static_cast<std::size_t>(tile.at.rows) * row);
    return;
  }
  for (std::int64_t i = 0; i < tile.at.rows; ++i) {
    step.tile(operands, to, row);
    to += tile.row_bytes(slots_[step.result]);
    for (std::uint32_t k = 0; k < step.operand_count; ++k) {
      operands[k] = static_cast<const std::byte*>(operands[k]) +
                    tile.row_bytes(slots_[step.operands[k]]);
    }
  }
}

/// Operations that follow one another, as one.
void TileProgram::run_chain(const Instruction& step, const Tile& tile) const {
  const TileChain& chain = chains_[step.chain];
  const std::size_t count = chain.steps.size();
  const std::byte* operands[kernels::greatest_chain];
  std::int64_t operand_row_bytes[kernels::greatest_chain];
  for (std::size_t i = 0; i < count; ++i) {
    operands[i] = tile.pointers[chain.operands[i]];
    operand_row_bytes[i] = tile.row_bytes(slots_[chain.operands[i]]);
  }
  const std::byte* x = tile.pointers[step.operands[0]];
  std::byte* to = tile.pointers[step.result];
  const bool dense = is_dense(step, tile);
  const std::int64_t pieces = dense ? 1 : tile.at.rows;
  const auto n = static_cast<std::size_t>(dense ? tile.at.rows * tile.row(step)
                                                : tile.row(step));
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const float* elements[kernels::greatest_chain];
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = reinterpret_cast<const float*>(operands[i]);
      operands[i] += operand_row_bytes[i];
    }
    chain.function(reinterpret_cast<const float*>(x), chain.steps.data(),
                   elements, count, reinterpret_cast<float*>(to), n);
    x += tile.row_bytes(slots_[step.operands[0]]);
    to += tile.row_bytes(slots_[step.result]);
  }
}

void TileProgram::run_products(const Instruction& step,
                               const Tile& tile) const {
  constexpr std::size_t together = 64;
  const auto rows = static_cast<std::size_t>(tile.at.rows);
  const auto columns = static_cast<std::size_t>(tile.at.columns);
  const auto* const a =
      reinterpret_cast<const float*>(tile.pointers[step.operands[0]]);
  const auto* const b =
      reinterpret_cast<const float*>(tile.pointers[step.operands[1]]);
  auto* const to = reinterpret_cast<float*>(tile.pointers[step.result]);
  double sums[together];
  for (std::size_t r = 0; r < rows; r += together) {
    const std::size_t count = std::min(together, rows - r);
    kernels::sum_rows_of_products(a + r * columns, b + r * columns, count,
                                  columns, sums);
    for (std::size_t i = 0; i < count; ++i) {
      to[r + i] = static_cast<float>(sums[i] / step.divisor);
    }
  }
}

void TileProgram::run_load(const Instruction& step, const Addresses& addresses,
                           const Tile& tile) const {
  const Load& load = loads_[step.load];
  std::byte* to = tile.pointers[step.result];
  const Rectangle& at = tile.at;
  if (step.extent == Extent::row || at.columns == columns_) {
    const std::int64_t row = step.extent == Extent::row ? 1 : columns_;
    load.function(addresses[load.node], load.layout, at.first_row * row,
                  static_cast<std::size_t>(at.rows * row), to);
    return;
  }
  for (std::int64_t i = 0; i < at.rows; ++i) {
    load.function(addresses[load.node], load.layout,
                  (at.first_row + i) * columns_ + at.first_column,
                  static_cast<std::size_t>(at.columns), to);
    to += at.columns *
          static_cast<std::int64_t>(slots_[step.result].element_bytes);
  }
}

void TileProgram::finish(const Addresses& addresses,
                         const std::byte* shared) const {
  for (const Total& total : totals_) {
    const auto* const sums =
        reinterpret_cast<const double*>(shared + total.scratch);
    double sum = sums[0];
    for (std::int64_t i = 1; i < tile_count(); ++i) sum += sums[i];
    sum /= total.divisor;
    std::byte* const to = addresses[total.node];
    if (total.dtype == f32) {
      *reinterpret_cast<float*>(to) = static_cast<float>(sum);
    } else {
      *reinterpret_cast<double*>(to) = sum;
    }
  }
}

void TileProgram::run(const Addresses& addresses, std::byte* shared,
                      std::byte* worker, std::int64_t begin,
                      std::int64_t end) const {
  auto* const pointers = reinterpret_cast<std::byte**>(worker);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (!slot.in_memory) {
      pointers[i] = worker + slot.scratch;
    } else if (!slot.moves) {
      pointers[i] = addresses[slot.node] + slot.first_byte;
    }
  }
  Product::Worker multiplier{shared, worker + pointers_bytes_};
  // What loads that repeat have last loaded: enough for tiles above or below
  // it that are no higher.
  Rectangle loaded{};
  for (std::int64_t index = begin; index < end; ++index) {
    const Tile tile{grid_.tile(index), pointers, columns_};
    const Rectangle& at = tile.at;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      if (!slot.in_memory || !slot.moves) continue;
      const std::int64_t first = slot.extent == Extent::full
                                     ? at.first_row * columns_ + at.first_column
                                     : at.first_row;
      pointers[i] = addresses[slot.node] + slot.first_byte +
                    first * static_cast<std::int64_t>(slot.element_bytes);
    }
    const bool is_loaded =
        index != begin && at.first_column == loaded.first_column &&
        at.columns == loaded.columns && at.rows <= loaded.rows;
    if (!is_loaded) loaded = at;
    for (const Instruction& step : instructions_) {
      std::byte* const to = pointers[step.result];
      switch (step.kind) {
        case Instruction::Kind::tile:
          run_elements(step, tile);
          break;
        case Instruction::Kind::chain:
          run_chain(step, tile);
          break;
        case Instruction::Kind::products:
          run_products(step, tile);
          break;
        case Instruction::Kind::row:
        case Instruction::Kind::expand:
          step.row(pointers[step.operands[0]], to,
                   static_cast<std::size_t>(at.rows),
                   static_cast<std::size_t>(at.columns));
          break;
        case Instruction::Kind::load:
          if (!loads_[step.load].repeats || !is_loaded) {
            run_load(step, addresses, tile);
          }
          break;
        case Instruction::Kind::product:
          product_->multiply(addresses, multiplier, at, to,
                             tile.row_elements(slots_[step.result]));
          break;
        case Instruction::Kind::total: {
          const Total& total = totals_[step.total];
          sum_block_of(
              total.dtype, pointers[step.operands[0]],
              static_cast<std::size_t>(at.rows),
              reinterpret_cast<double*>(shared + total.scratch) + index);
          break;
        }
      }
    }
  }
}

}  // namespace topos::engines
