#include <cmath>
#include <limits>

#include "math/elementary.h"
#include "math/exp_kernel.h"

namespace topos::math {

namespace {

float exp_accurate(float x) {
  if (std::isnan(x)) return x + x;
  // Beyond, even the midpoints of overflow and underflow are far away.
  if (x > 100.0f) return std::numeric_limits<float>::infinity();
  if (x < -120.0f) return 0.0f;
  const ScaledPair result = exp_pair({x, 0.0});
  return round_to_float(result.significand, result.exponent);
}

}  // namespace

float exp(float x) {
  if (std::fabs(x) < 87.0f) [[likely]] {
    const double y = short_exp2(static_cast<double>(x) * steps_per_unit);
    // short_exp2's 2^-44 and the rounding of z make less than 2^-43 of y.
    if (!rounding_is_doubtful(y, 1024)) [[likely]] {
      return static_cast<float>(y);
    }
  }
  return exp_accurate(x);
}

double exp(double x) {
  if (!(std::fabs(x) < 746.0)) {
    if (std::isnan(x)) return x + x;
    return x > 0.0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
  const ReducedExponent reduced = reduce_exponent({x, 0.0});
  const double r = reduced.r.high;
  // r^2 / 2 to r^6 / 6!; the first term beyond is 2^-65.
  const double rest =
      r * r *
      (0.5 +
       r * (0x1.5555555555555p-3 +
            r * (0x1.5555555555555p-5 +
                 r * (0x1.1111111111111p-7 + r * 0x1.6c16c16c16c17p-10))));
  const double p = r + (reduced.r.low + rest);
  const int i = reduced.n & 63;
  const DoubleDouble result = {exp2_high[i], exp2_low[i] + exp2_high[i] * p};
  return scale(result, reduced.n >> 6);
}

}  // namespace topos::math
