#pragma once

#include <optional>

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

/// The operation as a kernel of elementwise arithmetic, if it is one.
std::optional<kernels::Arithmetic> arithmetic_of(const ops::Any& op);

}  // namespace topos::engines
