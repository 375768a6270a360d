#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "math/elementary.h"
#include "math/wide_pow.h"
#include "reference.h"
#include "sampling.h"

namespace topos::math::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct PowRow {
  const char* note;
  double x;
  double y;
  double expected;
};

// IEEE 754-2019, 9.2.1, and exact powers.
// clang-format off
constexpr PowRow special_rows[] = {
    {"y zero, x NaN",             nan,    0.0,  1.0},
    {"y minus zero, x NaN",       nan,   -0.0,  1.0},
    {"y zero, x infinite",        inf,    0.0,  1.0},
    {"y zero, x zero",            0.0,    0.0,  1.0},
    {"x one, y NaN",              1.0,    nan,  1.0},
    {"x one, y infinite",         1.0,    inf,  1.0},
    {"x NaN",                     nan,    1.0,  nan},
    {"y NaN",                     2.0,    nan,  nan},
    {"x zero, y NaN",             0.0,    nan,  nan},
    {"minus one to infinity",    -1.0,    inf,  1.0},
    {"minus one to -infinity",   -1.0,   -inf,  1.0},
    {"small to infinity",         0.5,    inf,  0.0},
    {"small to -infinity",        0.5,   -inf,  inf},
    {"negative small to inf",    -0.5,    inf,  0.0},
    {"large to infinity",         2.0,    inf,  inf},
    {"large to -infinity",        2.0,   -inf,  0.0},
    {"negative large to -inf",   -2.0,   -inf,  0.0},
    {"zero to odd",               0.0,    3.0,  0.0},
    {"minus zero to odd",        -0.0,    3.0, -0.0},
    {"zero to even",              0.0,    2.0,  0.0},
    {"minus zero to even",       -0.0,    2.0,  0.0},
    {"minus zero to fraction",   -0.0,    0.5,  0.0},
    {"zero to negative odd",      0.0,   -3.0,  inf},
    {"-zero to negative odd",    -0.0,   -3.0, -inf},
    {"-zero to negative even",   -0.0,   -2.0,  inf},
    {"-zero to neg. fraction",   -0.0,   -0.5,  inf},
    {"zero to infinity",          0.0,    inf,  0.0},
    {"zero to -infinity",         0.0,   -inf,  inf},
    {"infinity to positive",      inf,    0.5,  inf},
    {"infinity to negative",      inf,   -0.5,  0.0},
    {"-infinity to odd",         -inf,    3.0, -inf},
    {"-infinity to even",        -inf,    2.0,  inf},
    {"-infinity to fraction",    -inf,    0.5,  inf},
    {"-infinity to neg. odd",    -inf,   -3.0, -0.0},
    {"-infinity to neg. even",   -inf,   -2.0,  0.0},
    {"negative to fraction",     -2.0,    0.5,  nan},
    {"negative to odd",          -2.0,    3.0, -8.0},
    {"negative to even",         -2.0,    4.0, 16.0},
    {"negative to -odd",         -2.0,   -1.0, -0.5},
    {"minus one to odd",         -1.0,    5.0, -1.0},
    {"minus one to large even",  -1.0,  1e30f,  1.0},
    {"identity",               0x1.8p-7,  1.0, 0x1.8p-7},
    {"square root",               9.0,    0.5,  3.0},
    {"eighth root",            6561.0,  0.125,  3.0},
    {"root, then cube",          16.0,   0.75,  8.0},
    {"overflow",                 10.0,   1e3f,  inf},
    {"negative overflow",       -10.0,  1001.0, -inf},
    {"underflow",                10.0,  -1e3f,  0.0},
    {"negative underflow",      -10.0, -1001.0, -0.0},
    {"huge y",                  1.125,  1e38f,  inf},
    {"huge y, small x",         0.875,  1e38f,  0.0},
    {"tiny y",                  1e30f, 1e-38f,  1.0},
};
// clang-format on

TEST(Pow, SpecialValues) {
  for (const PowRow& row : special_rows) {
    SCOPED_TRACE(row.note);
    EXPECT_PRED2([](float a, float b) { return same(a, b); },
                 pow(static_cast<float>(row.x), static_cast<float>(row.y)),
                 static_cast<float>(row.expected));
    EXPECT_PRED2([](double a, double b) { return same(a, b); },
                 pow(row.x, row.y), row.expected);
  }
}

