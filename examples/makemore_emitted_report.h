#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "makemore_options.h"

/// \file
/// What makemore_mlp_emitted is asked, and what it tells: on the page and as
/// JSON.

namespace examples {

struct EmittedOptions : TrainingOptions {
  std::string engine = "xla";
  int devices = 1;
};

/// As `parse_options`.
std::optional<EmittedOptions> parse_emitted_options(int argc, char** argv);

/// A plan and its text.
struct EmittedPlan {
  std::size_t nodes = 0;
  std::size_t operations = 0;
  std::size_t text_bytes = 0;
};

/// One way of training, and how it went.
struct Route {
  std::string name;
  std::string description;  ///< what ran it
  std::vector<float> losses;
  std::vector<double> milliseconds;  ///< of each step

  static constexpr std::size_t mean_window = 500;
  std::vector<double> means() const;
  double median_ms() const;
  double seconds() const;
};

struct EmittedFigures {
  EmittedOptions options;
  std::size_t samples = 0;
  EmittedPlan whole;     ///< the step with its update
  EmittedPlan gradient;  ///< loss and gradients
  /// Of the first loss, relative: the greater of both routes from native's.
  double drift = 0;
  std::vector<Route> routes;  ///< native, the update on the host, resident
};

void print_beginning(const EmittedFigures& figures);
void print_end(const EmittedFigures& figures);
std::string json_text(const EmittedFigures& figures);

}  // namespace examples
