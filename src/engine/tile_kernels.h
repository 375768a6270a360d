#pragma once

#include "kernels/elementwise.h"
#include "ops/catalog.h"

/// \file
/// Which elementwise operations have vectorized kernels.

namespace topos::engines {

/// The kernel of an operation whose last operand is of `dtype`, where the
/// operands in `scalars` are one element, repeated. Null where there is none:
/// the operation's own value runs over the tile, and scalars are spelled out.
ops::TileFunction tile_kernel(const ops::Any& op, DType dtype,
                              kernels::Scalars scalars);

}  // namespace topos::engines
