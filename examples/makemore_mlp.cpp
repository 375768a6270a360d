// The makemore MLP: learns from a list of names how names go on, letter by
// letter, and invents new ones.
//
// After Karpathy's makemore and [Bengio et al. 2003, "A neural probabilistic
// language model"]: three letters of context, an embedding of each, one hidden
// layer. A whole training step (loss, gradients, update) is one plan whose
// parameters are carried; a second plan of the same network, stepped by the
// same session, samples. Only the batch and the rate cross into a step.

#include <topos/topos.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "corpus.h"
#include "fingerprint.h"
#include "interrupt.h"
#include "loss_curve.h"
#include "makemore_checkpoint.h"
#include "makemore_options.h"
#include "progress.h"

using namespace topos;
using namespace examples;

namespace {

// ---- The recipe ----------------------------------------------------------

constexpr int context_length = 3;
constexpr int embedding_width = 10;
constexpr int hidden_width = 100;
constexpr int batch = 64;
constexpr int slow_from = 4000;
constexpr char recipe[] =
    "context 3, embedding 10, hidden 100 tanh, batch 64, "
    "sgd 0.1, 0.01 from step 4000";

double rate_at(int step) { return step < slow_from ? 0.1 : 0.01; }

std::size_t batch_start(int step, std::size_t samples) {
  return static_cast<std::size_t>(step) * batch % (samples - batch);
}

struct Mlp {
  nn::Embedding embedding;
  nn::Linear hidden;
  nn::Linear output;

  /// Context letters [rows, context_length] to logits [rows, vocabulary].
  Value operator()(Operand contexts) const {
    const Frame frame(contexts.site);
    const std::int64_t rows = contexts.type().shape[0];
    const Value x =
        reshape(embedding(contexts), {rows, context_length * embedding_width});
    return output(tanh(hidden(x)));
  }

  void visit(auto&& visitor) const {
    visitor("embedding", embedding);
    visitor("hidden", hidden);
    visitor("output", output);
  }
};

// ---- The program ---------------------------------------------------------

/// How many nodes each part of the recording took.
struct NodeCounts {
  std::size_t forward = 0;
  std::size_t gradient = 0;
  std::size_t update = 0;
};

/// The network with its two plans and what goes in and out of them.
struct Program {
  Network network;
  NodeCounts nodes;

  Plan train;
  Symbol contexts, targets, rate, loss;

  Plan sample;
  Symbol context, next;
};

Program record(const Seeds& seeds) {
  Tape tape;
  SplitMix embedding_random(seeds.embedding);
  SplitMix layer_random(seeds.layers);
  const Mlp mlp = {
      {tape, "embedding", vocabulary, embedding_width, embedding_random},
      {tape, "hidden", context_length * embedding_width, hidden_width,
       layer_random},
      {tape, "output", hidden_width, vocabulary, layer_random}};

  const Value contexts = tape.input("contexts", i32, {batch, context_length});
  const Value targets = tape.input("targets", i32, {batch});
  const Value rate = tape.input("rate", f32, {});
  NodeCounts nodes;

  const Value loss = nn::cross_entropy(mlp(contexts), targets);
  nodes.forward = tape.size();
  const auto gradients = tape.gradients(loss);
  nodes.gradient = tape.size() - nodes.forward;
  Entry step;
  step.result(loss);
  for (auto [parameter, next] : nn::Sgd().record(tape, gradients, rate)) {
    step.carry(parameter, next);
  }
  nodes.update = tape.size() - nodes.forward - nodes.gradient;

  const Value context = tape.input("context", i32, {1, context_length});
  const Value next = softmax(mlp(context));

  const Network network = tape.seal();
  return {network,
          nodes,
          network.lower(step),
          contexts,
          targets,
          rate,
          loss,
          network.lower(Entry().result(next)),
          context,
          next};
}

/// One step on the session's parameters; copies nothing, allocates nothing.
float train_step(Session& session, const Program& program,
                 const Samples& samples, int step) {
  const std::size_t start = batch_start(step, samples.count());
  const Run run = session.step(
      program.train, {{program.contexts, samples.contexts_at(start, batch)},
                      {program.targets, samples.targets_at(start, batch)},
                      {program.rate, rate_at(step)}});
  return static_cast<float>(run.scalar(program.loss));
}

/// Draws letters from the network's distribution until it ends the name.
std::string sample_name(Session& session, const Program& program,
                        SplitMix& random) {
  constexpr std::size_t longest = 30;
  std::array<std::int32_t, context_length> context = {};
  std::array<float, vocabulary> probability;
  std::string name;
  while (name.size() < longest) {
    session
        .step(program.sample,
              {{program.context, std::span<const std::int32_t>(context)}})
        .read_into(program.next, std::span<float>(probability));
    const double u = random.unit();
    double sum = 0;
    int token = -1;
    while (sum <= u && token + 1 < vocabulary) sum += probability[++token];
    if (token == 0) break;
    name += letter(token);
    std::rotate(context.begin(), context.begin() + 1, context.end());
    context.back() = token;
  }
  return name;
}

// ---- A run of it ---------------------------------------------------------

/// All that is known before the first step; nothing in it can be refused any
/// more.
struct Job {
  MakemoreOptions options;
  std::vector<std::string> words;
  Samples samples;
  std::string corpus;  // fingerprint
  Seeds seeds;
  Program program;
  Parameters parameters;  // to start from
  RunState state;         // to start from

