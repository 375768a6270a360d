#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topos/topos.h"

namespace topos::test {

struct RandomNetworkOptions {
  /// Calls recorded, about; composites and derivatives record more.
  int calls = 24;
  /// Elements of a value, at most.
  std::int64_t greatest = 64;
};

/// What a step is fed, with the memory that borrowed elements lie in.
struct OwnedFeeds {
  std::vector<Tensor> storage;
  std::vector<Feed> feeds;
};

/// A valid program over all operations and composites, and all that a session
/// needs to step it.
struct RandomNetwork {
  std::uint64_t seed;
  Network network;
  Entry entry;
  std::vector<Symbol> results;
  std::vector<Symbol> carried;
  /// Set before the first step.
  std::vector<std::pair<Symbol, Tensor>> initial;

  struct Fed {
    Symbol symbol;
    Type type;
    std::int64_t bound;  // of an index: it stays below; else 0
  };
  /// The inputs that the entry reads and no state holds.
  std::vector<Fed> fed;
  /// All inputs of the network.
  std::vector<Fed> inputs;
  bool wild;  // NaN, infinities, subnormals among the elements

  /// For `some` of the inputs; the same for the same step.
  OwnedFeeds feeds(int step, const std::vector<Fed>& some) const;
};

/// The same program for the same seed and options, on every machine: random
/// shapes (rank 0 to 4, extents 0 and 1 among them), mixed dtypes, views of
/// views, broadcasts, shared subexpressions, indices fed and computed,
/// gradients; results that are views, leaves or constants; carries that swap,
/// stay, share a next value or take a view.
RandomNetwork random_network(std::uint64_t seed,
                             const RandomNetworkOptions& options);

/// Steps the program in a session of the interpreter and in native ones with
/// each of `threads`, three times, and compares all results and all carried
/// state. \return what differs; empty if nothing does
std::string compare_engines(const RandomNetwork& random,
                            const std::vector<int>& threads);

/// How often each operation occurs in what an entry needs, added to `counts`,
/// which is by position in the catalogue.
void count_operations(const Plan& plan, std::vector<std::int64_t>& counts);

}  // namespace topos::test
