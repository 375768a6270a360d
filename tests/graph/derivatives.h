#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/differences.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/functions.h"
#include "topos/network.h"
#include "topos/tape.h"

namespace topos::test {

/// A network of f64 inputs: records a value from them.
using Formula = std::function<Value(Tape&, std::span<const Value>)>;

/// The sum of x times fixed numbers: a scalar in which no element is like
/// another.
inline Value weighted_sum(Tape& tape, Value x, Random& random) {
  return sum(x * tape.constant(random.tensor(x.shape(), 0.5, 1.5)));
}

/// For each node, whether the value is computed from it.
inline std::vector<bool> nodes_behind(const Network& network, Symbol value) {
  const graph::Graph& graph = *network.graph();
  std::vector<bool> result(graph.size());
  result[value.node] = true;
  for (std::uint32_t node = value.node + 1; node-- > 0;) {
    if (!result[node]) continue;
    for (std::uint32_t operand : graph.operands(node)) result[operand] = true;
  }
  return result;
}

/// Compares the first `orders` derivatives of a formula, by each input and at
/// `x`, with central differences of the derivative before. The derivative of
/// order n + 1 is that of a weighted sum of all those of order n, so mixed
/// ones are among them.
inline void expect_derivatives(const Formula& formula,
                               const std::vector<Tensor>& x, int orders,
                               double tolerance = 1e-7) {
  constexpr std::uint64_t seed = 20250301;
  Random random(seed);
  Tape tape;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < x.size(); ++i) {
    inputs.push_back(tape.input("x" + std::to_string(i), f64, x[i].shape()));
  }
  std::vector<Symbol> losses;
  std::vector<std::vector<Value>> gradients;
  Value loss = weighted_sum(tape, formula(tape, inputs), random);
  for (int order = 1; order <= orders; ++order) {
    losses.push_back(loss);
    gradients.push_back(tape.differentiate(loss, inputs));
    Value next = tape.constant(Tensor::scalar(0.0));
    for (Value gradient : gradients.back()) {
      next = next + weighted_sum(tape, gradient, random);
    }
    loss = next;
  }
  const Network network = tape.seal();
  const auto evaluate = [&](Symbol value, std::span<const Tensor> at) {
    const std::vector<bool> read = nodes_behind(network, value);
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (read[inputs[i].symbol().node]) feeds.emplace_back(inputs[i], at[i]);
    }
    return network.evaluate(value, feeds);
  };
  for (std::size_t order = 0; order < losses.size(); ++order) {
    const Function f = [&](std::span<const Tensor> at) {
      return evaluate(losses[order], at);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE("derivative " + std::to_string(order + 1) + " by input " +
                   std::to_string(i) + ", seed " + std::to_string(seed));
      EXPECT_THAT(evaluate(gradients[order][i], x),
                  IsNear(differences(f, x, i, Tensor::scalar(1.0)), tolerance));
    }
  }
}

}  // namespace topos::test
