// Casts between f32 and the 16-bit types with the bits of topos/half.h, on
// every target.

#pragma once

#include <cstddef>

#include "topos/dtype.h"

namespace topos::kernels {

/// n elements of x[0] to y, without gaps; as an elementwise operation's loop.
using Conversion = void (*)(const void* const* x, void* y, std::size_t n);

/// Null where `from` and `to` are not f32 and one of bf16 and f16.
Conversion conversion(DType from, DType to);

}  // namespace topos::kernels
