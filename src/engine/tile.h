#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/group.h"
#include "engine/product.h"
#include "engine/tile_instruction.h"

/// \file
/// A group as a small register program over tiles that stay in L1, as
/// vectorized query engines run theirs: each instruction works on a whole tile
/// before the next one does.

namespace topos::engines {

class TileProgram {
 public:
  /// \param stored  by node, whether somebody outside the group reads it
  /// \param stays   by node, whether its elements stay from step to step
  TileProgram(const Program& program, const Grouping& grouping,
              const Group& group, const std::vector<bool>& stored,
              const std::vector<bool>& stays, Numerics numerics);

  /// Bytes of scratch of each worker.
  std::size_t worker_bytes() const noexcept { return worker_bytes_; }
  /// Bytes of scratch that workers share: right operands packed ahead, sums of
  /// blocks.
  std::size_t shared_bytes() const noexcept {
    if (!product_) return totals_bytes_;
    return product_->keeps_right() ? 0 : product_->ahead_bytes();
  }
  std::int64_t tile_count() const noexcept { return grid_.count(); }
  /// In how many parts so many threads do best.
  int parts(int threads) const noexcept;
  /// Roughly the nanoseconds of one thread for everything.
  double cost() const noexcept { return cost_; }

  /// The group's matrix product, if it has one.
  const Product* product() const noexcept {
    return product_ ? &*product_ : nullptr;
  }
  /// Parts that `pack` divides into.
  std::size_t panel_count() const noexcept {
    return product_ ? product_->panel_count() : 0;
  }
  void pack(const Addresses& addresses, std::byte* shared,
            kernels::Range panels) const;

  /// Tiles [begin, end).
  void run(const Addresses& addresses, std::byte* shared, std::byte* worker,
           std::int64_t begin, std::int64_t end) const;

  /// The sums of everything, once all tiles have run.
  void finish(const Addresses& addresses, const std::byte* shared) const;

  /// An operand that is read where it lies, whole and in no other way, so that
  /// a result may overwrite it: the member at which it is read last.
  struct DirectLoad {
    std::uint32_t node;
    std::size_t last_read;
    Extent extent;
  };
  /// By node, ascending.
  const std::vector<DirectLoad>& direct_loads() const noexcept {
    return direct_loads_;
  }

 private:
  using Slot = TileSlot;
  using Load = TileLoad;
  using Instruction = TileInstruction;

  /// The sum of all elements, a block of it in each tile.
  struct Total {
    DType dtype = f32;
    std::uint32_t node = 0;
    double divisor = 1;       // of a mean: the count
    std::size_t scratch = 0;  // of the blocks' sums, from the shared first byte
  };

  class Builder;

  /// One tile's slots: where their first elements lie, and how far apart
  /// their rows are.
  struct Tile;
  /// A slot in memory that tiles move over.
  struct Stream {
    std::uint32_t slot;
    bool is_written;
  };
  void bring(const Tile& tile, std::size_t begin, std::size_t end) const;
  void run_costly(const Instruction& step, const Tile& tile) const;
  bool is_dense(const Instruction& step, const Tile& tile) const;
  void run_elements(const Instruction& step, const Tile& tile) const;
  void run_chain(const Instruction& step, const Tile& tile) const;
  void run_products(const Instruction& step, const Tile& tile) const;
  void run_load(const Instruction& step, const Addresses& addresses,
                const Tile& tile) const;

  std::int64_t columns_ = 0;
  TileGrid grid_;
  std::vector<Slot> slots_;
  std::vector<Load> loads_;
  std::vector<Instruction> instructions_;
  std::vector<TileChain> chains_;
  std::vector<Stream> streams_;
  std::optional<Product> product_;
  std::vector<Total> totals_;
  std::size_t totals_bytes_ = 0;
  std::vector<DirectLoad> direct_loads_;
  std::size_t worker_bytes_ = 0;
  std::size_t pointers_bytes_ = 0;
  double cost_ = 0;
};

}  // namespace topos::engines
