#include <cmath>
#include <limits>

#include "math/double_double.h"
#include "math/elementary.h"

namespace topos::math {

// Two roundings to 53 bits, then one to 24: no float lies close enough to a
// midpoint for the first two to matter (the sweep visits all of them).
float rsqrt(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}

// One Newton step from the quotient, y + y (1 - x y^2) / 2, its bracket exact
// to 2^-104: what remains is the last rounding.
double rsqrt(double x) {
  if (!(x > 0.0 && x < std::numeric_limits<double>::infinity())) {
    return 1.0 / std::sqrt(x);
  }
  double unit = 1.0;
  if (x < 0x1p-500) {
    x *= 0x1p600;
    unit = 0x1p300;
  } else if (x > 0x1p500) {
    x *= 0x1p-600;
    unit = 0x1p-300;
  }
  const double y = 1.0 / std::sqrt(x);
  const DoubleDouble square = two_product(y, y);
  const DoubleDouble product = two_product(x, square.high);
  const double rest = ((1.0 - product.high) - product.low) - x * square.low;
  return (y + 0.5 * y * rest) * unit;
}

}  // namespace topos::math
