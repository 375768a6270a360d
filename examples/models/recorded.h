#pragma once

#include <topos/topos.h>

#include <string>
#include <vector>

/// \file
/// What every model of the catalogue is, once recorded.

namespace models {

/// A program of a model, with what one step of it is fed.
struct Program {
  std::string name;  ///< `forward`, `train`
  topos::Plan plan;
  std::vector<topos::Feed> feeds;
};

struct Recorded {
  topos::Network network;
  std::vector<Program> programs;
};

/// i32 of the given shape, uniform in [0, limit).
topos::Tensor random_tokens(const topos::Shape& shape, int limit,
                            topos::SplitMix& random);

}  // namespace models
