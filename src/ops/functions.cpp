// The public functions on tensors: they evaluate at once.

#include "topos/functions.h"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "math/float_environment.h"
#include "ops/call.h"
#include "ops/composite.h"
#include "ops/evaluate.h"

namespace topos {

namespace {

using ops::Operands;

// The calls that this thread is in: more than one where a composite's formula
// calls its parts.
thread_local int depth = 0;

struct Entered {
  Entered() noexcept { ++depth; }
  ~Entered() { --depth; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

std::vector<ops::Written> written(std::span<const TensorOperand> operands) {
  std::vector<ops::Written> result;
  for (const TensorOperand& operand : operands) {
    if (const Tensor* x = std::get_if<Tensor>(&operand.what)) {
      result.emplace_back(x->type());
    } else {
      result.emplace_back(std::get<Number>(operand.what));
    }
  }
  return result;
}

/// Runs `body`; an error leaves with the user's line and call before it, and
/// not with those of a formula that the call ran.
template <class F>
Tensor guarded(std::string_view name, std::span<const TensorOperand> operands,
               Site site, F&& body) {
  const math::FloatEnvironment environment;
  try {
    const Entered entered;
    return body();
  } catch (Error& error) {
    if (depth == 0) {
      error.add_context(ops::where(site) +
                        ops::call_text(name, written(operands)) + ": ");
    }
    throw;
  }
}

template <class F>
Tensor guarded(std::string_view name, std::span<const TensorOperand> operands,
               F&& body) {
  return guarded(name, operands, ops::call_site(operands), body);
}

/// The operands as tensors, numbers in their dtype, elementwise ones broadcast.
std::vector<Tensor> resolve(const ops::CallRules& rules,
                            std::span<const TensorOperand> operands) {
  std::vector<std::optional<Type>> types;  // none of numbers
  for (const TensorOperand& operand : operands) {
    const Tensor* x = std::get_if<Tensor>(&operand.what);
    types.push_back(x != nullptr ? std::optional(x->type()) : std::nullopt);
  }
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (types[i]) {
      result.push_back(std::get<Tensor>(operands[i].what));
    } else {
      result.push_back(Tensor::full({ops::number_dtype(rules, i, types), {}},
                                    std::get<Number>(operands[i].what)));
    }
  }
  if (rules.elementwise) {
    Shape shape;
    for (const Tensor& x : result) shape = broadcast_shapes(shape, x.shape());
    for (Tensor& x : result) x = x.broadcasted(shape);
  }
  return result;
}

template <class Op, class... Arguments>
Tensor call_as(std::string_view name,
               std::initializer_list<TensorOperand> operands,
               const Arguments&... arguments) {
  const std::span<const TensorOperand> span(operands.begin(), operands.size());
  return guarded(name, span, [&] {
    const auto x = resolve(ops::call_rules<Op>(), span);
    std::vector<Type> types;
    for (const Tensor& tensor : x) types.push_back(tensor.type());
    const Op op = ops::make_operation<Op>(types, arguments...);
    return ops::evaluate(op, op.infer(types), x);
  });
}

template <class Op, class... Arguments>
Tensor call(std::initializer_list<TensorOperand> operands,
            const Arguments&... arguments) {
  return call_as<Op>(Op::name, operands, arguments...);
}

template <ops::Composite C>
Tensor compose(std::initializer_list<TensorOperand> operands,
               const C& composite) {
  const std::span<const TensorOperand> span(operands.begin(), operands.size());
  return guarded(C::name, span, [&] {
    const auto x = resolve(ops::call_rules<C>(), span);
    std::vector<Type> types;
    for (const Tensor& tensor : x) types.push_back(tensor.type());
    composite.check(types);
    return composite.formula(Operands<Tensor>(x));
  });
}

Tensor kept(const Tensor& y, const TensorOperand& x, const Axes& axes,
            bool keep) {
  if (!keep) return y;
  const Tensor& tensor = std::get<Tensor>(x.what);
  return y.reshaped(
      ops::with_ones(tensor.shape(), normalize_axes(axes, tensor.rank())));
}

}  // namespace

using Result = Tensor;
using Argument = TensorOperand;
#include "ops/functions.inc"

Tensor iota(const Type& type, int axis, Site site) {
  return guarded("iota", {}, site, [&] {
    const ops::Iota op = ops::Iota::make({}, type, axis);
    return ops::evaluate(op, op.infer({}), {});
  });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): as its overload.
Tensor iota_like(TensorOperand like, const Type& type, int axis) {
  return iota(type, axis, like.site);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): as its overload.
Tensor full_like(TensorOperand like, const Type& type, Number number) {
  return guarded("full_like", {}, like.site, [&] {
    return Tensor::full({type.dtype, {}}, number).broadcasted(type.shape);
  });
}

Tensor concat(std::span<const Tensor> parts, int axis, Site site) {
  std::vector<TensorOperand> operands;
  for (const Tensor& part : parts) operands.emplace_back(part, site);
  return guarded("concat", operands, site, [&] {
    std::vector<Type> types;
    for (const Tensor& part : parts) types.push_back(part.type());
    const ops::Concat op = ops::Concat::make(types, axis);
    return ops::evaluate(op, op.infer(types), Operands<Tensor>(parts));
  });
}

Tensor concat(std::initializer_list<Tensor> parts, int axis, Site site) {
  return concat(std::span(parts.begin(), parts.size()), axis, site);
}

}  // namespace topos
