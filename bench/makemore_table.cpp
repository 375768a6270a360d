// A training step of the makemore MLP, the whole of it as one plan.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "makemore_avx512.h"
#include "makemore_by_hand.h"
#include "models/makemore_mlp.h"
#include "python_rivals.h"
#include "table.h"

namespace topos::bench {

namespace {

/// Of the six products of a step.
constexpr double product_flops =
    3.0 * 2 * MakemoreByHand::batch * MakemoreByHand::hidden *
    (MakemoreByHand::features + MakemoreByHand::vocabulary);

}  // namespace

std::vector<Row> makemore_table(const Options& options) {
  const models::Makemore step = models::record_makemore();
  Session session = native::open(step.network, {.threads = options.threads});
  const MakemoreBatch batch = MakemoreBatch::random();
  const auto our_step = [&] {
    return session.step(step.train, {{step.contexts, batch.contexts},
                                     {step.targets, batch.targets},
                                     {step.rate, batch.rate}});
  };

  std::vector<Row> rows;
  const double limit = machine_limits(1).gigaflops;
  const auto against = [&](const char* name, const char* rival,
                           const std::function<double()>& rival_step) {
    if (!wanted(options, name)) return;
    Row row{.table = "makemore", .row = name, .threads = options.threads};
    row.rival = rival;
    row.rival_version = __VERSION__;
    // Both are the same program, or the comparison means nothing.
    Session fresh = native::open(step.network, {.threads = options.threads});
    const double our_loss =
        fresh
            .step(step.train, {{step.contexts, batch.contexts},
                               {step.targets, batch.targets},
                               {step.rate, batch.rate}})
            .scalar(step.loss);
    const double rival_loss = rival_step();
    if (std::abs(our_loss - rival_loss) > 1e-5) {
      throw std::runtime_error(
          fmt::format("the losses {} and {} differ", our_loss, rival_loss));
    }
    measure(row, our_step, rival_step);
    row.limit_share = product_flops * 1e-6 / row.ours_ms / limit;
    rows.push_back(row);
    fmt::print("{}: {:.2f} of the limit of fused multiply-adds on one thread\n",
               rival, product_flops * 1e-6 / row.rival_ms / limit);
  };
  MakemoreByHand loops = MakemoreByHand::from(step.network);
  against("loops", "C++ by hand, plain loops", [&] {
    return loops.step(batch.contexts.data(), batch.targets.data(), batch.rate);
  });
  if (MakemoreAvx512::available()) {
    const auto tiles =
        std::make_unique<MakemoreAvx512>(MakemoreByHand::from(step.network));
    against("tiles", "C++ by hand, AVX-512 tiles", [&] {
      return tiles->step(batch.contexts.data(), batch.targets.data(),
                         batch.rate);
    });
  }
  // One step a call, and for jax 200 in a loop that it compiles.
  for (const auto& [name, units] :
       {std::pair("makemore", 1), std::pair("makemore loop", 200)}) {
    if (!wanted(options, name)) continue;
    Program program{name, [&] { our_step().scalar(step.loss); }};
    program.rival_units = units;
    for (Row& measured : against_python("makemore", program, options)) {
      rows.push_back(std::move(measured));
    }
  }
  return rows;
}

}  // namespace topos::bench
