#pragma once

#include <cstdint>

#include "topos/shape.h"
#include "topos/tensor.h"

/// \file
/// Randomness is never hidden: a generator with the same numbers on every
/// machine for ever, and initializers that draw from it in row-major order.
///
/// Initializers compute in f64, by the formula that is written here and with
/// topos' own functions, and round once at the end, so that their bits are the
/// same on every machine, too. A generator passed by reference goes on where it
/// was; a seed stands for a fresh one.

namespace topos {

/// splitmix64 [Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
/// generators"], of period 2^64.
class SplitMix {
 public:
  explicit constexpr SplitMix(std::uint64_t state) noexcept : state_(state) {}

  constexpr std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, 1): the top 53 bits times 2^-53.
  constexpr double unit() noexcept {
    return static_cast<double>(next() >> 11) * 0x1p-53;
  }

  /// To be stored and resumed from.
  constexpr std::uint64_t state() const noexcept { return state_; }

 private:
  std::uint64_t state_;
};

/// Uniform between -scale and scale: (2u - 1) scale, one draw a sample.
/// \throws DTypeError  the dtype is not floating; nothing is drawn then
Tensor uniform(const Shape& shape, double scale, SplitMix& random,
               DType dtype = f32);
Tensor uniform(const Shape& shape, double scale, std::uint64_t seed,
               DType dtype = f32);

/// Normal with mean 0: (sqrt(-2 ln(1 - u1)) cos(2 pi u2)) deviation, two draws
/// a sample, u1 first [Box & Muller 1958].
/// \throws DTypeError  the dtype is not floating; nothing is drawn then
Tensor normal(const Shape& shape, double deviation, SplitMix& random,
              DType dtype = f32);
Tensor normal(const Shape& shape, double deviation, std::uint64_t seed,
              DType dtype = f32);

/// [in, out]: uniform within sqrt(6 / (in + out)) [Glorot & Bengio 2010];
/// rank 1: zeros, without draws.
/// \throws ShapeError  any other rank
/// \throws DTypeError  the dtype is not floating
Tensor xavier(const Shape& shape, SplitMix& random, DType dtype = f32);

/// [in, out]: normal with deviation sqrt(2 / in) [He et al. 2015]; rank 1:
/// zeros, without draws.
/// \throws ShapeError  any other rank
/// \throws DTypeError  the dtype is not floating
Tensor kaiming(const Shape& shape, SplitMix& random, DType dtype = f32);

}  // namespace topos
