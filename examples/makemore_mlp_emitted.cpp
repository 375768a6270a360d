// The training step of the makemore MLP, written as StableHLO and compiled by
// XLA.
//
// One recording, three ways to train from it on the same batches:
//
//   native       the whole step on the native engine: the interpreter's bits,
//                and so what the others are held to
//   host update  XLA computes loss and gradients; all parameters are sent to
//                each step, all gradients are read, and the host updates
//   resident     XLA computes the update too: the parameters cross once, stay,
//                and are donated from step to step; only the batch and the
//                rate go there, and only the loss comes back
//
// XLA sums in other orders and rounds fewer times, so its losses are not
// native's bits: the first differs by its rounding alone, and must; the later
// ones drift as the parameters do, which the means show.

#include <topos/topos.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "makemore_emitted_report.h"
#include "makemore_training.h"
#include "progress.h"

using namespace topos;
using namespace examples;

namespace {

/// What a run starts from; nothing in it can be refused any more.
struct Job {
  EmittedOptions options;
  Engine xla;
  Samples samples;
  Makemore program;
  EmittedFigures figures;

  /// A session that has compiled the plan, so that no step has to. An error is
  /// for who runs the program: it names no line of it.
  Session open(const Engine& engine, const Plan& plan) const {
    Session session = engine.open(program.network, {}, Site());
    session.report(plan, Site());
    return session;
  }
};

/// \throws Refusal  XLA is not to be had
Engine xla_engine(const EmittedOptions& options) {
  XlaOptions xla_options;
  xla_options.devices = options.devices;
  const Engine engine = options.engine == "xla"
                            ? xla::engine(xla_options)
                            : xla_server::engine(xla_options);
  try {
    engine.description(Site());
  } catch (const RuntimeError& error) {
    throw Refusal(
        error.message() +
        (options.engine == "xla"
             ? "\nWhat to do: `make test` brings a plugin for CPUs into .venv; "
               "or name one in TOPOS_PJRT_PLUGIN; or use --engine xla-server, "
               "which wants a Python with jax instead"
             : "\nWhat to do: `make test` brings jax into .venv; or name a "
               "Python that has it in TOPOS_XLA_PYTHON; or use --engine xla, "
               "which wants a PJRT plugin instead"));
  }
  return engine;
}

EmittedPlan emitted(const Plan& plan, int devices) {
  const StablehloModule module = emit_stablehlo(plan, {.partitions = devices});
  return {plan.size(), module.operation_count, module.text.size()};
}

/// \throws Refusal, FileError  whatever would end the run later
Job prepare(const EmittedOptions& options) {
  Samples samples =
      training_samples(options.corpus, read_words(options.corpus));
  if (!options.json.empty()) check_writable(options.json);
  const Engine xla = xla_engine(options);

  const Seeds seeds = Seeds::from(options.seed);
  SplitMix shuffle_random(seeds.shuffle);
  shuffle(samples, shuffle_random);
  Makemore program = models::record_makemore(
      {.embedding = seeds.embedding, .layers = seeds.layers});

  EmittedFigures figures;
  figures.options = options;
  figures.samples = samples.count();
  figures.whole = emitted(program.train, options.devices);
  figures.gradient = emitted(program.loss_and_gradients, options.devices);
  return {options, xla, std::move(samples), std::move(program), figures};
}

/// XLA computes loss and gradients, the host the rest.
class HostUpdate {
 public:
  explicit HostUpdate(const Job& job)
      : job_(job),
        session_(job.open(job.xla, job.program.loss_and_gradients)),
        parameters_(job.program.network.parameters()) {}

  float operator()(int step) {
    const Makemore& program = job_.program;
    for (const Parameters::Item& item : parameters_.items()) {
      session_.set(item.symbol, *item.payload);
    }
    const std::size_t start = batch_start(step, job_.samples.count());
    const Run run = session_.step(
        program.loss_and_gradients,
        {{program.contexts, job_.samples.contexts_at(start, batch)},
         {program.targets, job_.samples.targets_at(start, batch)}});
    std::vector<Tensor> gradients;
    for (const Symbol gradient : program.gradients) {
      gradients.push_back(run.of(gradient));
    }
    parameters_ = sgd_.step(parameters_, gradients, rate_at(step));
    return static_cast<float>(run.scalar(program.loss));
  }

 private:
  const Job& job_;
  Session session_;
  Parameters parameters_;
  nn::Sgd sgd_;
};

/// Trains by `step`, which gives the loss of a step counted from 0.
template <class Step>
Route trained(const Job& job, std::string name, const Engine& engine,
              Step&& step) {
  using Clock = std::chrono::steady_clock;
  Route route;
  route.name = std::move(name);
  route.description = engine.description(Site());
  Progress progress(route.name, 0, job.options.steps);
  for (int i = 0; i < job.options.steps; ++i) {
    const Clock::time_point start = Clock::now();
    route.losses.push_back(step(i));
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    route.milliseconds.push_back(time.count());
    progress.show(i + 1, route.losses.back());
  }
  return route;
}

/// The same, by the whole step in a session of the engine.
Route trained(const Job& job, std::string name, const Engine& engine) {
  Session session = job.open(engine, job.program.train);
  return trained(job, std::move(name), engine, [&](int step) {
    return train_step(session, job.program, job.samples, step);
  });
}

/// \throws RuntimeError  the first losses are farther apart than rounding is
double drift_of(const std::vector<Route>& routes) {
  constexpr double most = 1e-3;
  const double expected = routes.front().losses.front();
  double drift = 0;
  for (const Route& route : routes) {
    const double found = route.losses.front();
    drift = std::max(drift, std::abs(found - expected) / expected);
    // Not a number is no small drift.
    if (!(drift < most)) {
      throw RuntimeError("the first loss is " + std::to_string(found) + " by " +
                         route.name + " and " + std::to_string(expected) +
                         " by native");
    }
  }
  return drift;
}

/// \return the exit code
int run(const Job& job) {
  const EmittedOptions& options = job.options;
  EmittedFigures figures = job.figures;
  print_beginning(figures);
  figures.routes.push_back(trained(job, "native", native::engine()));
  figures.routes.push_back(
      trained(job, options.engine + " host update", job.xla, HostUpdate(job)));
  figures.routes.push_back(trained(job, options.engine + " resident", job.xla));
  figures.drift = drift_of(figures.routes);
  print_end(figures);
  finish(options.json, json_text(figures));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(
      "makemore_mlp_emitted",
      [&]() -> std::optional<Job> {
        const auto options = parse_emitted_options(argc, argv);
        if (!options) return std::nullopt;
        return prepare(*options);
      },
      run);
}
