#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "topos/dtype.h"
#include "topos/number.h"
#include "topos/shape.h"
#include "topos/site.h"
#include "topos/tensor.h"

/// \file
/// Every operation, under one comment for its two forms: on an Operand (a
/// recorded Value, or a number) it records and gives a Value; on a
/// TensorOperand (a Tensor, or a number) it evaluates at once, by the
/// interpreter's code, and gives a Tensor. The same formula, the same bits.
///
/// For all of them:
///   - `x` is the operand, or `a` and `b` are; `y` is the result, `dy` its
///     cotangent. A derivative lists the operands' cotangents in their order.
///   - A number takes the dtype of the value that it meets (DTypeError if the
///     dtype cannot hold it, as 2.5 in i32). A call of numbers only is
///     ambiguous and does not compile.
///   - Elementwise functions of several operands broadcast them as NumPy:
///     aligned at the right, an extent of 1 stretches. Anything else is a
///     ShapeError that names both shapes. Their dtypes must be equal
///     (DTypeError); `cast` converts.
///   - An error names the line that wrote the call, the call and its operands:
///     `mlp.cpp:12: add: [2] x [3]: the shapes [2] and [3] do not broadcast:
///     ...`.
///   - Floats are IEEE 754, rounded to nearest even, subnormals kept; integers
///     wrap. NaN propagates; exceptions are stated. `docs/numerics.md` has the
///     order of evaluation of every operation.
///   - On bf16 and f16 an operation computes in f32 and rounds its result once.
///   - Axes may be negative and then count from the end; one that is out of
///     range or named twice is a ShapeError.
///   - On an error nothing is recorded.

namespace topos {

class Value;
class Operand;
class Tape;

/// A tensor or a number, with the line that wrote it.
struct TensorOperand {
  // NOLINTBEGIN(google-explicit-constructor): operands are meant to convert.
  TensorOperand(Tensor tensor, Site at = Site::here())
      : what(std::move(tensor)), site(at) {}
  template <class T>
  requires std::is_arithmetic_v<T> TensorOperand(T number,
                                                 Site at = Site::here())
      : what(Number(number)), site(at) {}
  // NOLINTEND(google-explicit-constructor)

