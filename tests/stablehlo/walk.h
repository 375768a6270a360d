#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "topos/shape.h"
#include "topos/tensor.h"

/// \file
/// Steps through the elements of a shape while positions in several arrays
/// follow, each with strides of its own. Most operations that move elements
/// are such a walk.

namespace topos::stablehlo_text {

/// Where index 0 lies, and how far neighbours along each axis are apart.
struct Track {
  std::int64_t start = 0;
  Strides strides;
};

/// The track of all elements of a shape in row-major order.
inline Track row_major(const Shape& shape) {
  return {0, row_major_strides(shape)};
}

/// Calls `f(positions)` for every index of `shape`, in row-major order, with
/// the position in each track.
template <std::size_t count, class F>
void walk(const Shape& shape, const std::array<Track, count>& tracks, F&& f) {
  std::array<std::int64_t, count> at = {};
  for (std::size_t i = 0; i < count; ++i) at[i] = tracks[i].start;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  std::array<std::int64_t, max_rank> index = {};
  for (;;) {
    f(at);
    int axis = shape.rank() - 1;
    for (; axis >= 0; --axis) {
      std::int64_t& i = index[static_cast<std::size_t>(axis)];
      for (std::size_t t = 0; t < count; ++t) {
        at[t] += tracks[t].strides[axis];
      }
      if (++i < shape[axis]) break;
      for (std::size_t t = 0; t < count; ++t) {
        at[t] -= tracks[t].strides[axis] * i;
      }
      i = 0;
    }
    if (axis < 0) return;
  }
}

/// Copies elements of `width` bytes from one track to another.
void copy_elements(const Shape& shape, std::size_t width,
                   const std::byte* source, const Track& from,
                   std::byte* target, const Track& to);

}  // namespace topos::stablehlo_text
