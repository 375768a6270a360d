// Chains of arithmetic: a small interpreter over a few vectors at a time, so
// that finding out what to do costs little beside doing it.

#include "kernels/chain.h"

#include <algorithm>

#include "kernels/elementary.h"
#include "kernels/simd_targets.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/chain.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, or it would be compiled for one target only.
#include <hwy/highway.h>

#include "kernels/arithmetic-inl.h"
#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace topos::kernels::HWY_NAMESPACE {
namespace {

#if TOPOS_VECTORS
namespace hn = hwy::HWY_NAMESPACE;

using Floats = Tag<float>;
using Vector = hn::Vec<Floats>;
inline constexpr std::size_t width = hn::MaxLanes(Floats());

/// Elements that go through a chain with functions together.
inline constexpr std::size_t piece = 512;

/// Whole vectors that lie one after another.
template <std::size_t count>
struct Vectors {
  static constexpr std::size_t elements = count * width;
  Vector v[count];

  // Spelled out, or GCC compiles it for the target that is left in the end.
  HWY_INLINE Vectors() = default;

  HWY_INLINE void load(const float* x, std::size_t i, std::size_t) {
    TOPOS_UNROLL
    for (std::size_t k = 0; k < count; ++k) {
      v[k] = hn::LoadU(Floats(), x + i + k * width);
    }
  }
  HWY_INLINE void store(float* y, std::size_t i, std::size_t) const {
    TOPOS_UNROLL
    for (std::size_t k = 0; k < count; ++k) {
      hn::StoreU(v[k], Floats(), y + i + k * width);
    }
  }
  HWY_INLINE void fill(float x) {
    TOPOS_UNROLL
    for (std::size_t k = 0; k < count; ++k) v[k] = hn::Set(Floats(), x);
  }
  template <class Op>
  HWY_INLINE void apply(const Vectors& b) {
    TOPOS_UNROLL
    for (std::size_t k = 0; k < count; ++k) v[k] = Op::of(v[k], b.v[k]);
  }
  template <class Op>
  HWY_INLINE void apply() {
    TOPOS_UNROLL
    for (std::size_t k = 0; k < count; ++k) v[k] = Op::of(v[k]);
  }
};

/// The first elements of one vector.
struct Part : Vectors<1> {
  HWY_INLINE Part() = default;

  HWY_INLINE void load(const float* x, std::size_t i, std::size_t n) {
    v[0] = load_first(Floats(), x + i, n);
  }
  HWY_INLINE void store(float* y, std::size_t i, std::size_t n) const {
    store_first(Floats(), v[0], y + i, n);
  }
};

template <class Op>
struct Swapped {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return Op::of(b, a);
  }
};

/// What does not depend on the order of its operands ignores it.
template <class Block>
HWY_INLINE void run_step(const ChainStep& step, Block& value,
                         const Block& operand) {
  switch (step.op) {
    case Arithmetic::add:
      return value.template apply<Add>(operand);
    case Arithmetic::sub:
      if (step.is_second) return value.template apply<Swapped<Sub>>(operand);
      return value.template apply<Sub>(operand);
    case Arithmetic::mul:
      return value.template apply<Mul>(operand);
    case Arithmetic::div:
      if (step.is_second) return value.template apply<Swapped<Div>>(operand);
      return value.template apply<Div>(operand);
    case Arithmetic::maximum:
      return value.template apply<Maximum>(operand);
    case Arithmetic::minimum:
      return value.template apply<Minimum>(operand);
    case Arithmetic::masked_product:
      return value.template apply<MaskedProduct>(operand);
    case Arithmetic::neg:
      return value.template apply<Neg>();
    case Arithmetic::abs:
      return value.template apply<Abs>();
    case Arithmetic::sqrt:
      return value.template apply<Sqrt>();
    case Arithmetic::relu:
      return value.template apply<Relu>();
    case Arithmetic::erf:
    case Arithmetic::logistic:
      return;  // between blocks
  }
}

/// Elements [i, i + n).
template <class Block>
HWY_INLINE void run_block(const float* x, const ChainStep* steps,
                          const float* const* operands, std::size_t count,
                          float* y, std::size_t i, std::size_t n) {
  Block value;
  value.load(x, i, n);
  Block aside = value;
  for (std::size_t s = 0; s < count; ++s) {
    Block operand = value;
    // The common ones first.
    const auto kind = steps[s].operand;
    if (kind == ChainStep::Operand::scalar) {
      operand.fill(*operands[s]);
    } else if (kind == ChainStep::Operand::elements) {
      operand.load(operands[s], i, n);
    } else if (kind == ChainStep::Operand::aside) {
      operand = aside;
    } else if (kind == ChainStep::Operand::turn) {
      aside = value;
      value.load(operands[s], i, n);
      continue;
    }
    run_step(steps[s], value, operand);
  }
  value.store(y, i, n);
}

/// Steps that are arithmetic.
void run_arithmetic(const float* x, const ChainStep* steps,
                    const float* const* operands, std::size_t count, float* y,
                    std::size_t n) {
  using Block = Vectors<4>;
  std::size_t i = 0;
  for (; i + Block::elements <= n; i += Block::elements) {
    run_block<Block>(x, steps, operands, count, y, i, Block::elements);
  }
  for (; i < n; i += width) {
    run_block<Part>(x, steps, operands, count, y, i, HWY_MIN(width, n - i));
  }
}

bool is_function(const ChainStep& step) {
  return step.op == Arithmetic::erf || step.op == Arithmetic::logistic;
}

void run_function(Arithmetic op, const float* x, float* y, std::size_t n) {
  if (op == Arithmetic::erf) {
    erf(x, y, n);
  } else {
    logistic(x, y, n);
  }
}

/// Functions want many vectors at a time: a piece of elements goes through all
/// steps, those before, between and behind functions as chains of their own.
void run_piece(const float* x, const ChainStep* steps,
               const float* const* operands, std::size_t count, float* y,
               std::size_t n) {
  HWY_ALIGN float values[piece];
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin;
    while (end < count && !is_function(steps[end])) ++end;
    if (end != begin) {
      float* const to = end == count ? y : values;
      run_arithmetic(x, steps + begin, operands + begin, end - begin, to, n);
      x = to;
    }
    if (end != count) {
      float* const to = end + 1 == count ? y : values;
      run_function(steps[end].op, x, to, n);
      x = to;
    }
    begin = end + 1;
  }
}

void run_chain(const float* x, const ChainStep* steps,
               const float* const* operands, std::size_t count, float* y,
               std::size_t n) {
  if (std::none_of(steps, steps + count, is_function)) {
    return run_arithmetic(x, steps, operands, count, y, n);
  }
  const float* at[greatest_chain];
  for (std::size_t i = 0; i < n; i += piece) {
    for (std::size_t s = 0; s < count; ++s) {
      const auto kind = steps[s].operand;
      const bool moves = kind == ChainStep::Operand::elements ||
                         kind == ChainStep::Operand::turn;
      at[s] = moves ? operands[s] + i : operands[s];
    }
    run_piece(x + i, steps, at, count, y + i, std::min(piece, n - i));
  }
}
#endif

ChainFunction find_chain() {
#if TOPOS_VECTORS
  return run_chain;
#else
  return nullptr;
#endif
}

}  // namespace
}  // namespace topos::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace topos::kernels {

HWY_EXPORT(find_chain);

ChainFunction chain_function() {
  apply_target_cap();
  return HWY_DYNAMIC_DISPATCH(find_chain)();
}

}  // namespace topos::kernels

#endif  // HWY_ONCE