  Session open(const Engine& engine) const {
    return engine.open(program.network, parameters,
                       {.threads = options.threads});
  }
};

const RunStateFile& run_state_file() {
  static const RunStateFile file("makemore_mlp", recipe);
  return file;
}

std::string fingerprint(const std::vector<std::string>& words) {
  Fingerprint result;
  for (const std::string& word : words) {
    result.add(word);
    result.add("\n");
  }
  return result.text();
}

/// Of the parameters' bytes, in recording order.
std::string fingerprint(const Parameters& parameters) {
  Fingerprint result;
  for (const auto& item : parameters.items()) {
    result.add(std::as_bytes(item.payload->contiguous().span<float>()));
  }
  return result.text();
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

/// \throws Refusal, FileError  anything that would end the run later
Job prepare(const MakemoreOptions& options) {
  std::vector<std::string> words = read_words(options.corpus);
  Samples samples = make_samples(words, context_length);
  if (samples.count() <= batch) {
    throw Refusal(options.corpus + ": " + std::to_string(samples.count()) +
                  " samples are too few: a batch is " + std::to_string(batch) +
                  ", and there must be more");
  }
  if (!options.json.empty()) check_writable(options.json);
  check_writable(options.svg);
  check_writable(options.checkpoint);

  const std::string corpus = fingerprint(words);
  RunState state;
  if (options.resume) {
    state = resumed_state(options, corpus);
  } else {
    run_state_file().check_replaceable(options.checkpoint);
    state.seed = options.seed;
    state.corpus = corpus;
  }

  const Seeds seeds = Seeds::from(state.seed);
  SplitMix shuffle_random(seeds.shuffle);
  shuffle(samples, shuffle_random);
  Program program = record(seeds);
  Parameters parameters =
      options.resume ? load_safetensors(options.checkpoint, program.network)
                     : program.network.parameters();
  return {options, std::move(words),   std::move(samples),    corpus,
          seeds,   std::move(program), std::move(parameters), std::move(state)};
}

void save(const Job& job, const Session& session, const RunState& state) {
  save_safetensors(job.options.checkpoint, job.program.network,
                   session.parameters(), run_state_file().metadata(state));
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
    const float expected =
        train_step(reference, job.program, job.samples, step);
    if (std::bit_cast<std::uint32_t>(loss) !=
        std::bit_cast<std::uint32_t>(expected)) {
      throw RuntimeError("step " + std::to_string(step) + ": the loss is " +
                         std::to_string(loss) + " on native and " +
                         std::to_string(expected) + " on the interpreter");
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

// ---- What it tells -------------------------------------------------------

constexpr int mean_window = 500;
constexpr int name_count = 20;

struct Figures {
  int first_step = 0;
  int compared = 0;
  double steps_per_second = 0;
  std::vector<double> means;
  std::vector<std::string> names;
  std::size_t known_names = 0;
  std::string parameters;  // fingerprint
  Session::Report report;
};

void print_job(const Job& job, const Session::Report& report) {
  const MakemoreOptions& options = job.options;
  const NodeCounts& nodes = job.program.nodes;
  const Plan& plan = job.program.train;
  std::printf("makemore_mlp, topos %s\n", TOPOS_VERSION);
  std::printf("corpus    %s: %zu words, %zu samples\n", options.corpus.c_str(),
              job.words.size(), job.samples.count());
  std::printf("network   %" PRId64
              " parameters; recorded as %zu nodes for the "
              "loss, %zu for its gradients, %zu for the update\n",
              job.parameters.element_count(), nodes.forward, nodes.gradient,
              nodes.update);
  std::printf(
      "plan      %zu nodes recorded, %zu after simplification, in %zu "
      "groups\n",
      plan.recorded_size(), plan.size(), plan.group_count());
  std::printf("engine    %s, %d thread%s\n", options.engine.c_str(),
              report.threads, report.threads == 1 ? "" : "s");
  if (options.resume) {
    std::printf("resumed   %s, %d steps done\n", options.checkpoint.c_str(),
                job.state.step);
  }
  std::fflush(stdout);
}

void print_figures(const RunState& state, const Figures& figures) {
  std::printf("trained   %d steps, %.0f a second\n",
              state.step - figures.first_step, figures.steps_per_second);

  std::printf("\n         steps    mean loss\n");
  for (std::size_t i = 0; i < figures.means.size(); ++i) {
    const int begin = static_cast<int>(i) * mean_window;
    std::printf("%6d to %5d    %.4f\n", begin,
                std::min(begin + mean_window, state.step) - 1,
                figures.means[i]);
  }
  std::printf("\nfirst loss %.4f, last mean %.4f\n\n%d new names",
              static_cast<double>(state.losses.front()), figures.means.back(),
              name_count);
  std::printf(" (%zu of them are in the corpus):\n", figures.known_names);
  for (std::size_t i = 0; i < figures.names.size(); ++i) {
    std::printf("%s%s", i % 5 == 0 ? "  " : ", ", figures.names[i].c_str());
    if (i % 5 == 4) std::printf("\n");
  }
  std::printf("\nparameters  fingerprint %s\n", figures.parameters.c_str());
}

nlohmann::ordered_json json(const Job& job, const RunState& state,
                            const Figures& figures) {
  const MakemoreOptions& options = job.options;
  const Program& program = job.program;
  nlohmann::ordered_json out;
  out["program"] = "makemore_mlp";
  out["version"] = TOPOS_VERSION;
  out["recipe"] = recipe;
  out["engine"] = options.engine;
  out["threads"] = figures.report.threads;
  out["seeds"] = {{"embedding", job.seeds.embedding},
                  {"layers", job.seeds.layers},
                  {"shuffle", job.seeds.shuffle},
                  {"names", job.seeds.names}};
  out["corpus"] = {{"file", options.corpus},
                   {"words", job.words.size()},
                   {"samples", job.samples.count()},
                   {"fingerprint", job.corpus}};
  out["nodes"] = {{"forward", program.nodes.forward},
                  {"gradient", program.nodes.gradient},
                  {"update", program.nodes.update},
                  {"recorded", program.train.recorded_size()},
                  {"simplified", program.train.size()},
                  {"groups", program.train.group_count()}};
  out["parameter_count"] = job.parameters.element_count();
  out["compared_steps"] = figures.compared;
  out["first_step"] = figures.first_step;
  out["steps"] = state.step;
  out["steps_per_second"] = figures.steps_per_second;
  out["first_loss"] = state.losses.front();
  out["mean_window"] = mean_window;
  out["means"] = figures.means;
  out["names"] = figures.names;
  out["names_in_corpus"] = figures.known_names;
  out["parameters"] = figures.parameters;
  out["losses"] = state.losses;
  out["checkpoint"] = options.checkpoint;
  out["svg"] = options.svg;
  return out;
}

std::string svg(const Job& job, const RunState& state) {
  const std::string subtitle =
      std::to_string(job.words.size()) + " words, " +
      std::to_string(state.step) + " steps of batch " + std::to_string(batch) +
      ", SGD at 0.1" +
      (state.step > slow_from ? ", 0.01 from step " + std::to_string(slow_from)
                              : "");
  return LossCurve("makemore MLP: training loss", subtitle, state.losses,
                   mean_window)
      .svg();
}

/// The command that continues this run.
std::string resume_command(int argc, char** argv, bool resumes) {
  std::string command;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool plain = !argument.empty() &&
                       argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}~#!") ==
                           std::string::npos;
    if (i > 0) command += ' ';
    if (plain) {
      command += argument;
      continue;
    }
    command += '\'';
    for (const char c : argument) {
      command += c == '\'' ? "'\\''" : std::string(1, c);
    }
    command += '\'';
  }
  return resumes ? command : command + " --resume";
}

/// \return the exit code
int run(const Job& job, const std::string& resume) {
  const MakemoreOptions& options = job.options;
  const Interrupt interrupt;
  Session session = job.open(engine(options.engine));
  RunState state = job.state;
  Figures figures;
  figures.first_step = state.step;
  figures.report = session.report(job.program.train);
  print_job(job, figures.report);

  figures.compared = compare_engines(job, interrupt);
  if (interrupt.asked()) {
    std::fprintf(stderr, "interrupted before the training: nothing to save\n");
    return Interrupt::exit_code;
  }
  if (figures.compared > 0) {
    std::printf(
        "compared  %d steps on native and interpreter: all losses and "
        "parameters are equal bit for bit\n",
        figures.compared);
  }

  figures.steps_per_second = train(job, session, state, interrupt);
  save(job, session, state);
  if (state.step < options.steps) {
    std::fprintf(stderr,
                 "interrupted after %d of %d steps, saved in %s\n"
                 "continue with: %s\n",
                 state.step, options.steps, options.checkpoint.c_str(),
                 resume.c_str());
    return Interrupt::exit_code;
  }

  figures.means = window_means(state.losses, mean_window);
  figures.parameters = fingerprint(session.parameters());
  SplitMix random(job.seeds.names);
  const std::set<std::string> known(job.words.begin(), job.words.end());
  for (int i = 0; i < name_count; ++i) {
    figures.names.push_back(sample_name(session, job.program, random));
    figures.known_names += known.count(figures.names.back());
  }
  print_figures(state, figures);

  write_file_atomically(options.svg, svg(job, state));
  std::printf("loss curve  %s\n", options.svg.c_str());
  std::printf("checkpoint  %s\n", options.checkpoint.c_str());
  if (!options.json.empty()) {
    write_file_atomically(options.json,
                          json(job, state, figures).dump(1) + "\n");
    std::printf("figures     %s\n", options.json.c_str());
  }
  if (std::fflush(stdout) != 0) {
    throw RuntimeError("the output cannot be written");
  }
  return 0;
}

constexpr int failed = 1;
constexpr int refused = 2;

int complain(const std::exception& error, int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "makemore_mlp: %s\n", error.what());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<Job> job;
  try {
    const auto options = parse_options(argc, argv);
    if (!options) return 0;
    job = prepare(*options);
  } catch (const Refusal& error) {
    return complain(error, refused);
  } catch (const FileError& error) {
    return complain(error, refused);
  } catch (const std::exception& error) {
    return complain(error, failed);
  }
  try {
    return run(*job, resume_command(argc, argv, job->options.resume));
  } catch (const std::exception& error) {
    return complain(error, failed);
  }
}
