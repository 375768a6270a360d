#pragma once

#include <topos/random.h>

#include <cstdint>
#include <optional>
#include <string>

/// \file
/// The command line of makemore_mlp, and what of it other programs share.

namespace CLI {
class App;
}  // namespace CLI

namespace examples {

/// What every program that trains this model asks.
struct TrainingOptions {
  int steps = 5000;
  std::optional<std::uint64_t> seed;
  std::string corpus;
  std::string json;
};

/// Adds them to a command line, `corpus` as the list of names unless given.
void add_training_options(CLI::App& app, TrainingOptions& options);

struct MakemoreOptions : TrainingOptions {
  int threads = 0;
  std::string engine = "native";
  int compare = 200;
  std::string svg = "makemore_mlp.svg";
  std::string checkpoint = "makemore_mlp.safetensors";
  bool resume = false;
  std::string profile;
};

/// Reads the command line; none if --help or --version was asked for, and then
/// answered.
/// \throws Refusal  names the option at fault
std::optional<MakemoreOptions> parse_options(int argc, char** argv);

/// The command that continues a run: the same with --resume.
std::string resume_command(int argc, char** argv);

/// The seeds of a run.
struct Seeds {
  std::uint64_t embedding = 8;
  std::uint64_t layers = 7;
  std::uint64_t shuffle = 9;
  std::uint64_t names = 10;

  /// The recipe's own, or four numbers drawn from one seed.
  static Seeds from(std::optional<std::uint64_t> seed) {
    Seeds seeds;
    if (seed) {
      topos::SplitMix random(*seed);
      seeds.embedding = random.next();
      seeds.layers = random.next();
      seeds.shuffle = random.next();
      seeds.names = random.next();
    }
    return seeds;
  }
};

}  // namespace examples
