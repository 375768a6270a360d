#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

#include "ops/cross_entropy.h"
#include "ops/gelu.h"
#include "ops/layer_norm.h"
#include "ops/mse.h"
#include "ops/operation.h"
#include "ops/rms_norm.h"
#include "ops/silu.h"
#include "ops/variance.h"

namespace topos::ops {

/// A formula over primitives, recorded under a label. It has a name, fields,
/// a check of its operands' types, the formula over Values and Tensors alike,
/// and test rows; it may state its own derivative, which then replaces the
/// formula's.
template <class C>
concept Composite = requires(const C& composite, Operands<Type> types,
                             Operands<Tensor> x) {
  { C::name } -> std::convertible_to<std::string_view>;
  C::fields();
  composite.check(types);
  { composite.formula(x) } -> std::same_as<Tensor>;
  requires(std::tuple_size_v<decltype(C::rows())> > 0);
};

template <class C>
concept OwnDerivative = requires(const C& composite, Operands<Tensor> x,
                                 const Tensor& y) {
  { composite.derivative(x, y, y) } -> std::same_as<Cotangents<Tensor>>;
};

template <Composite... C>
struct CompositeCatalog {
  static constexpr std::size_t size = sizeof...(C);

  template <class F>
  static void for_each(F&& f) {
    (f.template operator()<C>(), ...);
  }
};

/// Every composite, in alphabetical order.
using AllComposites = CompositeCatalog<CrossEntropy, Gelu, LayerNorm, Mse,
                                       RmsNorm, Silu, Variance>;

}  // namespace topos::ops
