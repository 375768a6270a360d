// Chains of elementwise arithmetic in one pass, intermediate values in
// registers: what each step alone would give, without a load and a store a
// step.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise.h"

namespace topos::kernels {

/// value = op(value, operand), or op(operand, value); of one argument,
/// op(value). A turn has no op.
struct ChainStep {
  enum class Operand : std::uint8_t {
    none,
    elements,  // an array
    scalar,    // one element
    itself,    // the value
    turn,      // an array: the value is put aside, and is this instead
    aside      // what was put aside
  };
  Arithmetic op = Arithmetic::add;
  Operand operand = Operand::none;
  bool is_second = false;  // the value is
};

/// Longer chains are cut: their operands are many streams.
inline constexpr std::size_t greatest_chain = 16;

/// y = the value of a chain that starts with x, of f32; operands[i] belongs to
/// step i. y may be x or an operand. Between a turn and what reads the value
/// that it puts aside are no functions; there are `greatest_chain` steps at
/// most.
using ChainFunction = void (*)(const float* x, const ChainStep* steps,
                               const float* const* operands, std::size_t count,
                               float* y, std::size_t n);

/// Null where there are no vectors.
ChainFunction chain_function();

}  // namespace topos::kernels
