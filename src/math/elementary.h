#pragma once

/// The elementary functions whose results are, by definition, those of topos.
///
/// `float`: correctly rounded. The result is the mathematical value of the
/// function at the given x, rounded once, to nearest even, subnormal results
/// included. Functions of one argument are checked at all 2^32 inputs
/// (tests/math/sweep.cpp); pow is so by construction (pow.cpp).
///
/// `double`: within 1 ulp, in fact within 0.52 ulp wherever it was measured,
/// and the same bits on every machine: one fixed sequence of IEEE additions,
/// multiplications, divisions and square roots, never fused. The files that
/// define these functions are compiled with -ffp-contract=off.
///
/// Both: rounding to nearest is in force and subnormals are kept; errno is
/// never read or written, and the exception flags mean nothing. A NaN operand
/// gives a quiet NaN of unspecified bits (but see pow). Method throughout:
/// reduce the argument by a table, sum a short series, and carry the rounding
/// errors in a second double where they matter [Muller et al., Handbook of
/// Floating-Point Arithmetic, 2nd ed., ch. 4 and 10]; in float, evaluate in
/// double, and only if the error bound straddles a rounding boundary again in
/// pairs of doubles [Ziv 1991].
namespace topos::math {

/// e^x. exp(+-0) = 1, exp(-inf) = +0, exp(+inf) = +inf.
float exp(float x);
double exp(double x);

/// e^x - 1, without cancellation near 0. expm1(+-0) = +-0, expm1(-inf) = -1,
/// expm1(+inf) = +inf.
float expm1(float x);
double expm1(double x);

/// The natural logarithm. ln(1) = +0, ln(+-0) = -inf, ln(+inf) = +inf;
/// ln(x) is NaN for x < 0.
float ln(float x);
double ln(double x);

/// ln(1 + x), without cancellation near 0. log1p(+-0) = +-0, log1p(-1) = -inf,
/// log1p(+inf) = +inf; NaN for x < -1.
float log1p(float x);
double log1p(double x);

/// The hyperbolic tangent. Odd; tanh(+-0) = +-0, tanh(+-inf) = +-1.
float tanh(float x);
double tanh(double x);

/// 1 / (1 + e^-x). logistic(+-0) = 1/2, logistic(-inf) = +0,
/// logistic(+inf) = 1.
float logistic(float x);
double logistic(double x);

/// 2 / sqrt(pi) times the integral of e^(-t^2) over [0, x] [DLMF 7.2.1].
/// Odd; erf(+-0) = +-0, erf(+-inf) = +-1.
float erf(float x);
double erf(double x);

/// x^(-1/2). rsqrt(+0) = +inf, rsqrt(-0) = -inf (as 1 / sqrt(-0)),
/// rsqrt(+inf) = +0; NaN for x < 0.
float rsqrt(float x);
double rsqrt(double x);

/// Sine and cosine, x in radians, of any magnitude: the reduction is by as
/// many bits of 2/pi as x needs. sin(+-0) = +-0, cos(+-0) = 1; NaN at +-inf.
float sin(float x);
double sin(double x);
float cos(float x);
double cos(double x);

/// x to the power y, with the special values of IEEE 754-2019, 9.2.1:
/// pow(x, +-0) = 1 and pow(1, y) = 1 even for NaN; pow(-1, +-inf) = 1;
/// for x < 0, y must be an integer (else NaN), and an odd y keeps the sign;
/// pow(+-0, y) is +0 for y > 0 and +inf for y < 0, with the sign of x where y
/// is an odd integer; pow(x, +-inf) is +0 or +inf as |x| < 1 or > 1.
float pow(float x, float y);
double pow(double x, double y);

}  // namespace topos::math
