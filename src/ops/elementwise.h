#pragma once

#include <cstddef>
#include <utility>

#include "ops/operation.h"
#include "tensor/visit.h"

/// \file
/// From a dtype at run time to `Op::value<T>` over a tile of elements.

namespace topos::ops {

/// An elementwise operation over n elements without gaps: x[i] are the
/// operands, y the result, which may be one of the operands.
using TileFunction = void (*)(const void* const* x, void* y, std::size_t n);

namespace detail {

// R and A are taken from the signature of value<T>.
template <class Op, class T, class R, class... A>
TileFunction tile(R (*)(A...)) {
  return [](const void* const* x, void* y, std::size_t n) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      R* out = static_cast<R*>(y);
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = Op::template value<T>(static_cast<const A*>(x[I])[i]...);
      }
    }
    (std::index_sequence_for<A...>{});
  };
}

}  // namespace detail

/// Whether the operation works element by element over one C++ type.
template <class Op>
concept ElementValue = requires {
  &Op::template value<float>;
}
|| requires { &Op::template value<bool>; };

/// cast alone has two C++ types and finds its own loop.
template <class Op>
concept OwnTile = requires(const Op& op, DType dtype) {
  { op.tile(dtype) } -> std::same_as<TileFunction>;
};

template <class Op>
concept Elementwise = ElementValue<Op> || OwnTile<Op>;

/// The result is its operand under another layout, or nothing if this layout
/// cannot express it and the elements have to be copied.
template <class Op>
concept ViewValue = requires(const Op& op, const Layout& x) {
  { op.view(x) } -> std::same_as<std::optional<Layout>>;
};

/// Over whole tensors.
template <class Op>
concept TensorValue = requires(const Op& op, Operands<Tensor> x, Output y) {
  { op.value(x, y) } -> std::same_as<void>;
};

/// The loop of an elementwise operation whose last operand is of `dtype`;
/// null where `infer` refuses that dtype, and for 16-bit types, which are
/// computed wider.
template <Elementwise Op>
TileFunction tile_function(const Op& op, DType dtype) {
  if constexpr (OwnTile<Op>) {
    return op.tile(dtype);
  } else {
    return visit_dtype(dtype, []<class T>() -> TileFunction {
      if constexpr (sizeof(T) != 2 && requires { &Op::template value<T>; }) {
        return detail::tile<Op, T>(&Op::template value<T>);
      } else {
        return nullptr;
      }
    });
  }
}

}  // namespace topos::ops
