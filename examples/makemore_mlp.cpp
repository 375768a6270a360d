// The makemore MLP: learns from a list of names how names go on, letter by
// letter, and invents new ones.
//
// The model is recorded in models/makemore_mlp.cpp. A whole training step
// (loss, gradients, update) is one plan whose parameters are carried; a second
// plan of the same network, stepped by the same session, samples. Only the
// batch and the rate cross into a step.

#include "models/makemore_mlp.h"

#include <topos/topos.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "fingerprint.h"
#include "interrupt.h"
#include "makemore_checkpoint.h"
#include "makemore_options.h"
#include "makemore_report.h"
#include "makemore_training.h"
#include "progress.h"

using namespace topos;
using namespace examples;
using models::makemore::recipe;
using models::makemore::slow_from;

namespace {

/// Draws letters from the network's distribution until it ends the name; one
/// that ends before its first letter is begun again.
std::string sample_name(Session& session, const Makemore& program,
                        SplitMix& random) {
  constexpr int most_draws = 30;
  std::array<std::int32_t, context_length> context = {};
  std::array<float, vocabulary> probability;
  std::string name;
  for (int draw = 0; draw < most_draws; ++draw) {
    session
        .step(program.sample,
              {{program.context, std::span<const std::int32_t>(context)}})
        .read_into(program.probabilities, std::span<float>(probability));
    // The first letter at which the probabilities sum up to more than u.
    const double u = random.unit();
    double sum = 0;
    int token = -1;
    while (sum <= u && token + 1 < vocabulary) sum += probability[++token];
    if (token == 0 && name.empty()) continue;
    if (token == 0) break;
    name += letter(token);
    std::rotate(context.begin(), context.begin() + 1, context.end());
    context.back() = token;
  }
  return name;
}

// ---- A run of it ---------------------------------------------------------

/// What a run starts from; nothing in it can be refused any more.
struct Job {
  MakemoreOptions options;
  std::vector<std::string> words;
  Samples samples;
  Makemore program;
  Parameters parameters;
  RunState state;
  Figures figures;

  /// An error is for who runs the program: it names no line of it.
  Session open(const Engine& engine) const {
    return engine.open(
        program.network, parameters,
        {.threads = options.threads, .profile = !options.profile.empty()},
        Site());
  }
};

const RunStateFile& run_state_file() {
  static const RunStateFile file("makemore_mlp", recipe);
  return file;
}

/// Where to continue from; the seed comes from the checkpoint unless given.
RunState resumed_state(const MakemoreOptions& options,
                       const std::string& corpus) {
  RunState state = run_state_file().read(options.checkpoint);
  const auto refuse = [&](const std::string& why) {
    throw Refusal(options.checkpoint + ": " + why);
  };
  if (state.corpus != corpus) {
    refuse("trained on other words than those of " + options.corpus);
  }
  if (options.seed && options.seed != state.seed) {
    refuse("trained with " + (state.seed
                                  ? "--seed " + std::to_string(*state.seed)
                                  : "the recipe's seeds, without --seed"));
  }
  if (state.step > options.steps) {
    refuse("is at step " + std::to_string(state.step) + " already, beyond " +
           "--steps " + std::to_string(options.steps));
  }
  return state;
}

void fill(Figures& figures, const MakemoreOptions& options,
          const Makemore& program) {
  figures.recipe = recipe;
  figures.engine = options.engine;
  figures.corpus_file = options.corpus;
  figures.checkpoint = options.checkpoint;
  figures.svg = options.svg;
  figures.forward_nodes = program.nodes.forward;
  figures.gradient_nodes = program.nodes.gradient;
  figures.update_nodes = program.nodes.update;
  figures.recorded_nodes = program.train.recorded_size();
  figures.simplified_nodes = program.train.size();
  figures.groups = program.train.group_count();
}

/// \throws Refusal  an engine does not open, as with an unknown TOPOS_TARGET or
///                  without a PJRT plugin
void check_engines(const Job& job) {
  try {
    job.open(engine(job.options.engine));
    if (job.options.compare > 0) job.open(native::engine());
  } catch (const UsageError& error) {
    throw Refusal(error.message());
  } catch (const RuntimeError& error) {
    throw Refusal(error.message());
  }
}

/// \throws Refusal, FileError  whatever would end the run later
Job prepare(const MakemoreOptions& options) {
  std::vector<std::string> words = read_words(options.corpus);
  Samples samples = training_samples(options.corpus, words);
  if (!options.json.empty()) check_writable(options.json);
  if (!options.profile.empty()) check_writable(options.profile);
  check_writable(options.svg);
  check_writable(options.checkpoint);

  Figures figures;
  figures.corpus = fingerprint_of(words);
  figures.words = words.size();
  figures.samples = samples.count();
  RunState state;
  if (options.resume) {
    state = resumed_state(options, figures.corpus);
  } else {
    state.seed = options.seed;
    state.corpus = figures.corpus;
    figures.replaced_step =
        run_state_file().replaceable_step(options.checkpoint);
  }
  figures.first_step = state.step;
  figures.seed = state.seed;
  figures.seeds = Seeds::from(state.seed);

  SplitMix shuffle_random(figures.seeds.shuffle);
  shuffle(samples, shuffle_random);
  Makemore program = models::record_makemore(
      {.embedding = figures.seeds.embedding, .layers = figures.seeds.layers});
  Parameters parameters =
      options.resume ? load_safetensors(options.checkpoint, program.network)
                     : program.network.parameters();
  figures.parameter_count = parameters.element_count();
  fill(figures, options, program);
  Job job = {options,
             std::move(words),
             std::move(samples),
             std::move(program),
             std::move(parameters),
             std::move(state),
             std::move(figures)};
  check_engines(job);
  return job;
}

/// Steps [first, last) on the native engine and on the interpreter, from the
/// job's start.
/// \return          how many were compared; fewer if interrupted
/// \throws RuntimeError  a loss or a parameter differs in a bit
int compare_engines(const Job& job, const Interrupt& interrupt) {
  const int first = job.state.step;
  const int last = std::min(job.options.steps, first + job.options.compare);
  if (last == first) return 0;
  Session plan = job.open(native::engine());
  Session reference = job.open(interpreter::engine());
  Progress progress("comparing", first, last);
  int step = first;
  while (step < last && !interrupt.asked()) {
    const float loss = train_step(plan, job.program, job.samples, step);
    const Tensor ours = Tensor::scalar(loss);
    const Tensor theirs =
        Tensor::scalar(train_step(reference, job.program, job.samples, step));
    if (!bits_equal(ours, theirs)) {
      throw RuntimeError("step " + std::to_string(step) + ": the loss is " +
                         ours.text() + " on native and " + theirs.text() +
                         " on the interpreter");
    }
    progress.show(++step, loss);
  }
  const Parameters ours = plan.parameters();
  const Parameters theirs = reference.parameters();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!bits_equal(*ours.items()[i].payload, *theirs.items()[i].payload)) {
      throw RuntimeError("after step " + std::to_string(step) + " \"" +
                         ours.items()[i].name +
                         "\" differs between native and the interpreter");
    }
  }
  return step - first;
}

