// From a recording to StableHLO text, of the training step of a transformer in
// GPT-2's size and of one four times as deep. Nothing is computed: the
// parameters have types only.

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

void add_stages(std::vector<Row>& rows, const models::GptOptions& gpt,
                const std::string& suffix, const Options& options) {
  constexpr int rounds = 15;
  std::vector<double> times[std::size(stages)];
  StablehloModule module = pass(gpt).module;  // warm
  for (int round = 0; round < rounds; ++round) {
    Pass one = pass(gpt);
    for (std::size_t i = 0; i < std::size(stages); ++i) {
      times[i].push_back(one.ms[i]);
    }
    module = std::move(one.module);
  }
  for (std::size_t i = 0; i < std::size(stages); ++i) {
    Row row{.table = "emit", .row = stages[i] + suffix};
    if (!wanted(options, row.row)) continue;
    row.rival = "none";
    set_ours(row, times[i]);
    if (i + 1 == std::size(stages)) {
      row.text_bytes = module.text.size();
      row.operations = module.operation_count;
    }
    rows.push_back(row);
  }
}

}  // namespace

std::vector<Row> emit_table(const Options& options) {
  std::vector<Row> rows;
  models::GptOptions gpt;
  add_stages(rows, gpt, "", options);
  gpt.layers *= 4;
  add_stages(rows, gpt, ", 48 layers", options);
  return rows;
}

}  // namespace topos::bench
