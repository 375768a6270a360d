// From operations to kernels: one overload each.

#include "engine/tile_kernels.h"

#include <optional>

#include "kernels/convert.h"
#include "kernels/elementary.h"

namespace topos::engines {

namespace {

using kernels::Arithmetic;
using kernels::Number;
using ops::TileFunction;

std::optional<Number> number(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Number::f32;
    case DType::f64:
      return Number::f64;
    case DType::i32:
      return Number::i32;
    case DType::bf16:
    case DType::f16:
    case DType::i64:
    case DType::boolean:
      break;
  }
  return std::nullopt;
}

/// What a kernel is looked up by.
struct Request {
  DType dtype;
  kernels::Scalars scalars;
};

template <class Op>
constexpr std::optional<Arithmetic> arithmetic;
// clang-format off
template <> constexpr auto arithmetic<ops::Add> = std::optional(Arithmetic::add);
template <> constexpr auto arithmetic<ops::Sub> = std::optional(Arithmetic::sub);
template <> constexpr auto arithmetic<ops::Mul> = std::optional(Arithmetic::mul);
template <> constexpr auto arithmetic<ops::Div> = std::optional(Arithmetic::div);
template <> constexpr auto arithmetic<ops::Maximum> = std::optional(Arithmetic::maximum);
template <> constexpr auto arithmetic<ops::Minimum> = std::optional(Arithmetic::minimum);
template <> constexpr auto arithmetic<ops::MaskedProduct> = std::optional(Arithmetic::masked_product);
template <> constexpr auto arithmetic<ops::Neg> = std::optional(Arithmetic::neg);
template <> constexpr auto arithmetic<ops::Abs> = std::optional(Arithmetic::abs);
template <> constexpr auto arithmetic<ops::Sqrt> = std::optional(Arithmetic::sqrt);
template <> constexpr auto arithmetic<ops::Relu> = std::optional(Arithmetic::relu);
template <> constexpr auto arithmetic<ops::Erf> = std::optional(Arithmetic::erf);
template <> constexpr auto arithmetic<ops::Logistic> = std::optional(Arithmetic::logistic);
// clang-format on

using ElementaryKernel = void (*)(const float*, float*, std::size_t);

template <ElementaryKernel kernel>
TileFunction elementary(const Request& request) {
  if (request.dtype != f32 || request.scalars != 0) return nullptr;
  return [](const void* const* x, void* y, std::size_t n) {
    kernel(static_cast<const float*>(x[0]), static_cast<float*>(y), n);
  };
}

template <class Op>
TileFunction find(const Op&, const Request& request) {
  if constexpr (arithmetic<Op>.has_value()) {
    const auto type = number(request.dtype);
    return type ? kernels::arithmetic_function(*arithmetic<Op>, *type,
                                               request.scalars)
                : nullptr;
  } else {
    return nullptr;
  }
}

// clang-format off
TileFunction find(const ops::Exp&, const Request& r) { return elementary<kernels::exp>(r); }
TileFunction find(const ops::Expm1&, const Request& r) { return elementary<kernels::expm1>(r); }
TileFunction find(const ops::Ln&, const Request& r) { return elementary<kernels::ln>(r); }
TileFunction find(const ops::Log1p&, const Request& r) { return elementary<kernels::log1p>(r); }
TileFunction find(const ops::Tanh&, const Request& r) { return elementary<kernels::tanh>(r); }
TileFunction find(const ops::Logistic&, const Request& r) { return elementary<kernels::logistic>(r); }
TileFunction find(const ops::Erf&, const Request& r) { return elementary<kernels::erf>(r); }
TileFunction find(const ops::Rsqrt&, const Request& r) { return elementary<kernels::rsqrt>(r); }
TileFunction find(const ops::Sin&, const Request& r) { return elementary<kernels::sin>(r); }
TileFunction find(const ops::Cos&, const Request& r) { return elementary<kernels::cos>(r); }
// clang-format on

constexpr kernels::Comparison comparison(ops::Direction direction) {
  using kernels::Comparison;
  switch (direction) {
    case ops::Direction::equal:
      return Comparison::equal;
    case ops::Direction::not_equal:
      return Comparison::not_equal;
    case ops::Direction::less:
      return Comparison::less;
    case ops::Direction::less_equal:
      return Comparison::less_equal;
    case ops::Direction::greater:
      return Comparison::greater;
    case ops::Direction::greater_equal:
      break;
  }
  return Comparison::greater_equal;
}

template <ops::Direction direction>
TileFunction find(const ops::Compare<direction>&, const Request& request) {
  const auto type = number(request.dtype);
  return type ? kernels::comparison_function(comparison(direction), *type,
                                             request.scalars)
              : nullptr;
}

TileFunction find(const ops::Select&, const Request& request) {
  const auto type = number(request.dtype);
  return type ? kernels::select_function(*type, request.scalars) : nullptr;
}

TileFunction find(const ops::Cast& op, const Request& request) {
  if (request.scalars != 0) return nullptr;
  if (const auto half = kernels::conversion(request.dtype, op.to)) return half;
  const auto to = number(op.to);
  if (!to) return nullptr;
  if (request.dtype == boolean) return kernels::conversion_function(*to);
  const auto from = number(request.dtype);
  return from ? kernels::conversion_function(*from, *to) : nullptr;
}

}  // namespace

ops::TileFunction tile_kernel(const ops::Any& op, DType dtype,
                              kernels::Scalars scalars) {
  return std::visit(
      [&](const auto& o) {
        return find(o, Request{dtype, scalars});
      },
      op);
}

std::optional<kernels::Arithmetic> arithmetic_of(const ops::Any& op) {
  return std::visit([]<class Op>(const Op&) { return arithmetic<Op>; }, op);
}

}  // namespace topos::engines
