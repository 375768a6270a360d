#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ops/catalog.h"
#include "tensor/visit.h"
#include "topos/envelope.h"

/// \file
/// Running error analysis [Wilkinson 1963; Higham 2002, chapter 3]: beside each
/// value a bound of |other engine - interpreter|, from the operands' bounds and
/// the roundings of both sides. All arithmetic on bounds is in f64; what it
/// rounds itself is paid for once a node, in `settled`.

namespace topos::engines {

/// The bound of what the errors of its operands leave open.
inline constexpr double undecided = std::numeric_limits<double>::infinity();

/// The numbers that bounds need of a dtype. Integers round nothing, underflow
/// nowhere and wrap.
struct Format {
  double unit = 0;      // half the gap above 1: one rounding, relative
  double smallest = 0;  // below it, a number may be 0 on its next use
  double greatest = undecided;
  double normal = 0;  // the least normal number: below it gaps do not shrink

  /// How far rounding may move a number of at most this size.
  double rounding(double size) const { return unit * std::fmax(size, normal); }
};

inline Format format_of(DType dtype) {
  return visit_dtype(dtype, []<class T>() -> Format {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::same_as<T, Float16>) {
      // What is subnormal in f16 is normal in f32, where it is computed.
      return {Limits::epsilon() / 2, std::numeric_limits<float>::min(),
              Limits::max(), Limits::min()};
    } else if constexpr (!std::integral<T>) {
      return {Limits::epsilon() / 2, Limits::min(), Limits::max(),
              Limits::min()};
    } else {
      return {};
    }
  });
}

/// n roundings one after the other, relative: n u / (1 - n u).
inline double roundings(double n, const Format& format) {
  const double nu = n * format.unit;
  return nu < 1 ? nu / (1 - nu) : undecided;
}

/// An error under a slope. Nothing comes of no error, and anything of an
/// undecided operand: 0 times inf is NaN.
inline double scaled(double slope, double error) {
  if (error == 0) return 0;
  return error == undecided ? undecided : slope * error;
}

/// The elements in row-major order, as f64.
std::vector<double> numbers(const Tensor& x);

/// The f64 tensor of `f(i)`, i the row-major index.
template <class F>
Tensor filled(const Shape& shape, F&& f) {
  std::byte* data = nullptr;
  const Tensor result = Tensor::uninitialized({f64, shape}, data);
  double* out = reinterpret_cast<double*>(data);
  const std::int64_t count = shape.element_count();
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = f(static_cast<std::size_t>(i));
  }
  return result;
}

/// A bound as every node has it. Whatever is computed, fed or stored may be
/// flushed to zero on its next use; what may overflow, or is not finite and not
/// certain, is undecided, and so is an integer that is not certain.
Tensor settled(const Tensor& bound, const Tensor& value);

using Bounded = std::span<const Envelope>;

/// The bound of the result `y` of an operation on `x`.
Tensor bound_of(const ops::Any& op, Bounded x, const Tensor& y);

/// The bound of a sum whose terms may be added in any order.
class Terms {
 public:
  void add(double x, double error) {
    if (x == 0 && error == 0) return;  // adding zero rounds nothing
    ++count_;
    error_ += error;
    if (std::isfinite(x)) {
      magnitude_ += std::fabs(x);
    } else {
      special_ = true;
    }
  }
  void add_product(double a, double a_error, double b, double b_error) {
    const double moved =
        scaled(std::fabs(a), b_error) + scaled(std::fabs(b) + b_error, a_error);
    // A product that overflows does not if it is fused into a sum.
    const bool overflows =
        std::isinf(a * b) && std::isfinite(a) && std::isfinite(b);
    // NOLINTNEXTLINE(bugprone-narrowing-conversions): double is no narrower.
    add(a * b, overflows ? undecided : moved);
  }

  /// Of terms that are there already, which the interpreter adds in f64 and
  /// rounds once.
  double sum_error(DType dtype) const {
    const Format format = format_of(dtype);
    const double additions = count_ > 1 ? count_ - 1 : 0;
    const double in_f64 = additions * (0x1p-53 / 0x1p-24);
    const double ours = dtype == f32 && additions > 0 ? 1 + in_f64 : additions;
    return error(format, additions, ours);
  }
  /// Of products, which both sides round or fuse as they like.
  double product_error(DType dtype) const {
    return error(format_of(dtype), count_, count_);
  }

 private:
  double error(const Format& format, double theirs, double ours) const;

  double count_ = 0;
  double error_ = 0;
  double magnitude_ = 0;  // of the finite terms
  bool special_ = false;  // an infinity or a NaN is among them
};

