// The cheap elementwise operations, with exactly the bits of their definitions
// in src/ops (a NaN may be another NaN).
//
// Functions are looked up by operation and type, for the target that is in
// force at that time, and run without further dispatch.

#pragma once

#include <cstddef>
#include <cstdint>

namespace topos::kernels {

/// Over n elements without gaps: x[i] are the operands, y the result, which may
/// be one of the operands.
using ElementwiseFunction = void (*)(const void* const* x, void* y,
                                     std::size_t n);

enum class Number : std::uint8_t { f32, f64, i32 };

/// Operands that are one element, repeated: bit i is set for operand i.
using Scalars = unsigned;

/// What follows gives null where there is no kernel.

enum class Arithmetic : std::uint8_t {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  masked_product,
  neg,
  abs,
  sqrt,
  relu,
  // Of chains alone; see elementary.h for their functions.
  erf,
  logistic
};
ElementwiseFunction arithmetic_function(Arithmetic op, Number type,
                                        Scalars scalars);

/// The result is an array of bool.
enum class Comparison : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal
};
ElementwiseFunction comparison_function(Comparison op, Number type,
                                        Scalars scalars);

/// x[0] is an array of bool.
ElementwiseFunction select_function(Number type, Scalars scalars);

/// Between floats, and from i32.
ElementwiseFunction conversion_function(Number from, Number to);
/// From bool.
ElementwiseFunction conversion_function(Number to);

}  // namespace topos::kernels
