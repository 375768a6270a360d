#include <topos/nn.h>

#include "declare.h"

namespace topos::nn {

Embedding::Embedding(Tape& tape, std::string_view name, std::int64_t count,
                     std::int64_t width, SplitMix& random,
                     const EmbeddingOptions& options, Site site) {
  weight = declare(tape, "Embedding", name, site, [&] {
    const Type type = parameter_type(options.dtype, {count, width});
    return tape.parameter(
        dotted(name, "weight"),
        normal(type.shape, options.deviation, random, type.dtype), site);
  });
}

Embedding::Embedding(Tape& tape, std::string_view name, std::int64_t count,
                     std::int64_t width, const EmbeddingOptions& options,
                     Site site) {
  weight = declare(tape, "Embedding", name, site, [&] {
    const Type type = parameter_type(options.dtype, {count, width});
    return tape.parameter(dotted(name, "weight"), type.dtype, type.shape, site);
  });
}

Value Embedding::operator()(Operand index) const {
  const Frame frame(index.site);
  return gather(weight, index);
}

}  // namespace topos::nn
