#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace topos::engines {

/// A piece of the arena, needed from group `first` to group `last`.
struct Block {
  std::size_t bytes = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t offset = 0;  // the result
};

/// Gives every block an offset such that blocks alive at once do not overlap;
/// in the order of their first groups, each in the gap that fits it best.
/// \return the bytes of the arena
/// \throws RuntimeError  they overflow
std::size_t place_blocks(std::vector<Block>& blocks);

}  // namespace topos::engines
