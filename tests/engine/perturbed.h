#pragma once

#include <cstdint>
#include <vector>

#include "topos/topos.h"

namespace topos::test {

/// The results, then the next values of the carries, as an engine may compute
/// them that keeps no order and no elementary function: sums in f32 in a random
/// order, products fused into sums or not, single operations through f64,
/// elementary functions as wrong as XLA's, divisions by a reciprocal,
/// subnormals flushed. The same for the same seed.
std::vector<Tensor> perturbed(const Network& network, const Plan& plan,
                              Feeds feeds, std::uint64_t seed);

}  // namespace topos::test
