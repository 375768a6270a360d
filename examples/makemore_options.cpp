#include "makemore_options.h"

#include <topos/engine.h>
#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <array>
#include <limits>

#include "command_line.h"

namespace examples {

namespace {

/// As a shell reads it.
std::string quoted(const std::string& argument) {
  const bool plain = !argument.empty() &&
                     argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}~#!") ==
                         std::string::npos;
  if (plain) return argument;
  std::string result = "'";
  for (const char c : argument) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

}  // namespace

void add_training_options(CLI::App& app, TrainingOptions& options) {
  options.corpus = default_corpus();
  app.add_option(
         "--steps", options.steps,
         "Steps to train in all; the rate is 0.1, and 0.01 from step 4000 on")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed,
                 "Seed of everything random; without it the recipe's own (8 "
                 "embedding, 7 layers, 9 shuffle, 10 samples), with it "
                 "the first four numbers of splitmix64 from SEED")
      ->type_name("SEED")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
  add_file(app, "--corpus", options.corpus,
           "Words to learn from, one a line, letters a to z (default: "
           "data/names.txt)");
  add_file(app, "--json", options.json, "Write every figure to this file");
}

std::optional<MakemoreOptions> parse_options(int argc, char** argv) {
  MakemoreOptions options;
  CLI::App app(
      "Trains a small network (embedding, tanh, cross-entropy) to continue "
      "words letter by letter, and invents new ones. One recorded plan is a "
      "whole training step.\n"
      "Ctrl-C finishes the step and saves a checkpoint; --resume continues "
      "from it with the same bits as an uninterrupted run.",
      "makemore_mlp");
  app.set_version_flag(
      "--version", "makemore_mlp of topos " + std::string(topos::version()));
  add_training_options(app, options);
  app.add_option("--engine", options.engine, "What runs the plans")
      ->type_name("NAME")
      ->check(CLI::IsMember(topos::engine_names()))
      ->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Threads to divide a step over, 0: as many as there are; any "
                 "number gives the same bits")
      ->type_name("N")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  app.add_option("--compare", options.compare,
                 "Before the training, run that many steps on the native "
                 "engine and on the interpreter side by side and compare all "
                 "losses and parameters bit for bit; 0: none")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  add_file(app, "--profile", options.profile,
           "Print where the time of the training went, and write its last "
           "steps to this file, for the Perfetto viewer");
  add_file(app, "--svg", options.svg, "Write the loss curve to this file")
      ->capture_default_str();
  add_file(app, "--checkpoint", options.checkpoint,
           "Where to save parameters and progress, at the end and on Ctrl-C")
      ->capture_default_str();
  app.add_flag("--resume", options.resume,
               "Continue from the checkpoint; its steps count")
      ->disable_flag_override();  // no --resume=3

  if (!parse(app, argc, argv)) return std::nullopt;
  if (!options.profile.empty() && options.engine != "native") {
    throw Refusal("--profile: the engine " + options.engine +
                  " takes no times; native does");
  }
  check_distinct(std::array<NamedFile, 5>{{{"--corpus", options.corpus},
                                           {"--checkpoint", options.checkpoint},
                                           {"--json", options.json},
                                           {"--profile", options.profile},
                                           {"--svg", options.svg}}});
  return options;
}

std::string resume_command(int argc, char** argv) {
  std::string command;
  bool resumes = false;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    resumes = resumes || argument == "--resume";
    if (i > 0) command += ' ';
    command += quoted(argument);
  }
  return resumes ? command : command + " --resume";
}

}  // namespace examples
