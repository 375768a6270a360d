#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/random.h"
#include "topos/topos.h"

namespace topos::test {

/// One training step of a small network like makemore's: a table of letters, a
/// hidden layer, cross-entropy, gradient descent.
struct MakemoreStep {
  static constexpr std::int64_t letters = 27;
  static constexpr std::int64_t width = 3 * 10;
  static constexpr std::int64_t hidden = 32;

  explicit MakemoreStep(std::int64_t samples) : batch(samples) {
    Tape tape;
    const auto parameter = [&](const char* name, const Shape& shape) {
      const double scale = shape.rank() == 2 ? 0.3 : 0.1;
      return tape.parameter(
          name, cast(Random(next_seed++).tensor(shape, -scale, scale), f32));
    };
    const Value table = parameter("table", {letters, 10});
    const Value w1 = parameter("hidden.weight", {width, hidden});
    const Value b1 = parameter("hidden.bias", {hidden});
    const Value w2 = parameter("output.weight", {hidden, letters});
    const Value b2 = parameter("output.bias", {letters});
    contexts = tape.input("contexts", i32, {batch, 3});
    targets = tape.input("targets", i32, {batch});
    rate = tape.input("rate", f32, {});
    const Value x = reshape(gather(table, contexts), {batch, width});
    logits = matmul(tanh(matmul(x, w1) + b1), w2) + b2;
    loss = cross_entropy(logits, targets);
    Entry step;
    step.result(loss);
    for (const auto& [p, gradient] : tape.gradients(loss)) {
      step.carry(p, p - rate * gradient);
      parameters.push_back(p);
    }
    network.emplace(tape.seal());
    train.emplace(network->lower(step));
    sample.emplace(network->lower(Entry().result(logits)));
  }

  /// The contexts, targets and rate of a step.
  std::vector<Feed> feeds(std::uint64_t step) const {
    Random random(1000 + step);
    const auto drawn = [&](const Shape& shape) {
      std::vector<std::int32_t> elements;
      for (std::int64_t i = 0; i < shape.element_count(); ++i) {
        elements.push_back(static_cast<std::int32_t>(random.below(letters)));
      }
      return Tensor(shape, elements);
    };
    return {
        {contexts, drawn({batch, 3})}, {targets, drawn({batch})}, {rate, 0.1f}};
  }

  std::int64_t batch;
  std::uint64_t next_seed = 1;
  Value contexts, targets, rate, logits, loss;
  std::vector<Value> parameters;
  std::optional<Network> network;
  std::optional<Plan> train, sample;
};

}  // namespace topos::test
