#pragma once

#include <optional>
#include <vector>

#include "ops/catalog.h"

/// \file
/// The 16-bit types are storage: an operation on them is computed in a wider
/// type and rounded once. The interpreter does so operation by operation,
/// plans by casts between them; no operation knows of it.

namespace topos::ops {

/// How an operation with operands of bf16 or f16 is computed.
struct Widening {
  /// The type that such operands are widened to.
  DType dtype = f32;
  /// Of the operation on widened operands. If the recorded result is of 16
  /// bits, this one is rounded to it.
  Type result;
};

/// Nothing if no operand is of 16 bits, or if the operation moves or converts
/// elements and computes nothing.
///
/// \param sums  what is accumulated in f64 whatever the dtype is widened to
///              this type. f64 rounds once, which is the definition
std::optional<Widening> widening(const Any& op, Operands<Type> x,
                                 DType sums = f64);

}  // namespace topos::ops