/// Trains from the job's start until its last step or an interruption.
/// \return steps a second
double train(const Job& job, Session& session, RunState& state,
             const Interrupt& interrupt) {
  const int last = job.options.steps;
  state.losses.reserve(static_cast<std::size_t>(last));
  Progress progress("training", state.step, last);
  while (state.step < last && !interrupt.asked()) {
    const float loss =
        train_step(session, job.program, job.samples, state.step);
    state.losses.push_back(loss);
    progress.show(++state.step, loss);
  }
  return progress.steps_per_second(state.step);
}

std::string how_it_was_trained(const Figures& figures) {
  std::string text = std::to_string(figures.words) + " words, " +
                     std::to_string(figures.losses.size()) +
                     " steps of batch " + std::to_string(batch) +
                     ", SGD at 0.1";
  if (figures.losses.size() > slow_from) {
    text += ", 0.01 from step " + std::to_string(slow_from);
  }
  return text;
}

/// \return the exit code
int run(const Job& job, const std::string& resume) {
  constexpr int name_count = 20;
  const MakemoreOptions& options = job.options;
  const Interrupt interrupt;
  Session session = job.open(engine(options.engine));
  Figures figures = job.figures;
  figures.threads = session.report(job.program.train).threads;
  figures.description = engine(options.engine).description();
  print_beginning(figures);

  figures.compared_steps = compare_engines(job, interrupt);
  if (interrupt.asked()) {
    std::fprintf(stderr, "interrupted before the training: nothing to save\n");
    return Interrupt::exit_code;
  }
  if (figures.compared_steps > 0) {
    std::printf(
        "compared  %d steps on native and interpreter: all losses and "
        "parameters are equal bit for bit\n",
        figures.compared_steps);
  }

  RunState state = job.state;
  figures.steps_per_second = train(job, session, state, interrupt);
  save_safetensors(options.checkpoint, job.program.network,
                   session.parameters(), run_state_file().metadata(state));
  if (state.step < options.steps) {
    std::fprintf(stderr,
                 "interrupted after %d of %d steps, saved in %s\n"
                 "continue with: %s\n",
                 state.step, options.steps, options.checkpoint.c_str(),
                 resume.c_str());
    return Interrupt::exit_code;
  }

  if (!options.profile.empty()) {
    const Profile profile = session.profile(job.program.train);
    std::printf("%s", profile.table().c_str());
    write_file_atomically(options.profile, profile.trace());
  }

  figures.losses = state.losses;
  figures.parameters = fingerprint_of(session.parameters());
  SplitMix random(figures.seeds.names);
  const std::set<std::string> known(job.words.begin(), job.words.end());
  for (int i = 0; i < name_count; ++i) {
    figures.names.push_back(sample_name(session, job.program, random));
    figures.names_in_corpus += known.count(figures.names.back());
  }
  print_end(figures);

  write_file_atomically(options.svg,
                        svg_text(figures, how_it_was_trained(figures)));
  std::printf("loss curve  %s\ncheckpoint  %s\n", options.svg.c_str(),
              options.checkpoint.c_str());
  finish(options.json, json_text(figures));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(
      "makemore_mlp",
      [&]() -> std::optional<Job> {
        const auto options = parse_options(argc, argv);
        if (!options) return std::nullopt;
        return prepare(*options);
      },
      [&](const Job& job) { return run(job, resume_command(argc, argv)); });
}
