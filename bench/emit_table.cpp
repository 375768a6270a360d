// From a recording to StableHLO text, of the training step of a transformer in
// GPT-2's size. Nothing is computed: its 124 million parameters have types
// only.

#include <chrono>
#include <iterator>

#include "models/gpt.h"
#include "table.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

constexpr const char* stages[] = {"record", "differentiate", "lower", "emit"};

/// Milliseconds of each stage, and the text.
struct Pass {
  double ms[std::size(stages)];
  StablehloModule module;
};

Pass pass(const models::GptOptions& options) {
  using Clock = std::chrono::steady_clock;
  Pass result;
  Clock::time_point start = Clock::now();
  const auto end = [&](std::size_t stage) {
    const Clock::time_point now = Clock::now();
    result.ms[stage] =
        std::chrono::duration<double, std::milli>(now - start).count();
    start = now;
  };

  Tape tape;
  const models::Gpt gpt = models::Gpt::declared(tape, options);
  const Shape shape = {options.batch, options.time};
  const Value index = tape.input("index", i32, shape);
  const Value targets = tape.input("targets", i32, shape);
  const Value loss = cross_entropy(gpt(index), targets);
  end(0);

  Entry step;
  step.result(loss);
  const auto gradients = tape.gradients(loss);
  for (auto [parameter, next] : nn::Sgd().record(tape, gradients, 0.1)) {
    step.carry(parameter, next);
  }
  end(1);

  const Plan plan = tape.seal().lower(step);
  end(2);

  result.module = emit_stablehlo(plan);
  end(3);
  return result;
}

}  // namespace

std::vector<Row> emit_table(const Options& options) {
  constexpr int rounds = 15;
  std::vector<double> times[std::size(stages)];
  pass({});  // warm
  StablehloModule module;
  for (int round = 0; round < rounds; ++round) {
    Pass one = pass({});
    for (std::size_t i = 0; i < std::size(stages); ++i) {
      times[i].push_back(one.ms[i]);
    }
    module = std::move(one.module);
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::size(stages); ++i) {
    if (!wanted(options, stages[i])) continue;
    Row row{.table = "emit", .row = stages[i]};
    row.rival = "none";
    set_ours(row, times[i]);
    if (i + 1 == std::size(stages)) {
      row.text_bytes = module.text.size();
      row.operations = module.operation_count;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace topos::bench
