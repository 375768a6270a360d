#include <cmath>
#include <limits>

#include "math/elementary.h"
#include "math/exp_kernel.h"

namespace topos::math {

namespace {

/// 1 / (1 + e^-x), relative error below 2^-65; |x| < 1000.
ScaledPair logistic_pair(double x) {
  if (std::fabs(x) < 0x1p-13) {
    // The float midpoints near 1/2 are x / 4 away from it, so the cubic term
    // decides: 1/2 + x / 4 - x^3 / 48 + x^5 / 480 - ...
    const DoubleDouble linear = fast_two_sum(0.5, 0.25 * x);
    const double cube = x * x * x;
    const double low = linear.low + cube * (x * x / 480.0 - 1.0 / 48.0);
    return {fast_two_sum(linear.high, low), 0};
  }
  const ScaledPair e = exp_pair({-std::fabs(x), 0.0});
  if (e.exponent < -75) {
    // 1 + e^-|x| is 1 within 2^-74.
    if (x < 0.0) return e;
    return {{1.0, -0x1p-76}, 0};
  }
  const double unit = power_of_two(e.exponent);
  const DoubleDouble power = {unit * e.significand.high,
                              unit * e.significand.low};
  const DoubleDouble one = {1.0, 0.0};
  return {divide(x < 0.0 ? power : one, add(power, 1.0)), 0};
}

float logistic_accurate(float x) {
  if (std::isnan(x)) return x + x;
  if (x > 100.0f) return 1.0f;
  if (x < -120.0f) return 0.0f;
  const ScaledPair result = logistic_pair(x);
  return round_to_float(result.significand, result.exponent);
}

}  // namespace

float logistic(float x) {
  if (std::fabs(x) < 87.0f) [[likely]] {
    const double e = short_exp2(static_cast<double>(x) * -steps_per_unit);
    const double y = 1.0 / (1.0 + e);
    // Below 2^-43 of y, as e's error is.
    if (!rounding_is_doubtful(y, 1024)) [[likely]] {
      return static_cast<float>(y);
    }
  }
  return logistic_accurate(x);
}

double logistic(double x) {
  if (!(std::fabs(x) < 746.0)) {
    if (std::isnan(x)) return x + x;
    return x > 0.0 ? 1.0 : 0.0;
  }
  const ScaledPair result = logistic_pair(x);
  return scale(result.significand, result.exponent);
}

}  // namespace topos::math
