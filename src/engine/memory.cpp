#include "engine/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "topos/error.h"

namespace topos::engines {

namespace {
constexpr std::size_t alignment = 64;
}

std::size_t place_blocks(std::vector<Block>& blocks) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     if (blocks[a].first != blocks[b].first) {
                       return blocks[a].first < blocks[b].first;
                     }
                     return blocks[a].bytes > blocks[b].bytes;
                   });
  std::map<std::size_t, std::size_t> gaps;  // offset to bytes, never adjacent
  std::multimap<std::uint32_t, std::uint32_t> alive;  // by last group
  std::size_t end = 0;

  const auto free_place = [&](std::size_t offset, std::size_t bytes) {
    auto next = gaps.lower_bound(offset);
    if (next != gaps.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = gaps.erase(next);
    }
    if (next != gaps.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    gaps.emplace(offset, bytes);
  };

  for (std::uint32_t index : order) {
    Block& block = blocks[index];
    while (!alive.empty() && alive.begin()->first < block.first) {
      const Block& dead = blocks[alive.begin()->second];
      free_place(dead.offset,
                 (dead.bytes + alignment - 1) / alignment * alignment);
      alive.erase(alive.begin());
    }
    const std::size_t bytes =
        (block.bytes + alignment - 1) / alignment * alignment;
    if (bytes == 0) continue;
    auto best = gaps.end();
    for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
      if (gap->second >= bytes &&
          (best == gaps.end() || gap->second < best->second)) {
        best = gap;
      }
    }
    if (best != gaps.end()) {
      block.offset = best->first;
      const std::size_t left = best->second - bytes;
      gaps.erase(best);
      if (left > 0) gaps.emplace(block.offset + bytes, left);
    } else {
      // The last gap, if it reaches the end, grows.
      block.offset = end;
      if (!gaps.empty()) {
        const auto tail = std::prev(gaps.end());
        if (tail->first + tail->second == end) {
          block.offset = tail->first;
          gaps.erase(tail);
        }
      }
      if (__builtin_add_overflow(block.offset, bytes, &end)) {
        throw RuntimeError("the plan's arena does not fit the address space");
      }
    }
    alive.emplace(block.last, index);
  }
  return end;
}

}  // namespace topos::engines
