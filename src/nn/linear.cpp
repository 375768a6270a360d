#include <topos/error.h>
#include <topos/nn.h>

#include <utility>

#include "declare.h"

namespace topos::nn {

namespace {

/// Declares one parameter, drawn by the initializer if there is a generator.
Value parameter(Tape& tape, std::string name, const Shape& shape,
                SplitMix* random, const LinearOptions& options, Site site) {
  const Type type = parameter_type(options.dtype, shape);
  if (random == nullptr) {
    return tape.parameter(std::move(name), type.dtype, type.shape, site);
  }
  const Tensor initial = options.initializer(shape, *random, type.dtype);
  if (initial.type() != type) {
    throw ShapeError("the initializer was asked for " + type.text() +
                     " and gave " + initial.type().text());
  }
  return tape.parameter(std::move(name), initial, site);
}

void declare_parameters(Linear& layer, Tape& tape, std::string_view name,
                        std::int64_t in, std::int64_t out, SplitMix* random,
                        const LinearOptions& options, Site site) {
  layer.weight = declare(tape, "Linear", name, site, [&] {
    const Value weight = parameter(tape, dotted(name, "weight"), {in, out},
                                   random, options, site);
    if (options.bias) {
      layer.bias =
          parameter(tape, dotted(name, "bias"), {out}, random, options, site);
    }
    return weight;
  });
}

}  // namespace

Linear::Linear(Tape& tape, std::string_view name, std::int64_t in,
               std::int64_t out, SplitMix& random, const LinearOptions& options,
               Site site) {
  declare_parameters(*this, tape, name, in, out, &random, options, site);
}

Linear::Linear(Tape& tape, std::string_view name, std::int64_t in,
               std::int64_t out, const LinearOptions& options, Site site) {
  declare_parameters(*this, tape, name, in, out, nullptr, options, site);
}

Value Linear::operator()(Operand x) const {
  const Frame frame(x.site);
  const Value product = matmul(x, weight);
  return bias ? product + *bias : product;
}

}  // namespace topos::nn
