#pragma once

#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "math/elementary.h"

/// What the functions of src/math are measured against, sharing no code with
/// them: the C library's double functions, trusted to 2^-48 only, and MPFR
/// wherever that leaves the float open.
namespace topos::math::testing {

/// One function of one argument, ours and theirs.
struct UnaryFunction {
  const char* name;
  float (*ours)(float);
  double (*ours_double)(double);
  double (*libm)(double);
  /// Rounds to its first operand's precision; the second is finite.
  void (*mpfr)(mpfr_ptr, mpfr_srcptr);
};

inline std::span<const UnaryFunction> unary_functions() {
  // clang-format off
  static constexpr UnaryFunction functions[] = {
      {"exp", exp, exp, [](double x) { return std::exp(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_exp(y, x, MPFR_RNDN); }},
      {"expm1", expm1, expm1, [](double x) { return std::expm1(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_expm1(y, x, MPFR_RNDN); }},
      {"ln", ln, ln, [](double x) { return std::log(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_log(y, x, MPFR_RNDN); }},
      {"log1p", log1p, log1p, [](double x) { return std::log1p(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_log1p(y, x, MPFR_RNDN); }},
      {"tanh", tanh, tanh, [](double x) { return std::tanh(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_tanh(y, x, MPFR_RNDN); }},
      {"logistic", logistic, logistic,
       [](double x) { return 1.0 / (1.0 + std::exp(-x)); },
       [](mpfr_ptr y, mpfr_srcptr x) {
         mpfr_neg(y, x, MPFR_RNDN);
         mpfr_exp(y, y, MPFR_RNDN);
         mpfr_add_ui(y, y, 1, MPFR_RNDN);
         mpfr_ui_div(y, 1, y, MPFR_RNDN);
       }},
      {"erf", erf, erf, [](double x) { return std::erf(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_erf(y, x, MPFR_RNDN); }},
      {"sin", sin, sin, [](double x) { return std::sin(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_sin(y, x, MPFR_RNDN); }},
      {"cos", cos, cos, [](double x) { return std::cos(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_cos(y, x, MPFR_RNDN); }},
      {"rsqrt", rsqrt, rsqrt, [](double x) { return 1.0 / std::sqrt(x); },
       [](mpfr_ptr y, mpfr_srcptr x) { mpfr_rec_sqrt(y, x, MPFR_RNDN); }},
  };
  // clang-format on
  return functions;
}

/// Equal bits, or both NaN.
inline bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint32_t>(a) ==
                             std::bit_cast<std::uint32_t>(b);
}

inline bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : std::bit_cast<std::uint64_t>(a) ==
                             std::bit_cast<std::uint64_t>(b);
}

/// An mpfr_t that frees itself.
class BigFloat {
 public:
  explicit BigFloat(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  BigFloat(const BigFloat&) = delete;
  BigFloat& operator=(const BigFloat&) = delete;
  ~BigFloat() { mpfr_clear(value_); }

  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// Correctly rounded floats. `libm` is the double value; `exact` is called,
/// to fill a BigFloat of 300 bits, only if the float is not plain from it.
class FloatReference {
 public:
  template <class Exact>
  float operator()(double libm, Exact exact) {
    const auto low = static_cast<float>(libm * (1.0 - 0x1p-48));
    const auto high = static_cast<float>(libm * (1.0 + 0x1p-48));
    if (low == high || std::isnan(libm)) return static_cast<float>(libm);
    ++mpfr_calls_;
    exact(value_.get());
    return mpfr_get_flt(value_.get(), MPFR_RNDN);
  }

  /// The value of a function at x.
  float operator()(const UnaryFunction& f, float x) {
    return (*this)(f.libm(x), [&](mpfr_ptr y) {
      mpfr_set_flt(x_.get(), x, MPFR_RNDN);
      f.mpfr(y, x_.get());
    });
  }

  std::uint64_t mpfr_calls() const { return mpfr_calls_; }

 private:
  BigFloat x_{53};
  BigFloat value_{300};
  std::uint64_t mpfr_calls_ = 0;
};

}  // namespace topos::math::testing
