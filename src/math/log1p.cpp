#include <cmath>
#include <limits>

#include "math/elementary.h"
#include "math/ln_kernel.h"

namespace topos::math {

float log1p(float x) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (!(x > -1.0f && x < infinity)) [[unlikely]] {
    if (x == -1.0f) return -infinity;
    if (x == infinity || std::isnan(x)) return x + x;
    return std::numeric_limits<float>::quiet_NaN();
  }
  const DoubleDouble sum = two_sum(1.0, static_cast<double>(x));
  // sum.low / sum.high, in effect: unless |x| < 2^-28 it is nothing.
  const double low = x < 1.0f ? sum.low : 0.0;
  const double y = short_ln(sum.high) + low;
  // short_ln reduces a sum of more than 36 bits with an error of 2^-53, and
  // is 2^-9 at least where it does: 2^-44; with the rest below 2^-43.
  if (rounding_is_doubtful(y, 1024)) [[unlikely]] {
    return round_to_float(ln_pair(sum.high, sum.low));
  }
  return std::copysign(static_cast<float>(y), x);
}

double log1p(double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::fabs(x) < 0x1p-54) return x;
  if (!(x > -1.0 && x < infinity)) [[unlikely]] {
    if (x == -1.0) return -infinity;
    if (x == infinity || std::isnan(x)) return x + x;
    return std::numeric_limits<double>::quiet_NaN();
  }
  const DoubleDouble sum = two_sum(1.0, x);
  const double low = x < 0x1p100 ? sum.low : 0.0;
  const DoubleDouble result = ln_pair(sum.high, low);
  return result.high + result.low;
}

}  // namespace topos::math
