// Transformers: training steps as one plan, and a long prompt.

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "models/gpt.h"
#include "python_rivals.h"
#include "topos/topos.h"

namespace topos::bench {

namespace {

using models::GptOptions;

/// The most memory that this process ever held.
std::size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return 1024 * kilobytes;
  }
  return 0;
}

/// One of a model's programs in a session of its own.
Program program_of(std::string name, const GptOptions& options,
                   const char* which, int threads) {
  struct Held {
    models::Program program;
    Session session;
  };
  const models::Recorded recorded = models::record_gpt(options);
  std::shared_ptr<Held> held;
  for (const models::Program& program : recorded.programs) {
    if (program.name != which) continue;
    held = std::make_shared<Held>(
        Held{program, native::open(recorded.network, {.threads = threads})});
  }
  return {std::move(name), [held] {
            held->session.step(held->program.plan, Feeds(held->program.feeds));
          }};
}

/// A program on the native engine against the same, emitted, on XLA; the first
/// result is read each time.
void add_against_xla(std::vector<Row>& rows, const std::string& name,
                     const GptOptions& gpt, const char* which,
                     const Options& options) {
  if (!wanted(options, name)) return;
  Row row{.table = "small",
          .row = name,
          .threads = options.threads,
          .rival = "topos, xla"};
  const models::Recorded recorded = models::record_gpt(gpt);
  const auto program =
      std::ranges::find(recorded.programs, which, &models::Program::name);
  const Symbol result = program->plan.entry().results()[0].value;
  const auto stepping = [&](Session session) {
    const auto held = std::make_shared<Session>(std::move(session));
    return [&, held] {
      held->step(program->plan, Feeds(program->feeds)).of(result);
    };
  };
  try {
    const Engine xla = xla::engine();
    row.rival_version = xla.description();
    const auto times = measure_in_turn(
        options.threads,
        {stepping(native::open(recorded.network, {.threads = options.threads})),
         stepping(xla.open(recorded.network))});
    set_ours(row, times[0]);
    set_rival_if_faster(row, row.rival, row.rival_version, times[1]);
  } catch (const RuntimeError& error) {
    row.rival = error.what();  // no plugin
  }
  rows.push_back(row);
}

}  // namespace

std::vector<Row> small_table(const Options& options) {
  std::vector<Row> rows;
  GptOptions small;
  small.layers = 2;
  small.width = 32;
  small.heads = 2;
  small.vocabulary = 27;
  small.batch = 64;
  small.time = 8;
  small.seed = 1;
  if (wanted(options, "small")) {
    rows = against_python(
        "small", program_of("small", small, "train", options.threads), options);
  }
  add_against_xla(rows, "small, on XLA", small, "train", options);
  GptOptions block;
  block.layers = 1;
  block.vocabulary = 32;
  block.batch = 1;
  block.time = 256;
  block.seed = 1;
  add_against_xla(rows, "block of 256, on XLA", block, "last", options);
  return rows;
}

std::vector<Row> training_table(const Options& options) {
  std::vector<Row> rows;
  const auto add = [&](const char* name, const GptOptions& gpt,
                       const char* which) {
    if (!wanted(options, name)) return;
    Program program = program_of(name, gpt, which, options.threads);
    if (gpt.numerics == Numerics::fast) program.numerics = "fast";
    program.run();
    if (gpt.is_adamw) {
      program.resident_bytes = peak_bytes();
      program.rivals.emplace_back("llm.c");
    }
    const auto measured = against_python("training", program, options);
    rows.insert(rows.end(), measured.begin(), measured.end());
  };
  GptOptions step;
  step.seed = 1;
  step.is_adamw = true;
  add("gpt2 step", step, "train");
  GptOptions prompt;
  prompt.seed = 1;
  prompt.batch = 1;
  prompt.time = 1024;
  add("forward, last logits", prompt, "last");
  add("forward, all logits", prompt, "forward");
  prompt.dtype = bf16;
  add("forward, bf16", prompt, "last");
  prompt.numerics = Numerics::fast;
  add("forward, bf16", prompt, "last");
  return rows;
}

}  // namespace topos::bench
