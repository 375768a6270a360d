#include "ops/widening.h"

#include <algorithm>

#include "ops/evaluate.h"

namespace topos::ops {

namespace {

template <class Op>
constexpr bool moves = ViewValue<Op> || requires {
  Op::only_moves;
};

/// cast has a loop of its own for every pair of types, and rounds by itself.
template <class Op>
constexpr bool computes = !moves<Op> && !OwnTile<Op>;

}  // namespace

std::optional<Widening> widening(const Any& op, Operands<Type> x, DType sums) {
  const auto narrow = [](const Type& type) { return is_half(type.dtype); };
  if (std::none_of(x.begin(), x.end(), narrow)) return std::nullopt;
  const auto dtype = std::visit(
      [&]<class Op>(const Op&) -> std::optional<DType> {
        if constexpr (!computes<Op>) {
          return std::nullopt;
        } else if constexpr (requires { Op::sums_in_f64; }) {
          return sums;
        } else {
          return f32;
        }
      },
      op);
  if (!dtype) return std::nullopt;
  std::vector<Type> wide(x.begin(), x.end());
  for (Type& type : wide) {
    if (narrow(type)) type.dtype = *dtype;
  }
  return Widening{*dtype, infer(op, wide)};
}

}  // namespace topos::ops
