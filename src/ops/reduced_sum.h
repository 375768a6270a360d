#pragma once

#include "ops/sum_reference.h"
#include "tensor/layout.h"

namespace topos::ops {

/// The f64 sum of the elements that `reduced` lays out, not rounded.
template <class T>
double reduced_sum(const T* x, const Layout& reduced) {
  SumAccumulator sum;
  for_each_position(
      reduced, [&](std::int64_t i) { sum.add(static_cast<double>(x[i])); });
  return sum.total();
}

}  // namespace topos::ops
