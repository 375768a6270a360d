#pragma once

#include <string>
#include <vector>

#include "topos/tensor.h"

namespace topos::test {

/// A tensor under another layout, and what that layout is.
struct Variant {
  std::string layout;
  Tensor tensor;
};

/// Tensors of the same type and elements as `x` in other layouts: with the
/// axes' order in storage reversed, with negative strides, with gaps (full of
/// noise) between elements, and with stride 0 along each axis whose elements
/// are all equal. Those that would be contiguous are left out.
std::vector<Variant> variants(const Tensor& x);

}  // namespace topos::test
