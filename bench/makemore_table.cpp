// A training step of the makemore MLP, the whole of it as one plan.

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "makemore_by_hand.h"
#include "models/makemore_mlp.h"
#include "table.h"

namespace topos::bench {

std::vector<Row> makemore_table(const Options& options) {
  Row row{.table = "makemore", .row = "step", .threads = options.threads};
  if (!wanted(options, row.row)) return {};
  row.rival = "C++ by hand, plain loops";
  row.rival_version = __VERSION__;

  const models::Makemore step = models::record_makemore();
  MakemoreByHand hand = MakemoreByHand::from(step.network);
  Session session = native::open(step.network, {.threads = options.threads});
  const MakemoreBatch batch = MakemoreBatch::random();

  const auto our_step = [&] {
    return session.step(step.train, {{step.contexts, batch.contexts},
                                     {step.targets, batch.targets},
                                     {step.rate, batch.rate}});
  };
  const auto rival_step = [&] {
    return hand.step(batch.contexts.data(), batch.targets.data(), batch.rate);
  };
  // Both are the same program, or the comparison means nothing.
  const double our_loss = our_step().scalar(step.loss);
  const double rival_loss = rival_step();
  if (std::abs(our_loss - rival_loss) > 1e-5) {
    throw std::runtime_error(
        fmt::format("the losses {} and {} differ", our_loss, rival_loss));
  }
  measure(row, our_step, rival_step);
  return {row};
}

}  // namespace topos::bench
