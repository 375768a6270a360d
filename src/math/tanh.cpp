#include <cmath>

#include "math/elementary.h"
#include "math/exp_kernel.h"

// tanh x = (e^2x - 1) / (e^2x - 1 + 2) for x >= 0 [DLMF 4.28.2], where
// e^2x - 1 has no cancellation; odd.

namespace topos::math {

namespace {

/// tanh |x|, relative error below 2^-66; 2^-100 < |x| < 40.
DoubleDouble tanh_pair(double x) {
  const DoubleDouble p = exp_minus_one_pair({2.0 * std::fabs(x), 0.0});
  return divide(p, add(p, 2.0));
}

float tanh_accurate(float x) {
  if (std::isnan(x)) return x + x;
  return std::copysign(round_to_float(tanh_pair(x)), x);
}

}  // namespace

float tanh(float x) {
  const float magnitude = std::fabs(x);
  // From 9.02 on the result rounds to 1; a NaN takes 10 here and is caught
  // below.
  const double clamped = magnitude < 10.0f ? magnitude : 10.0f;
  const double p = short_exp2_minus_one(clamped * (2.0 * steps_per_unit));
  const double y = p / (p + 2.0);
  // Below 2^-43 of y. Where the float is subnormal y is x (1 - x^2 / 3),
  // never doubtful, and rounds to x.
  if (rounding_is_doubtful(y, 1024) || magnitude != magnitude) [[unlikely]] {
    return tanh_accurate(x);
  }
  return std::copysign(static_cast<float>(y), x);
}

double tanh(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude > 0x1p-28)) return x;  // x^3 / 3 is below 2^-57 of x
  if (magnitude > 22.0) return std::copysign(1.0, x);
  if (std::isnan(x)) return x + x;
  const DoubleDouble result = tanh_pair(x);
  return std::copysign(result.high + result.low, x);
}

}  // namespace topos::math
