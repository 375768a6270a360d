#pragma once

#include <cstdint>

#include "support/random.h"
#include "topos/tensor.h"

namespace topos::test {

/// Random elements: numbers around 1, small integers with their ties and zeros
/// of both signs, or a wide range of exponents; if `wild`, NaN, infinities,
/// subnormals and the extreme integers, too. With a bound: integers below it.
Tensor random_elements(const Type& type, Random& random, bool wild,
                       std::int64_t bound = 0);

/// The same elements in another order in storage: permuted or reversed.
Tensor restrided(const Tensor& x, Random& random);

}  // namespace topos::test
