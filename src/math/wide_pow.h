#pragma once

namespace topos::math {

/// x^y rounded once to float, by 320-bit integer arithmetic: the last resort
/// of pow (wide_pow.cpp). x positive, normal; y not 0; both of at most 24
/// significant bits, x^y in [2^-160, 2^140] and neither a float nor halfway
/// between two.
float wide_pow(double x, double y);

}  // namespace topos::math