/// The bound of the greatest (sign 1) or least (-1) element y of a set.
class ExtremumError {
 public:
  ExtremumError(double y, double sign) : y_(y), sign_(sign) {}

  void add(double x, double error) {
    unsure_ = unsure_ || error == undecided;
    const double above = sign_ * (x - y_);
    rise_ = std::fmax(rise_, above + error);
    fall_ = std::fmin(fall_, error - above);
  }
  double error() const {
    if (unsure_) return undecided;
    return std::isfinite(y_) ? std::fmax(rise_, fall_) : 0;
  }

 private:
  double y_;
  double sign_;
  double rise_ = 0;
  double fall_ = undecided;
  bool unsure_ = false;
};

// ---- Operations over whole tensors --------------------------------------

Tensor bound(const ops::ArgMax& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Center& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Concat& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Gather& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Iota& op, Bounded x, const Tensor& y);
Tensor bound(const ops::LogSoftmax& op, Bounded x, const Tensor& y);
Tensor bound(const ops::LogSumExp& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Matmul& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Mean& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Pad& op, Bounded x, const Tensor& y);
Tensor bound(const ops::ReduceMax& op, Bounded x, const Tensor& y);
Tensor bound(const ops::ReduceMin& op, Bounded x, const Tensor& y);
Tensor bound(const ops::ScatterAdd& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Softmax& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Sum& op, Bounded x, const Tensor& y);

// ---- Elementwise ones that jump, choose or convert ----------------------

Tensor bound(const ops::Cast& op, Bounded x, const Tensor& y);
Tensor bound(const ops::IsFinite& op, Bounded x, const Tensor& y);
Tensor bound(const ops::LogicalAnd& op, Bounded x, const Tensor& y);
Tensor bound(const ops::LogicalOr& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Maximum& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Minimum& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Select& op, Bounded x, const Tensor& y);
Tensor bound(const ops::Sign& op, Bounded x, const Tensor& y);

/// Whether a comparison of `a` and `b` holds for certain, or fails for certain.
inline bool is_decided(double a, double a_error, double b, double b_error) {
  if ((std::isnan(a) && a_error == 0) || (std::isnan(b) && b_error == 0)) {
    return true;
  }
  const double error = a_error + b_error;
  return error == 0 || std::fabs(a - b) > error;
}

template <ops::Direction direction>
Tensor bound(const ops::Compare<direction>&, Bounded x, const Tensor& y) {
  const std::vector<double> a = numbers(x[0].value);
  const std::vector<double> b = numbers(x[1].value);
  const std::vector<double> a_error = numbers(x[0].bound);
  const std::vector<double> b_error = numbers(x[1].bound);
  return filled(y.shape(), [&](std::size_t i) {
    return is_decided(a[i], a_error[i], b[i], b_error[i]) ? 0 : undecided;
  });
}

// ---- Errors of elementary functions -------------------------------------

template <class Op, class... Others>
inline constexpr bool is_one_of = (std::is_same_v<Op, Others> || ...);

/// The roundings of one elementwise operation, XLA's and ours together, in
/// units of u |y|. An ulp is at most two of them. XLA's are those that were
/// measured on its CPU compiler [docs/envelope.md], with a margin; ours are one
/// of f32 and, within an ulp, two of f64.
template <class Op>
constexpr double roundings_of() {
  using namespace ops;  // NOLINT(google-build-using-namespace)
  constexpr double ours = 2;
  if (is_one_of<Op, Abs, Neg, Relu>) return 0;
  if (is_one_of<Op, Add, Sub, Mul, MaskedProduct>) return 1 + 1;
  if (is_one_of<Op, Div>) return 2 + 1;                // a / c as a (1 / c)
  if (is_one_of<Op, Sqrt>) return 2 + 1;               // within an ulp
  if (is_one_of<Op, Sin, Cos>) return 2 * 1.5 + ours;  // measured: 0.6 ulp
  if (is_one_of<Op, Exp>) return 2 * 2 + ours;         // 0.9
  if (is_one_of<Op, Ln>) return 2 * 2 + ours;          // 1.1
  if (is_one_of<Op, Log1p>) return 2 * 5 + ours;       // 2.5
  if (is_one_of<Op, Logistic>) return 2 * 3 + ours;    // 1.8
  if (is_one_of<Op, Tanh>) return 2 * 5 + ours;        // 3.5
  if (is_one_of<Op, Erf>) return 2 * 8 + ours;         // 4.0
  if (is_one_of<Op, Expm1>) return 2 * 8 + ours;       // 5.2
  return 2 * 8 + ours;  // not measured: rsqrt, pow, and whatever is new
}

}  // namespace topos::engines
