#include "stablehlo/walk.h"

#include <cstring>

namespace topos::stablehlo_text {

void copy_elements(const Shape& shape, std::size_t width,
                   const std::byte* source, const Track& from,
                   std::byte* target, const Track& to) {
  const auto bytes = static_cast<std::int64_t>(width);
  walk(shape, std::array{from, to}, [&](const auto& at) {
    std::memcpy(target + at[1] * bytes, source + at[0] * bytes, width);
  });
}

}  // namespace topos::stablehlo_text
