#include "recorded.h"

#include <cstdint>

namespace models {

topos::Tensor random_tokens(const topos::Shape& shape, int limit,
                            topos::SplitMix& random) {
  std::vector<std::int32_t> tokens(
      static_cast<std::size_t>(shape.element_count()));
  for (std::int32_t& token : tokens) {
    token = static_cast<std::int32_t>(random.unit() * limit);
  }
  return {shape, tokens};
}

}  // namespace models