/// x^y by MPFR; x > 0.
class PowReference {
 public:
  float operator()(float x, float y) {
    return reference_(std::pow(static_cast<double>(x), y),
                      [&](mpfr_ptr value) { fill(x, y, value); });
  }

  /// By MPFR in any case.
  float exact(float x, float y) {
    fill(x, y, value_.get());
    return mpfr_get_flt(value_.get(), MPFR_RNDN);
  }

  /// Units in the last place between a double result and x^y.
  double ulp_error(double x, double y, double result) {
    fill(x, y, value_.get());
    const double rounded = mpfr_get_d(value_.get(), MPFR_RNDN);
    if (same(rounded, result) && !std::isfinite(result)) return 0.0;
    const mpfr_exp_t unit =
        std::max<mpfr_exp_t>(mpfr_get_exp(value_.get()) - 53, -1074);
    mpfr_sub_d(value_.get(), value_.get(), result, MPFR_RNDN);
    mpfr_mul_2si(value_.get(), value_.get(), -unit, MPFR_RNDN);
    return std::fabs(mpfr_get_d(value_.get(), MPFR_RNDN));
  }

  std::uint64_t mpfr_calls() const { return reference_.mpfr_calls(); }

 private:
  void fill(double x, double y, mpfr_ptr value) {
    mpfr_set_d(x_.get(), x, MPFR_RNDN);
    mpfr_set_d(y_.get(), y, MPFR_RNDN);
    mpfr_pow(value, x_.get(), y_.get(), MPFR_RNDN);
  }

  FloatReference reference_;
  BigFloat x_{53};
  BigFloat y_{53};
  BigFloat value_{300};
};

void expect_rounded(PowReference& reference, float x, float y) {
  const float expected = reference(x, y);
  const float result = pow(x, y);
  if (same(result, expected)) return;
  ADD_FAILURE() << "pow(" << x << " = bits " << std::bit_cast<std::uint32_t>(x)
                << ", " << y << " = bits " << std::bit_cast<std::uint32_t>(y)
                << ") = " << result << ", expected " << expected;
}

// ln x of any size, and y such that x^y spreads over all floats and a little
// beyond.
TEST(Pow, SampledFloats) {
  std::mt19937_64 generator = seeded_generator();
  PowReference reference;
  std::uniform_real_distribution<double> exponent(-152.0, 130.0);
  std::uniform_real_distribution<float> near_one(0.5f, 2.0f);
  for (std::uint32_t i = 0; i < sample_size(3'000'000); ++i) {
    float x = near_one(generator);
    if (i % 3 == 0) {  // any positive float
      x = std::bit_cast<float>(
          static_cast<std::uint32_t>(generator() % 0x7f800000));
    } else if (i % 3 == 1) {  // 1 + some last bits
      x = std::bit_cast<float>(0x3f800000 +
                               static_cast<std::uint32_t>(generator() >> 33) /
                                   (1u << (generator() % 24 + 8)));
    }
    if (x <= 0.0f || x == 1.0f) continue;
    const auto y = static_cast<float>(exponent(generator) / std::log2(x));
    expect_rounded(reference, x, y);
    if (HasFailure()) return;
  }
}

