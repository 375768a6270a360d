#include <cmath>
#include <limits>

#include "math/elementary.h"
#include "math/exp_kernel.h"

namespace topos::math {

namespace {

float expm1_accurate(float x) {
  if (std::isnan(x)) return x + x;
  if (x > 100.0f) return std::numeric_limits<float>::infinity();
  if (x < -30.0f) return -1.0f;  // e^-30 is less than 2^-43
  if (std::fabs(x) < 0x1p-40f) {
    // x + x^2 / 2: to the right of x by less than half an ulp.
    return x;
  }
  return round_to_float(exp_minus_one_pair({x, 0.0}));
}

}  // namespace

float expm1(float x) {
  if (std::fabs(x) < 87.0f) [[likely]] {
    const double y =
        short_exp2_minus_one(static_cast<double>(x) * steps_per_unit);
    // The kernel's 2^-44.5, z's rounding and the last sum: below 2^-43. A
    // subnormal y is x (1 + x / 2), doubtful never, and rounds to x.
    if (!rounding_is_doubtful(y, 1024)) [[likely]] {
      return std::copysign(static_cast<float>(y), x);
    }
  }
  return expm1_accurate(x);
}

double expm1(double x) {
  if (!(std::fabs(x) < 0x1p-54)) {
    if (x < -50.0) return -1.0;
    if (x <= 500.0) {
      const DoubleDouble result = exp_minus_one_pair({x, 0.0});
      return result.high + result.low;
    }
    return exp(x);  // NaN too
  }
  return x;
}

}  // namespace topos::math
