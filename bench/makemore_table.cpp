// A training step of the makemore MLP, the whole of it as one plan.

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "makemore_by_hand.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

using Hand = MakemoreByHand;

/// The recorded step with its session.
struct Recorded {
  Value contexts, targets, rate, loss;
  Network network;
  Plan plan;
  Session session;

  static Recorded make(const Hand& hand, const SessionOptions& options) {
    Tape tape;
    const Value table = tape.parameter(
        "table", Tensor({Hand::vocabulary, Hand::embedding}, hand.table));
    const Value hidden_weight = tape.parameter(
        "hidden.weight",
        Tensor({Hand::features, Hand::hidden}, hand.hidden_weight));
    const Value hidden_bias =
        tape.parameter("hidden.bias", Tensor({Hand::hidden}, hand.hidden_bias));
    const Value output_weight = tape.parameter(
        "output.weight",
        Tensor({Hand::hidden, Hand::vocabulary}, hand.output_weight));
    const Value output_bias = tape.parameter(
        "output.bias", Tensor({Hand::vocabulary}, hand.output_bias));
    const Value contexts =
        tape.input("contexts", i32, {Hand::batch, Hand::context});
    const Value targets = tape.input("targets", i32, {Hand::batch});
    const Value rate = tape.input("rate", f32, {});
    const Value x =
        reshape(gather(table, contexts), {Hand::batch, Hand::features});
    const Value h = tanh(matmul(x, hidden_weight) + hidden_bias);
    const Value loss =
        cross_entropy(matmul(h, output_weight) + output_bias, targets);
    Entry entry;
    entry.result(loss);
    for (const auto& [parameter, gradient] : tape.gradients(loss)) {
      entry.carry(parameter, parameter - rate * gradient);
    }
    Network network = tape.seal();
    Plan plan = network.lower(entry);
    Session session = native::open(network, options);
    return {contexts, targets, rate, loss, network, plan, std::move(session)};
  }
};

Hand initial() {
  SplitMix random(7);
  const auto draw = [&](const Shape& shape) {
    return uniform(shape, 0.2, random).to_vector<float>();
  };
  return {draw({Hand::vocabulary, Hand::embedding}),
          draw({Hand::features, Hand::hidden}), draw({Hand::hidden}),
          draw({Hand::hidden, Hand::vocabulary}), draw({Hand::vocabulary})};
}

}  // namespace

std::vector<Row> makemore_table(const Options& options) {
  Row row{.table = "makemore", .row = "step", .threads = options.threads};
  if (!wanted(options, row.row)) return {};
  row.rival = "C++ by hand, plain loops";
  row.rival_version = __VERSION__;

  Hand hand = initial();
  Recorded ours = Recorded::make(hand, {.threads = options.threads});
  std::vector<std::int32_t> contexts(Hand::batch * Hand::context);
  std::vector<std::int32_t> targets(Hand::batch);
  SplitMix random(9);
  for (auto& c : contexts) c = static_cast<std::int32_t>(random.next() % 27);
  for (auto& t : targets) t = static_cast<std::int32_t>(random.next() % 27);

  const auto our_step = [&] {
    return ours.session.step(ours.plan, {{ours.contexts, contexts},
                                         {ours.targets, targets},
                                         {ours.rate, 0.01}});
  };
  const auto rival_step = [&] {
    return hand.step(contexts.data(), targets.data(), 0.01f);
  };
  // Both are the same program, or the comparison means nothing.
  const double our_loss = our_step().scalar(ours.loss);
  const double rival_loss = rival_step();
  if (std::abs(our_loss - rival_loss) > 1e-5) {
    throw std::runtime_error(
        fmt::format("the losses {} and {} differ", our_loss, rival_loss));
  }
  measure(row, our_step, rival_step);
  return {row};
}

}  // namespace topos::bench
