// Chains of elementwise arithmetic in one pass, intermediate values in
// registers: what each step alone would give, without a load and a store a
// step.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise.h"

namespace topos::kernels {

/// value = op(value, operand), or op(operand, value); of one argument,
/// op(value).
struct ChainStep {
  enum class Operand : std::uint8_t {
    none,
    elements,  // an array
    scalar,    // one element
    itself     // the value
  };
  Arithmetic op = Arithmetic::add;
  Operand operand = Operand::none;
  bool is_second = false;  // the value is
};

/// y = the value of a chain that starts with x, of f32; operands[i] belongs to
/// step i. y may be x or an operand.
using ChainFunction = void (*)(const float* x, const ChainStep* steps,
                               const float* const* operands, std::size_t count,
                               float* y, std::size_t n);

/// Null where there are no vectors.
ChainFunction chain_function();

}  // namespace topos::kernels
