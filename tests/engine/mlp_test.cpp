// The main job in small: a makemore MLP trains with the same bits on every
// engine, with any number of threads, compiled or updated on the host.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

constexpr std::int64_t batch_size = 32;
constexpr int step_count = 50;

struct Batch {
  std::vector<std::int32_t> contexts;
  std::vector<std::int32_t> targets;
};

/// Names of a language in which each letter tends to follow from the last.
std::vector<Batch> batches() {
  Random random(5);
  std::vector<Batch> result(step_count);
  for (Batch& batch : result) {
    for (std::int64_t i = 0; i < batch_size; ++i) {
      std::int32_t letter = 0;
      for (int k = 0; k < 3; ++k) {
        letter = static_cast<std::int32_t>(random.below(27));
        batch.contexts.push_back(letter);
      }
      batch.targets.push_back(
          static_cast<std::int32_t>((letter * 5 + random.below(3)) % 27));
    }
  }
  return result;
}

struct Mlp {
  Mlp() {
    Tape tape;
    SplitMix rng(7);
    SplitMix table_rng(8);
    const nn::Embedding table(tape, "table", 27, 10, table_rng);
    const nn::Linear hidden(tape, "hidden", 30, 100, rng);
    const nn::Linear output(tape, "output", 100, 27, rng);
    contexts = tape.input("contexts", i32, {batch_size, 3});
    targets = tape.input("targets", i32, {batch_size});
    rate = tape.input("rate", f32, {});
    const Value x = reshape(table(contexts), {batch_size, 30});
    logits = output(tanh(hidden(x)));
    loss = nn::cross_entropy(logits, targets);
    Entry carried;
    carried.result(loss);
    Entry read;
    read.result(loss);
    for (const auto& [parameter, gradient] : tape.gradients(loss)) {
      parameters.push_back(parameter);
      gradients.push_back(gradient);
      carried.carry(parameter, parameter - rate * gradient);
      read.result(gradient);
    }
    network.emplace(tape.seal());
    train.emplace(network->lower(carried));
    differentiate.emplace(network->lower(read));
  }

  std::vector<Feed> feeds(const Batch& batch) const {
    return {{contexts, batch.contexts}, {targets, batch.targets}};
  }

  Value contexts, targets, rate, logits, loss;
  std::vector<Symbol> parameters, gradients;
  std::optional<Network> network;
  std::optional<Plan> train, differentiate;
};

/// The losses, then the parameters at the end.
struct Course {
  std::vector<float> losses;
  std::vector<Tensor> parameters;
};

Course train(const Mlp& mlp, Session session) {
  Course result;
  for (const Batch& batch : batches()) {
    std::vector<Feed> feeds = mlp.feeds(batch);
    feeds.emplace_back(mlp.rate, 0.1f);
    float loss = 0;
    session.step(*mlp.train, feeds).read_into(mlp.loss, std::span(&loss, 1));
    result.losses.push_back(loss);
  }
  for (Symbol parameter : mlp.parameters) {
    result.parameters.push_back(session.state(parameter));
  }
  return result;
}

/// Reads gradients, updates on the host, and opens the new parameters.
Course train_on_host(const Mlp& mlp, Engine engine) {
  Course result;
  Parameters parameters = mlp.network->parameters();
  for (const Batch& batch : batches()) {
    Session session = engine.open(*mlp.network, parameters);
    const auto run = session.step(*mlp.differentiate, mlp.feeds(batch));
    result.losses.push_back(static_cast<float>(run.scalar(mlp.loss)));
    std::vector<Tensor> gradients;
    for (Symbol gradient : mlp.gradients) gradients.push_back(run.of(gradient));
    parameters = parameters.step(
        gradients,
        [](const Tensor& p, const Tensor& g) { return p - 0.1f * g; });
  }
  for (Symbol parameter : mlp.parameters) {
    result.parameters.push_back(parameters.of(parameter));
  }
  return result;
}

void expect_equal(const Course& expected, const Course& found) {
  EXPECT_EQ(expected.losses, found.losses);
  ASSERT_EQ(expected.parameters.size(), found.parameters.size());
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    EXPECT_TRUE(bits_equal(expected.parameters[i], found.parameters[i])) << i;
  }
}

TEST(MakemoreMlp, TrainsWithTheSameBitsHoweverItRuns) {
  const Mlp mlp;
  const Course expected = train(mlp, interpreter::open(*mlp.network));
  ASSERT_EQ(expected.parameters.size(), 5u);
  EXPECT_LT(expected.losses.back(), expected.losses.front() - 0.2f);
  for (int threads : {1, 2, 7}) {
    SCOPED_TRACE(threads);
    expect_equal(expected,
                 train(mlp, native::open(*mlp.network,
                                         SessionOptions{.threads = threads})));
  }
  expect_equal(expected, train_on_host(mlp, native::engine()));
  expect_equal(expected, train_on_host(mlp, interpreter::engine()));
}

TEST(MakemoreMlp, HasAsFewNodesAsItsFormulas) {
  const Mlp mlp;
  // The original's joint graph has 37 forward and 84 gradient nodes.
  EXPECT_LE(mlp.train->recorded_size(), 121u) << mlp.train->describe();
  EXPECT_LE(mlp.train->size(), mlp.train->recorded_size());
  Session session = native::open(*mlp.network);
  EXPECT_EQ(session.report(*mlp.train).reference_nodes, 0u)
      << session.describe(*mlp.train);
}

TEST(MakemoreMlp, SamplesFromTheStateThatItTrains) {
  const Mlp mlp;
  const Plan sample = mlp.network->lower(Entry().result(mlp.logits));
  Session session = native::open(*mlp.network);
  Session plain = interpreter::open(*mlp.network);
  const std::vector<Batch> all = batches();
  for (int i = 0; i < 5; ++i) {
    const Batch& batch = all[static_cast<std::size_t>(i)];
    std::vector<Feed> feeds = mlp.feeds(batch);
    feeds.emplace_back(mlp.rate, 0.1f);
    session.step(*mlp.train, feeds);
    plain.step(*mlp.train, feeds);
    const Feed context[] = {{mlp.contexts, batch.contexts}};
    EXPECT_TRUE(bits_equal(session.step(sample, context).of(mlp.logits),
                           plain.step(sample, context).of(mlp.logits)));
  }
}

}  // namespace
}  // namespace topos::test
