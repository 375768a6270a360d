#include "makemore_emitted_report.h"

#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "command_line.h"
#include "loss_curve.h"

namespace examples {

std::optional<EmittedOptions> parse_emitted_options(int argc, char** argv) {
  EmittedOptions options;
  CLI::App app(
      "Trains the network of makemore_mlp on XLA and compares: its training "
      "step is written as StableHLO and compiled, once as a whole, with the "
      "parameters kept where XLA runs, and once for loss and gradients alone, "
      "with all parameters sent to each step. The native engine trains on the "
      "same batches first and is what both are held to.",
      "makemore_mlp_emitted");
  app.set_version_flag("--version", "makemore_mlp_emitted of topos " +
                                        std::string(topos::version()));
  add_training_options(app, options);
  app.add_option("--engine", options.engine,
                 "xla: in this process, through a PJRT plugin; xla-server: in "
                 "a Python process with jax")
      ->type_name("NAME")
      ->check(CLI::IsMember({"xla", "xla-server"}))
      ->capture_default_str();
  app.add_option("--devices", options.devices,
                 "Devices that XLA divides each batch over")
      ->type_name("N")
      ->check(whole_number(1, 64))
      ->capture_default_str();
  if (!parse(app, argc, argv)) return std::nullopt;
  check_distinct(std::array<NamedFile, 2>{
      {{"--corpus", options.corpus}, {"--json", options.json}}});
  return options;
}

std::vector<double> Route::means() const {
  return window_means(losses, mean_window);
}

double Route::median_ms() const {
  std::vector<double> sorted = milliseconds;
  const auto middle =
      sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double Route::seconds() const {
  return std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / 1000;
}

void print_beginning(const EmittedFigures& figures) {
  std::printf("makemore_mlp_emitted, topos %s\n", TOPOS_VERSION);
  std::printf("corpus    %s: %zu samples\n", figures.options.corpus.c_str(),
              figures.samples);
  const auto print_plan = [](const char* what, const EmittedPlan& plan) {
    std::printf(
        "emitted   %s: %zu nodes as %zu operations, %zu bytes of "
        "StableHLO\n",
        what, plan.nodes, plan.operations, plan.text_bytes);
  };
  print_plan("the whole step", figures.whole);
  print_plan("loss and gradients", figures.gradient);
  std::fflush(stdout);
}

void print_end(const EmittedFigures& figures) {
  std::printf("\nfirst loss");
  for (const Route& route : figures.routes) {
    std::printf("%s %s %.6f", &route == figures.routes.data() ? " " : ",",
                route.name.c_str(), static_cast<double>(route.losses.front()));
  }
  std::printf("; relative drift %.1e\n\n         steps", figures.drift);
  for (const Route& route : figures.routes) {
    std::printf("  %22s", route.name.c_str());
  }
  std::vector<std::vector<double>> means;
  for (const Route& route : figures.routes) means.push_back(route.means());
  for (std::size_t i = 0; i < means.front().size(); ++i) {
    const std::size_t begin = i * Route::mean_window;
    const std::size_t end = std::min(begin + Route::mean_window,
                                     figures.routes.front().losses.size());
    std::printf("\n%6zu to %5zu", begin, end - 1);
    for (const auto& mean : means) std::printf("  %22.4f", mean[i]);
  }
  std::printf("\n\n");
  for (const Route& route : figures.routes) {
    std::printf("%-22s  %.4f ms a step (median), %.2f s in all; %s\n",
                route.name.c_str(), route.median_ms(), route.seconds(),
                route.description.c_str());
  }
}

std::string json_text(const EmittedFigures& figures) {
  nlohmann::ordered_json out;
  out["program"] = "makemore_mlp_emitted";
  out["version"] = TOPOS_VERSION;
  out["engine"] = figures.options.engine;
  out["devices"] = figures.options.devices;
  out["seed"] = nullptr;
  if (figures.options.seed) out["seed"] = *figures.options.seed;
  out["corpus"] = {{"file", figures.options.corpus},
                   {"samples", figures.samples}};
  out["steps"] = figures.options.steps;
  out["nodes"] = figures.whole.nodes;
  out["text_bytes"] = figures.whole.text_bytes;
  const auto json_of = [](const EmittedPlan& plan) {
    return nlohmann::ordered_json{{"nodes", plan.nodes},
                                  {"operations", plan.operations},
                                  {"text_bytes", plan.text_bytes}};
  };
  out["plans"] = {{"whole", json_of(figures.whole)},
                  {"gradient", json_of(figures.gradient)}};
  out["drift"] = figures.drift;
  out["mean_window"] = Route::mean_window;
  for (const Route& route : figures.routes) {
    out["engines"][route.name] = {{"description", route.description},
                                  {"ms_per_step", route.median_ms()},
                                  {"seconds", route.seconds()},
                                  {"means", route.means()},
                                  {"losses", route.losses}};
  }
  return out.dump(1) + "\n";
}

}  // namespace examples
