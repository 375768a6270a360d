#include <cmath>

#include "math/double_double.h"
#include "math/elementary.h"
#include "math/erf_table.h"

// Piecewise polynomials on intervals of 1/8: in float of erf(x) / x, which
// keeps the relative error near 0; in pairs of doubles the odd series for
// |x| < 1/8 and polynomials of erf from there to 6, where erf is 1.

namespace topos::math {

namespace {

/// erf |x|, relative error below 2^-66; 2^-200 < |x| < 6.
DoubleDouble erf_pair(double x) {
  const double magnitude = std::fabs(x);
  if (magnitude < 0.125) {
    const DoubleDouble square = two_product(magnitude, magnitude);
    double rest = erf_series[10];
    for (int k = 9; k >= 2; --k) rest = erf_series[k] + square.high * rest;
    const DoubleDouble second =
        fast_two_sum(erf_series[1], erf_series_low[1] + square.high * rest);
    const DoubleDouble sum =
        add({erf_series[0], erf_series_low[0]}, multiply(second, square));
    return multiply(sum, magnitude);
  }
  const int i = static_cast<int>(8.0 * magnitude);
  const double t = magnitude - (i + 0.5) * 0.125;  // exact
  const double* tail = erf_tail[i - 1];
  double rest = tail[10];
  for (int k = 9; k >= 0; --k) rest = tail[k] + t * rest;
  DoubleDouble sum = {t * rest, 0.0};
  for (int k = 3; k >= 0; --k) {
    sum = add(sum, {erf_high[i - 1][k], erf_low[i - 1][k]});
    if (k != 0) sum = multiply(sum, t);
  }
  return sum;
}

float erf_accurate(float x) {
  const float magnitude = std::fabs(x);
  if (std::isnan(x) || x == 0.0f) return x + x;
  if (magnitude >= 4.0f) return std::copysign(1.0f, x);
  // Subnormal results come through here: they are normal doubles.
  return std::copysign(round_to_float(erf_pair(x)), x);
}

}  // namespace

float erf(float x) {
  const float magnitude = std::fabs(x);
  if (magnitude < 4.0f && magnitude > 0x1p-125f) [[likely]] {
    const double a = magnitude;
    const int i = static_cast<int>(8.0 * a);
    const double t = a - (i + 0.5) * 0.125;
    const double* c = erf_short[i];
    const double square = t * t;
    const double fourth = square * square;
    const double ratio =
        ((c[0] + t * c[1]) + square * (c[2] + t * c[3])) +
        fourth * (((c[4] + t * c[5]) + square * (c[6] + t * c[7])) +
                  fourth * (c[8] + t * c[9]));
    const double y = a * ratio;
    if (!rounding_is_doubtful(y, 64)) [[likely]] {
      return std::copysign(static_cast<float>(y), x);
    }
  }
  return erf_accurate(x);
}

double erf(double x) {
  const double magnitude = std::fabs(x);
  if (magnitude < 0x1p-100) {
    // The linear term, away from underflow; 0 keeps its sign.
    if (x == 0.0) return x;
    const DoubleDouble result =
        multiply({erf_series[0], erf_series_low[0]}, magnitude * 0x1p500);
    return std::copysign(scale(result, -500), x);
  }
  if (magnitude >= 6.0) return std::copysign(1.0, x);
  if (std::isnan(x)) return x + x;
  const DoubleDouble result = erf_pair(x);
  return std::copysign(result.high + result.low, x);
}

}  // namespace topos::math