  std::variant<Tensor, Number> what;
  Site site;
};

// ---- Arithmetic, element by element ------------------------------------

/// a + b; derivative dy, dy.
Value operator+(Operand a, Operand b);
Tensor operator+(TensorOperand a, TensorOperand b);

/// a - b; derivative dy, -dy.
Value operator-(Operand a, Operand b);
Tensor operator-(TensorOperand a, TensorOperand b);

/// a b; derivative dy b, dy a.
Value operator*(Operand a, Operand b);
Tensor operator*(TensorOperand a, TensorOperand b);

/// a / b. Integers truncate toward zero, a / 0 is -1 and MIN / -1 is MIN, as
/// in XLA. Derivative mp(dy, 1/b), -mp(dy, y/b), mp the masked product.
Value operator/(Operand a, Operand b);
Tensor operator/(TensorOperand a, TensorOperand b);

/// -x; derivative -dy.
Value operator-(Operand x);
Tensor operator-(TensorOperand x);

/// |x|, of an integer MIN is MIN; derivative dy sign(x).
Value abs(Operand x);
Tensor abs(TensorOperand x);

/// -1, 0 or 1; keeps -0 and NaN. Derivative zero.
Value sign(Operand x);
Tensor sign(TensorOperand x);

/// The greater, by IEEE 754-2019 `maximum`: NaN propagates, -0 < +0.
/// Derivative: dy to the greater one, half each on a tie.
Value maximum(Operand a, Operand b);
Tensor maximum(TensorOperand a, TensorOperand b);

/// The lesser, by IEEE 754-2019 `minimum`. Derivative as maximum's.
Value minimum(Operand a, Operand b);
Tensor minimum(TensorOperand a, TensorOperand b);

/// a b, but +0 where a = 0 or b = 0, whatever the other is. Derivative
/// mp(dy, b), mp(dy, a). The derivatives of sqrt, rsqrt, ln, log1p, pow, div,
/// exp, expm1, sin and cos multiply by it, so a branch that `select` did not
/// take cannot poison a gradient with 0 inf.
Value masked_product(Operand a, Operand b);
Tensor masked_product(TensorOperand a, TensorOperand b);

// ---- Elementary functions, element by element --------------------------
// Correctly rounded in f32; within 1 ulp in f64; integers are refused.

/// e^x; derivative mp(dy, y).
Value exp(Operand x);
Tensor exp(TensorOperand x);

/// e^x - 1 without cancellation near 0; derivative mp(dy, y + 1).
Value expm1(Operand x);
Tensor expm1(TensorOperand x);

/// The natural logarithm; NaN below zero. Derivative mp(dy, 1/x).
Value ln(Operand x);
Tensor ln(TensorOperand x);

/// ln(1 + x) without cancellation near 0; NaN below -1. Derivative
/// mp(dy, 1/(1 + x)).
Value log1p(Operand x);
Tensor log1p(TensorOperand x);

/// The square root (IEEE); NaN below zero. Derivative mp(dy, 0.5/y).
Value sqrt(Operand x);
Tensor sqrt(TensorOperand x);

/// 1 / sqrt(x) in one rounding; +-inf at +-0, NaN below zero. Derivative
/// mp(dy, -0.5 mp(y, mp(y, y))).
Value rsqrt(Operand x);
Tensor rsqrt(TensorOperand x);

/// a^b as IEEE 754 `pow`: pow(a, 0) = 1 for every a. Derivative
/// mp(dy, mp(b, pow(a, b - 1))), mp(dy, mp(y, ln a)); at b = 0 the first is 0,
/// at a = 0 the second.
Value pow(Operand a, Operand b);
Tensor pow(TensorOperand a, TensorOperand b);

/// The sine of x radians; derivative mp(dy, cos x).
Value sin(Operand x);
Tensor sin(TensorOperand x);

/// The cosine of x radians; derivative -mp(dy, sin x).
Value cos(Operand x);
Tensor cos(TensorOperand x);

/// The hyperbolic tangent; derivative dy (1 - y y) [DLMF 4.34].
Value tanh(Operand x);
Tensor tanh(TensorOperand x);

/// 1 / (1 + e^-x); derivative dy (y (1 - y)).
Value logistic(Operand x);
Tensor logistic(TensorOperand x);

/// The error function; derivative dy (2/sqrt(pi) e^(-x x)) [DLMF 7.2.1].
Value erf(Operand x);
Tensor erf(TensorOperand x);

/// maximum(x, +0); slope 0 at 0.
Value relu(Operand x);
Tensor relu(TensorOperand x);

// ---- Comparison and logic, element by element: results are boolean -----

/// Comparisons; NaN is unordered, unequal to everything. Booleans are equal or
/// not, and have no order.
Value equal(Operand a, Operand b);
Tensor equal(TensorOperand a, TensorOperand b);
Value not_equal(Operand a, Operand b);
Tensor not_equal(TensorOperand a, TensorOperand b);
Value less(Operand a, Operand b);
Tensor less(TensorOperand a, TensorOperand b);
Value less_equal(Operand a, Operand b);
Tensor less_equal(TensorOperand a, TensorOperand b);
Value greater(Operand a, Operand b);
Tensor greater(TensorOperand a, TensorOperand b);
Value greater_equal(Operand a, Operand b);
Tensor greater_equal(TensorOperand a, TensorOperand b);

/// Of booleans.
Value logical_and(Operand a, Operand b);
Tensor logical_and(TensorOperand a, TensorOperand b);
Value logical_or(Operand a, Operand b);
Tensor logical_or(TensorOperand a, TensorOperand b);
Value logical_not(Operand x);
Tensor logical_not(TensorOperand x);

/// Whether x is neither infinite nor NaN; floats only.
Value is_finite(Operand x);
Tensor is_finite(TensorOperand x);

/// a where the boolean `condition` holds, else b; derivative: dy to the one
/// taken, +0 to the other. A number takes the dtype of the other one. A plan
/// computes no `condition` that decides between a value and itself, and so
/// meets no error in it.
Value select(Operand condition, Operand a, Operand b);
Tensor select(TensorOperand condition, TensorOperand a, TensorOperand b);

/// Conversion to `dtype`. Floats to integers truncate, saturate and take NaN
/// to 0; integers to narrower ones wrap; to boolean is x != 0, true for NaN.
/// Derivative: dy cast back, between floats; none otherwise.
Value cast(Operand x, DType dtype);
Tensor cast(TensorOperand x, DType dtype);

/// x, through which no gradient flows.
Value stop_gradient(Operand x);
Tensor stop_gradient(TensorOperand x);

// ---- Sources -----------------------------------------------------------

/// The index along `axis`, in an integer or floating dtype.
Value iota(Tape& tape, const Type& type, int axis, Site site = Site::here());
Tensor iota(const Type& type, int axis, Site site = Site::here());

/// The same, on the tape of `like`.
Value iota_like(Operand like, const Type& type, int axis);
Tensor iota_like(TensorOperand like, const Type& type, int axis);

/// A constant of the given type, on the tape of `like`.
Value full_like(Operand like, const Type& type, Number number);
Tensor full_like(TensorOperand like, const Type& type, Number number);

// ---- Products ----------------------------------------------------------

/// The matrix product over the last two axes.
///
/// \param left   [..., m, k]
/// \param right  [..., k, n], the leading axes equal to those of `left`; or
///               [k, n], and then every row of `left` is one of its rows
/// \return       [..., m, n], in the operands' dtype
///
/// Numerics: blocks of 512 terms, each one chain of fused multiply-adds, k
/// ascending, from +0; the blocks' sums added in order, the first one starting
/// the total; 16-bit types in f32, rounded once. The same bits on every target
/// and at every thread count.
/// Derivative: dy right', left' dy.
///
/// Cost: 2 m k n flops per batch entry when run; recording computes nothing.
///
/// \throws ShapeError  the ranks, the leading axes or the two k differ
/// \throws DTypeError  the dtypes differ, or are not floating
/// \see    StableHLO `dot_general`
Value matmul(Operand left, Operand right);
Tensor matmul(TensorOperand left, TensorOperand right);

// ---- Reductions: over `axes`, all if empty; dropped unless `keep` -------

/// The sum, accumulated in f64 (integers modulo 2^n) in blocks of 4096
/// elements and 16 lanes; rounded once. Of nothing: +0. Derivative:
/// broadcast(dy).
Value sum(Operand x, const Axes& axes = {}, bool keep = false);
Tensor sum(TensorOperand x, const Axes& axes = {}, bool keep = false);

/// The f64 sum divided by the count, rounded once; NaN of nothing. Floats only.
/// Derivative: broadcast(dy / n).
Value mean(Operand x, const Axes& axes = {}, bool keep = false);
Tensor mean(TensorOperand x, const Axes& axes = {}, bool keep = false);

/// x minus its unrounded f64 mean over `axes`, rounded once; keeps the shape.
/// Derivative: center(dy).
Value center(Operand x, const Axes& axes = {});
Tensor center(TensorOperand x, const Axes& axes = {});

/// The greatest element; NaN propagates. Derivative: an equal share to ties.
/// \throws ShapeError  a reduced axis is empty
Value reduce_max(Operand x, const Axes& axes = {}, bool keep = false);
Tensor reduce_max(TensorOperand x, const Axes& axes = {}, bool keep = false);

/// The least element, as reduce_max.
Value reduce_min(Operand x, const Axes& axes = {}, bool keep = false);
Tensor reduce_min(TensorOperand x, const Axes& axes = {}, bool keep = false);

/// The i32 index of the greatest element along `axis`: of the first NaN, else
/// the lowest of a tie. \throws ShapeError  the axis is empty
Value argmax(Operand x, int axis = -1, bool keep = false);
Tensor argmax(TensorOperand x, int axis = -1, bool keep = false);

// ---- Row formulas along one axis: floats only --------------------------

/// e^(x - max) / sum e^(x - max); a row of nothing but -inf gives zeros, and
/// zero gradients. Derivative: y (dy - sum(dy y)).
Value softmax(Operand x, int axis = -1);
Tensor softmax(TensorOperand x, int axis = -1);

/// ln sum e^x; -inf of nothing and of nothing but -inf. Derivative:
/// softmax(x) dy.
Value logsumexp(Operand x, int axis = -1, bool keep = false);
Tensor logsumexp(TensorOperand x, int axis = -1, bool keep = false);

/// x - logsumexp(x); -inf in a row of nothing but -inf. Derivative:
/// dy - softmax(x) sum(dy).
Value log_softmax(Operand x, int axis = -1);
Tensor log_softmax(TensorOperand x, int axis = -1);

// ---- Layout ------------------------------------------------------------

/// x repeated to `shape`, right-aligned as NumPy. Derivative: a sum.
Value broadcast(Operand x, const Shape& shape);
Tensor broadcast(TensorOperand x, const Shape& shape);
/// The same where axis i of x becomes axis `axes[i]` (ascending) of the
/// result.
Value broadcast(Operand x, const Shape& shape, const Axes& axes);
Tensor broadcast(TensorOperand x, const Shape& shape, const Axes& axes);

/// The same elements in row-major order; one extent may be -1 and is inferred.
Value reshape(Operand x, const Shape& shape);
Tensor reshape(TensorOperand x, const Shape& shape);

/// Axis i of the result is axis `axes[i]` of x.
Value permute(Operand x, const Axes& axes);
Tensor permute(TensorOperand x, const Axes& axes);

/// Two axes exchanged; the last two if none are named.
Value transpose(Operand x, int first = -2, int second = -1);
Tensor transpose(TensorOperand x, int first = -2, int second = -1);

/// Elements [start, start + count) of one axis.
Value narrow(Operand x, int axis, std::int64_t start, std::int64_t count);
Tensor narrow(TensorOperand x, int axis, std::int64_t start,
              std::int64_t count);

/// The parts, one after the other along `axis`; at least one.
Value concat(std::span<const Value> parts, int axis, Site site = Site::here());
Value concat(std::initializer_list<Value> parts, int axis,
             Site site = Site::here());
Tensor concat(std::span<const Tensor> parts, int axis,
              Site site = Site::here());
Tensor concat(std::initializer_list<Tensor> parts, int axis,
              Site site = Site::here());

/// `low[i]` copies of `value` before and `high[i]` after axis i.
Value pad(Operand x, const Shape& low, const Shape& high, Number value = 0);
Tensor pad(TensorOperand x, const Shape& low, const Shape& high,
           Number value = 0);

/// The order of the elements along `axes` reversed; none are named: none is.
Value reverse(Operand x, const Axes& axes);
Tensor reverse(TensorOperand x, const Axes& axes);

// ---- Indexing ----------------------------------------------------------

/// Which axis an index addresses. The first `batch` axes of the tensor and of
/// the index are paired: each index entry reads within its own batch.
struct IndexOptions {
  int axis = 0;
  int batch = 0;
};

/// The slices of x that `index` (i32 or i64, or a number) names along `axis`.
///
/// \param x      [batch..., before..., n, after...], n the axis
/// \param index  [batch..., rest...]
/// \return       [batch..., before..., rest..., after...]
///
/// Derivative: scatter_add into zeros.
/// \throws IndexError  when run: an index is negative or not below n
Value gather(Operand x, Operand index, IndexOptions options = {});
Tensor gather(TensorOperand x, TensorOperand index, IndexOptions options = {});

/// gather's transpose: `base` plus, at each slice that `index` names, the
/// slices of `updates` (typed as gather(base, index)). The contributions to
/// one element form one f64 chain in ascending order of the flattened index,
/// starting from the base's element, rounded once; elements that nobody names
/// keep their bits. Derivative: dy, and gather(dy, index).
Value scatter_add(Operand base, Operand index, Operand updates,
                  IndexOptions options = {});
Tensor scatter_add(TensorOperand base, TensorOperand index,
                   TensorOperand updates, IndexOptions options = {});

// ---- Composites: formulas over the above, recorded under a label --------

/// mean(c c), c = center(x), over `axes`.
Value variance(Operand x, const Axes& axes = {}, bool keep = false);
Tensor variance(TensorOperand x, const Axes& axes = {}, bool keep = false);

/// ((c rsqrt(v + epsilon)) scale) + shift along the last axis, c = center(x),
/// v = mean(c c) [Ba et al. 2016]. `scale` and `shift` have the last axis's
/// extent.
Value layer_norm(Operand x, Operand scale, Operand shift,
                 double epsilon = 1e-5);
Tensor layer_norm(TensorOperand x, TensorOperand scale, TensorOperand shift,
                  double epsilon = 1e-5);

/// (x rsqrt(mean(x x) + epsilon)) scale along the last axis [Zhang & Sennrich
/// 2019]. `scale` has the last axis's extent.
Value rms_norm(Operand x, Operand scale, double epsilon = 1e-5);
Tensor rms_norm(TensorOperand x, TensorOperand scale, double epsilon = 1e-5);

/// The two forms of gelu [Hendrycks & Gimpel 2016].
enum class GeluForm : std::uint8_t { erf, tanh };

/// x Phi(x): in erf form (0.5 x)(1 + erf(x / sqrt 2)); in tanh form
/// x logistic(x (1.5957691216057308 + 0.07135481627260025 (x x))), which is the
/// usual formula written so that it keeps its relative accuracy below zero.
Value gelu(Operand x, GeluForm form = GeluForm::erf);
Tensor gelu(TensorOperand x, GeluForm form = GeluForm::erf);

/// x logistic(x) [Elfwing et al. 2017].
Value silu(Operand x);
Tensor silu(TensorOperand x);

/// The mean over all rows of -log_softmax(logits)[target].
///
/// \param logits   [..., classes], floating
/// \param targets  [...], i32 or i64 class indices
/// Derivative: u = dy/N; scatter_add(softmax(logits) u, targets, -u).
/// \throws ShapeError  targets is not shaped as the rows of logits: losses
///                     never broadcast
Value cross_entropy(Operand logits, Operand targets);
Tensor cross_entropy(TensorOperand logits, TensorOperand targets);

/// mean(d d), d = x - y. \throws ShapeError  the shapes differ
Value mse(Operand x, Operand y);
Tensor mse(TensorOperand x, TensorOperand y);

/// Every operation and composite, a line each: operands, attributes, kind, the
/// dtypes that it accepts, and whether it has a derivative. Made from the
/// catalogue, for readers.
std::string op_table();

}  // namespace topos
