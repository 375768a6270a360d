#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/random_network.h"
#include "topos/topos.h"

namespace topos::test {

/// A program with what it is fed.
struct Example {
  std::string operation;
  /// `tanh, plain exchanged: gradients`.
  std::string name;
  Network network;
  Plan plan;
  /// All that the plan reads.
  std::vector<Feed> feeds;
};

/// Every row of every operation and composite that has a result, in the row's
/// dtypes and with f32 and f64 exchanged, over fed operands: the value, its
/// gradients by the floating operands under a cotangent of ones, and those of
/// each gradient. A new operation is among them without a change.
std::vector<Example> catalogue();

/// A random program: gradients, views, carries and constants are in it.
Example random_example(std::uint64_t seed, const RandomNetworkOptions& options);

}  // namespace topos::test
