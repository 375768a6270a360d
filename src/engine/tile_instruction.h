#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/group.h"
#include "engine/loads.h"
#include "engine/row_formula.h"
#include "kernels/chain.h"
#include "ops/elementwise.h"

/// \file
/// What a tile program is made of.

namespace topos::engines {

/// The elements of a value in a tile: memory that moves on with the tiles
/// (unless it is one element for all), or scratch that stays.
struct TileSlot {
  bool in_memory = false;
  bool moves = true;            // in memory: with the tiles
  bool is_kept = false;         // in scratch: from tile to tile
  std::uint32_t node = 0;       // in memory: whose elements
  std::int64_t first_byte = 0;  // in memory: of the layout's first element
  std::size_t scratch = 0;      // in scratch: from the worker's first byte
  std::size_t element_bytes = 0;
  Extent extent = Extent::full;
};

struct TileLoad {
  LoadFunction function;
  std::uint32_t node;
  std::size_t slot;
  Layout layout;
  bool repeats;  // the same elements in each tile: loaded once
};

struct TileInstruction {
  enum class Kind : std::uint8_t {
    tile,
    chain,
    row,
    products,  // the sum of a row of products
    expand,
    load,
    product,
    total
  };
  Kind kind = Kind::tile;
  Extent extent = Extent::full;
  bool is_costly = false;  // a function of one argument, no cheap one
  ops::TileFunction tile = nullptr;
  RowFunction row = nullptr;
  std::uint32_t operands[3] = {};  // slots
  std::uint32_t operand_count = 0;
  std::uint32_t result = 0;
  std::uint32_t load = 0;
  std::uint32_t chain = 0;
  std::uint32_t total = 0;
  double divisor = 0;  // of a sum of rows of f32; 0 for all else
  /// Arithmetic of f32, which can be a step of a chain; which operands are one
  /// element.
  std::optional<kernels::Arithmetic> arithmetic;
  kernels::Scalars scalars = 0;
};

/// The operations that follow one another in a chain, on operands[0] of its
/// instruction.
struct TileChain {
  kernels::ChainFunction function;
  std::vector<kernels::ChainStep> steps;
  std::vector<std::uint32_t> operands;  // slots, one a step
};

/// Calls f(slot) for each slot that an instruction reads.
template <class F>
void for_each_operand(const TileInstruction& instruction,
                      const std::vector<TileChain>& chains, F f) {
  for (std::uint32_t i = 0; i < instruction.operand_count; ++i) {
    f(instruction.operands[i]);
  }
  if (instruction.kind != TileInstruction::Kind::chain) return;
  const TileChain& chain = chains[instruction.chain];
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const auto operand = chain.steps[i].operand;
    if (operand == kernels::ChainStep::Operand::elements ||
        operand == kernels::ChainStep::Operand::scalar ||
        operand == kernels::ChainStep::Operand::turn) {
      f(chain.operands[i]);
    }
  }
}

/// Makes chains of arithmetic whose intermediate values nobody else reads, and
/// sums of products that only the sum reads.
/// \param columns  of the group
void make_chains(std::vector<TileInstruction>& instructions,
                 const std::vector<TileSlot>& slots,
                 std::vector<TileChain>& chains, std::int64_t columns);

}  // namespace topos::engines
