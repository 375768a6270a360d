#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <variant>

#include "ops/abs.h"
#include "ops/add.h"
#include "ops/argmax.h"
#include "ops/broadcast.h"
#include "ops/cast.h"
#include "ops/center.h"
#include "ops/compare.h"
#include "ops/concat.h"
#include "ops/cos.h"
#include "ops/div.h"
#include "ops/elementwise.h"
#include "ops/erf.h"
#include "ops/exp.h"
#include "ops/expm1.h"
#include "ops/gather.h"
#include "ops/iota.h"
#include "ops/is_finite.h"
#include "ops/ln.h"
#include "ops/log1p.h"
#include "ops/log_softmax.h"
#include "ops/logical_and.h"
#include "ops/logical_not.h"
#include "ops/logical_or.h"
#include "ops/logistic.h"
#include "ops/logsumexp.h"
#include "ops/masked_product.h"
#include "ops/matmul.h"
#include "ops/maximum.h"
#include "ops/mean.h"
#include "ops/minimum.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/neg.h"
#include "ops/operation.h"
#include "ops/pad.h"
#include "ops/permute.h"
#include "ops/pow.h"
#include "ops/reduce_max.h"
#include "ops/reduce_min.h"
#include "ops/relu.h"
#include "ops/reshape.h"
#include "ops/reverse.h"
#include "ops/rsqrt.h"
#include "ops/scatter_add.h"
#include "ops/select.h"
#include "ops/sign.h"
#include "ops/sin.h"
#include "ops/softmax.h"
#include "ops/sqrt.h"
#include "ops/stop_gradient.h"
#include "ops/sub.h"
#include "ops/sum.h"
#include "ops/tanh.h"

namespace topos::ops {

/// What an operation owes the compiler: a forgotten part does not build, and
/// the diagnostic names it.
template <class T>
concept Operation = std::is_trivially_copyable_v<T> &&
    std::equality_comparable<T> &&
    requires(const T& op, Operands<Type> types, Operands<Tensor> x,
             const Tensor& y, stablehlo::Writer& out,
             const stablehlo::Call& call) {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::arity } -> std::convertible_to<int>;
  T::fields();
  { op.infer(types) } -> std::convertible_to<Type>;
  requires Elementwise<T> || ViewValue<T> || TensorValue<T>;
  { op.derivative(x, y, y) } -> std::same_as<Cotangents<Tensor>>;
  { op.lower(out, call) } -> std::same_as<stablehlo::Value>;
  requires(std::tuple_size_v<decltype(T::rows())> > 0);  // no row, no operation
};

template <Operation... Op>
struct Catalog {
  using Any = std::variant<Op...>;
  static constexpr std::size_t size = sizeof...(Op);

  /// Calls `f.template operator()<Op>()` for each.
  template <class F>
  static void for_each(F&& f) {
    (f.template operator()<Op>(), ...);
  }
};

/// Every operation, in alphabetical order.
// clang-format off
using All = Catalog<
    Abs,
    Add,
    ArgMax,
    Broadcast,
    Cast,
    Center,
    Concat,
    Cos,
    Div,
    Equal,
    Erf,
    Exp,
    Expm1,
    Gather,
    Greater,
    GreaterEqual,
    Iota,
    IsFinite,
    Less,
    LessEqual,
    Ln,
    Log1p,
    LogSoftmax,
    LogSumExp,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    Logistic,
    MaskedProduct,
    Matmul,
    Maximum,
    Mean,
    Minimum,
    Mul,
    Narrow,
    Neg,
    NotEqual,
    Pad,
    Permute,
    Pow,
    ReduceMax,
    ReduceMin,
    Relu,
    Reshape,
    Reverse,
    Rsqrt,
    ScatterAdd,
    Select,
    Sign,
    Sin,
    Softmax,
    Sqrt,
    StopGradient,
    Sub,
    Sum,
    Tanh>;
// clang-format on

/// What a node holds, by value.
using Any = All::Any;
static_assert(std::is_trivially_copyable_v<Any>);

}  // namespace topos::ops