// Squares, cubes, roots and reciprocals: x^y is close to a midpoint far more
// often than chance has it.
TEST(Pow, SmallExponents) {
  std::mt19937_64 generator = seeded_generator();
  PowReference reference;
  for (const float y : {2.0f, 3.0f, 4.0f, 5.0f, -1.0f, -2.0f, -3.0f, 0.5f,
                        -0.5f, 1.5f, 0.25f, 0.75f, 2.5f, 0.125f}) {
    for (std::uint32_t i = 0; i < sample_size(50'000); ++i) {
      expect_rounded(
          reference,
          std::bit_cast<float>(0x3f800000 +
                               static_cast<std::uint32_t>(generator() >> 40)),
          y);
    }
    if (HasFailure()) return;
  }
  // x^2 is 2^-48 off a midpoint: x = 2^23 + 2^22 + 1.
  expect_rounded(reference, 0xc00001p0f, 2.0f);
  expect_rounded(reference, 0xbfffffp0f, 2.0f);
}

// All m^n 2^e of at most 26 bits, so midpoints too, as powers n and as roots.
TEST(Pow, ExactPowers) {
  PowReference reference;
  int count = 0;
  for (std::uint32_t m = 3; m < (1u << 13); m += 2) {
    std::uint64_t power = m;
    for (int n = 1; n <= 16 && power < (1u << 26); ++n, power *= m) {
      if (is_sanitized && m > 200 && m % 50 != 1) continue;
      for (const int e : {-150, -149, -140, -30, -8, 0, 8, 64}) {
        const auto x = std::ldexp(static_cast<float>(m), e / n);
        expect_rounded(reference, x, static_cast<float>(n));
        expect_rounded(reference, x, static_cast<float>(-n));
        if (power < (1u << 24)) {
          for (const float root : {0.5f, 0.25f, 0.125f, 0.0625f}) {
            const auto y = std::ldexp(static_cast<float>(power), e);
            expect_rounded(reference, y, root);
            expect_rounded(reference, y, 3.0f * root);
            expect_rounded(reference, y, -root);
          }
        }
        ++count;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(count, 1000);
}

// Powers of two: midpoints among the subnormals and at both ends.
TEST(Pow, PowersOfTwo) {
  PowReference reference;
  for (int e = -149; e < 128; ++e) {
    for (const float y : {0.5f, 1.0f, 1.5f, 2.0f, 0.25f, -1.0f, -1.5f, 3.0f,
                          0.375f, 1e-3f, 75.0f, -75.0f}) {
      expect_rounded(reference, std::ldexp(1.0f, e), y);
    }
  }
  for (float y = -152.0f; y <= 130.0f; y += 0.125f) {
    expect_rounded(reference, 2.0f, y);
    expect_rounded(reference, 0.25f, y);
  }
}

// The last resort, which no sample above will ever reach.
TEST(Pow, WideArithmetic) {
  std::mt19937_64 generator = seeded_generator();
  PowReference reference;
  std::uniform_real_distribution<double> exponent(-151.0, 129.0);
  for (std::uint32_t i = 0; i < sample_size(3'000); ++i) {
    const auto x = std::bit_cast<float>(
        static_cast<std::uint32_t>(generator() % 0x7f7fffff + 1));
    const auto y =
        static_cast<float>(exponent(generator) / std::log2(x) /
                           std::exp2(static_cast<double>(generator() % 20)));
    if (x == 1.0f || y == 0.0f || y == std::nearbyint(y)) continue;
    EXPECT_EQ(wide_pow(x, y), reference.exact(x, y)) << x << ", " << y;
  }
}

TEST(Pow, DoublesAreWithinOneUlp) {
  std::mt19937_64 generator = seeded_generator();
  PowReference reference;
  std::uniform_real_distribution<double> exponent(-1075.0, 1024.0);
  std::uniform_real_distribution<double> near_one(0.5, 2.0);
  double worst = 0.0;
  double worst_x = 0.0;
  double worst_y = 0.0;
  for (std::uint32_t i = 0; i < sample_size(100'000); ++i) {
    double x = near_one(generator);
    if (i % 3 == 0) {
      x = std::bit_cast<double>(generator() % 0x7ff0000000000000);
    } else if (i % 3 == 1) {
      x = 1.0 + static_cast<double>(generator() >> 12) /
                    std::exp2(static_cast<double>(52 + generator() % 40));
    }
    if (x <= 0.0 || x == 1.0) continue;
    const double y = exponent(generator) / std::log2(x) /
                     static_cast<double>(1 + generator() % 3);
    const double error = reference.ulp_error(x, y, pow(x, y));
    if (error > worst) {
      worst = error;
      worst_x = x;
      worst_y = y;
    }
  }
  std::printf("pow %.4f ulp at %a, %a\n", worst, worst_x, worst_y);
  EXPECT_LT(worst, 0.52);
}

}  // namespace
}  // namespace topos::math::testing
