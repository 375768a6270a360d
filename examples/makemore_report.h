#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "makemore_options.h"

/// \file
/// What makemore_mlp tells: on the page, as JSON, and as a picture.

namespace examples {

/// Every figure of a run.
struct Figures {
  // Known before the first step.
  std::string recipe;
  std::string engine;
  int threads = 0;          ///< 0: the engine's own choice
  std::string description;  ///< of the engine
  std::optional<std::uint64_t> seed;
  Seeds seeds;
  std::string corpus_file;
  std::string corpus;  ///< the words' fingerprint
  std::size_t words = 0;
  std::size_t samples = 0;
  std::int64_t parameter_count = 0;

  // Nodes of the training step: recorded for its parts, needed by the plan,
  // left after simplification; and the groups that they run in.
  std::size_t forward_nodes = 0;
  std::size_t gradient_nodes = 0;
  std::size_t update_nodes = 0;
  std::size_t recorded_nodes = 0;
  std::size_t simplified_nodes = 0;
  std::size_t groups = 0;

  std::string checkpoint;
  std::string svg;
  int first_step = 0;         ///< above 0: resumed
  std::string replaced_step;  ///< of a checkpoint that will be written over

  // Known after the last.
  int compared_steps = 0;
  double steps_per_second = 0;
  std::vector<float> losses;
  std::vector<std::string> names;
  std::size_t names_in_corpus = 0;
  std::string parameters;  ///< their fingerprint

  static constexpr int mean_window = 500;
  std::vector<double> means() const;
};

/// What is known before the first step.
void print_beginning(const Figures& figures);
/// What is known after the last.
void print_end(const Figures& figures);

std::string json_text(const Figures& figures);
/// \param subtitle  a line on how the run was made
std::string svg_text(const Figures& figures, const std::string& subtitle);

}  // namespace examples
