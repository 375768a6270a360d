#include "makemore_report.h"

#include <topos/version.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "loss_curve.h"

namespace examples {

std::vector<double> Figures::means() const {
  return window_means(losses, mean_window);
}

void print_beginning(const Figures& figures) {
  std::printf("makemore_mlp, topos %s\n", TOPOS_VERSION);
  std::printf("corpus    %s: %zu words, %zu samples\n",
              figures.corpus_file.c_str(), figures.words, figures.samples);
  std::printf("network   %" PRId64
              " parameters; recorded as %zu nodes for the "
              "loss, %zu for its gradients, %zu for the update\n",
              figures.parameter_count, figures.forward_nodes,
              figures.gradient_nodes, figures.update_nodes);
  std::printf(
      "plan      %zu nodes recorded, %zu after simplification, in %zu "
      "groups\n",
      figures.recorded_nodes, figures.simplified_nodes, figures.groups);
  std::string how = figures.description;
  if (figures.threads > 0) {
    how = std::to_string(figures.threads) +
          (figures.threads == 1 ? " thread" : " threads");
  }
  std::printf("engine    %s, %s\n", figures.engine.c_str(), how.c_str());
  if (figures.first_step > 0) {
    std::printf("resumed   %s, %d steps done\n", figures.checkpoint.c_str(),
                figures.first_step);
  }
  if (!figures.replaced_step.empty()) {
    std::printf(
        "note      a new run: it will replace %s, saved at step %s "
        "(--resume would continue it)\n",
        figures.checkpoint.c_str(), figures.replaced_step.c_str());
  }
  std::fflush(stdout);
}

void print_end(const Figures& figures) {
  const int steps = static_cast<int>(figures.losses.size());
  const std::vector<double> means = figures.means();
  std::printf("trained   %d steps, %.0f a second\n", steps - figures.first_step,
              figures.steps_per_second);

  std::printf("\n         steps    mean loss\n");
  for (std::size_t i = 0; i < means.size(); ++i) {
    const int begin = static_cast<int>(i) * Figures::mean_window;
    std::printf("%6d to %5d    %.4f\n", begin,
                std::min(begin + Figures::mean_window, steps) - 1, means[i]);
  }
  std::printf("\nfirst loss %.4f, last mean %.4f\n",
              static_cast<double>(figures.losses.front()), means.back());

  std::printf("\n%zu new names (%zu of them are in the corpus):\n",
              figures.names.size(), figures.names_in_corpus);
  for (std::size_t i = 0; i < figures.names.size(); ++i) {
    std::printf("%s%s%s", i % 5 == 0 ? "  " : ", ", figures.names[i].c_str(),
                i % 5 == 4 ? "\n" : "");
  }
  std::printf("\nparameters  fingerprint %s\n", figures.parameters.c_str());
}

std::string json_text(const Figures& figures) {
  nlohmann::ordered_json out;
  out["program"] = "makemore_mlp";
  out["version"] = TOPOS_VERSION;
  out["recipe"] = figures.recipe;
  out["engine"] = figures.engine;
  out["threads"] = figures.threads;
  out["seed"] = nullptr;
  if (figures.seed) out["seed"] = *figures.seed;
  out["seeds"] = {{"embedding", figures.seeds.embedding},
                  {"layers", figures.seeds.layers},
                  {"shuffle", figures.seeds.shuffle},
                  {"names", figures.seeds.names}};
  out["corpus"] = {{"file", figures.corpus_file},
                   {"words", figures.words},
                   {"samples", figures.samples},
                   {"fingerprint", figures.corpus}};
  out["parameter_count"] = figures.parameter_count;
  out["nodes"] = {{"forward", figures.forward_nodes},
                  {"gradient", figures.gradient_nodes},
                  {"update", figures.update_nodes},
                  {"recorded", figures.recorded_nodes},
                  {"simplified", figures.simplified_nodes},
                  {"groups", figures.groups}};
  out["compared_steps"] = figures.compared_steps;
  out["first_step"] = figures.first_step;
  out["steps"] = figures.losses.size();
  out["steps_per_second"] = figures.steps_per_second;
  out["first_loss"] = figures.losses.front();
  out["mean_window"] = Figures::mean_window;
  out["means"] = figures.means();
  out["names"] = figures.names;
  out["names_in_corpus"] = figures.names_in_corpus;
  out["parameters"] = figures.parameters;
  out["checkpoint"] = figures.checkpoint;
  out["svg"] = figures.svg;
  out["losses"] = figures.losses;
  return out.dump(1) + "\n";
}

std::string svg_text(const Figures& figures, const std::string& subtitle) {
  return LossCurve("makemore MLP: training loss", subtitle, figures.losses,
                   Figures::mean_window)
      .svg();
}

}  // namespace examples
