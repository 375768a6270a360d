#pragma once

#include <functional>
#include <span>
#include <vector>

#include "topos/tensor.h"

namespace topos::test {

/// A function of tensors whose result is f64.
using Function = std::function<Tensor(std::span<const Tensor>)>;

/// The cotangent of `x[at]`, which is f64, under the cotangent `dy` of the
/// result, by central differences of the fifth order:
///
///     (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h
///
/// with h = 2^-10 max(1, |x|), one element after the other. For a smooth f the
/// error is near 1e-11 of the greatest value in play.
Tensor differences(const Function& f, std::span<const Tensor> x, std::size_t at,
                   const Tensor& dy);

}  // namespace topos::test
