#include <cmath>
#include <limits>

#include "math/elementary.h"
#include "math/ln_kernel.h"

namespace topos::math {

namespace {

/// x is not a positive finite number.
template <class Float>
Float ln_special(Float x) {
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  if (x == Float{0}) return -infinity;
  if (x == infinity || std::isnan(x)) return x + x;
  return std::numeric_limits<Float>::quiet_NaN();
}

}  // namespace

float ln(float x) {
  if (!(x > 0.0f && x < std::numeric_limits<float>::infinity())) [[unlikely]] {
    return ln_special(x);
  }
  const double y = short_ln(x);
  // short_ln's 2^-49.5, doubled.
  if (rounding_is_doubtful(y, 32)) [[unlikely]] {
    return round_to_float(ln_pair(x));
  }
  return static_cast<float>(y);
}

double ln(double x) {
  if (!(x > 0.0 && x < std::numeric_limits<double>::infinity())) [[unlikely]] {
    return ln_special(x);
  }
  if (x < std::numeric_limits<double>::min()) [[unlikely]] {
    const DoubleDouble shift = {-54.0 * ln2_high, -54.0 * ln2_low};
    const DoubleDouble result = add(ln_pair(x * 0x1p54), shift);
    return result.high + result.low;
  }
  const DoubleDouble result = ln_pair(x);
  return result.high + result.low;
}

}  // namespace topos::math
