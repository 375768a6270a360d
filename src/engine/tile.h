#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/group.h"
#include "engine/tile_instruction.h"
#include "kernels/matmul.h"

/// \file
/// A group as a small register program over tiles that stay in L1, as
/// vectorized query engines run theirs: each instruction works on a whole tile
/// before the next one does.

namespace topos::engines {

/// Where the elements of every node lie during a step, by node.
using Addresses = std::vector<std::byte*>;

class TileProgram {
 public:
  /// \param stored  by node, whether somebody outside the group reads it
  TileProgram(const Program& program, const Grouping& grouping,
              const Group& group, const std::vector<bool>& stored);

  /// Bytes of scratch of each worker.
  std::size_t worker_bytes() const noexcept { return worker_bytes_; }
  /// Bytes of scratch that workers share: packed right operands, sums of
  /// blocks.
  std::size_t shared_bytes() const noexcept { return shared_bytes_; }
  std::int64_t tile_count() const noexcept { return tile_count_; }
  /// Roughly the nanoseconds of one thread for everything.
  double cost() const noexcept { return cost_; }

  /// Parts that `pack` divides into.
  std::size_t panel_count() const noexcept { return panel_count_; }
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

  struct Product {
    DType dtype = f32;
    std::uint32_t left = 0;  // nodes
    std::uint32_t right = 0;
    Layout left_layout;
    Layout right_layout;
    kernels::MatmulShape shape = {};  // of one batch entry
    std::int64_t batch = 1;
    bool shared_right = true;      // one right operand for all entries
    std::size_t packed_bytes = 0;  // of one entry
  };

  /// The sum of all elements, a block of it in each tile.
  struct Total {
    DType dtype = f32;
    std::uint32_t node = 0;
    double divisor = 1;       // of a mean: the count
    std::size_t scratch = 0;  // of the blocks' sums, from the shared first byte
  };

  class Builder;

  template <class T>
  void pack_as(const Addresses& addresses, std::byte* shared,
               kernels::Range panels) const;
  template <class T>
  void multiply(const Addresses& addresses, const std::byte* shared,
                std::byte* worker, std::byte* to, std::int64_t first_row,
                std::int64_t rows) const;

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t tile_rows_ = 1;
  std::int64_t tile_count_ = 0;
  std::vector<Slot> slots_;
  std::vector<Load> loads_;
  std::vector<Instruction> instructions_;
  std::vector<TileChain> chains_;
  std::vector<Product> products_;  // none or one
  std::vector<Total> totals_;
  std::vector<DirectLoad> direct_loads_;
  std::size_t worker_bytes_ = 0;
  std::size_t shared_bytes_ = 0;
  std::size_t pointers_bytes_ = 0;
  std::size_t panel_count_ = 0;
  double cost_ = 0;
};

}  // namespace topos::engines
