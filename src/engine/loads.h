#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/layout.h"

/// \file
/// How elements that are not read where they lie come into a tile.

namespace topos::engines {

/// Elements [start, start + n) of a layout in row-major order.
using LoadFunction = void (*)(const std::byte* base, const Layout& layout,
                              std::int64_t start, std::size_t n, std::byte* to);
LoadFunction load_function(DType dtype);

/// Repeats each of `rows` elements `columns` times.
using ExpandFunction = void (*)(const std::byte* x, std::byte* y,
                                std::size_t rows, std::size_t columns);
ExpandFunction expand_function(DType dtype);

}  // namespace topos::engines
