// Measures topos against its rivals, in turn in one run, and prints a table:
// peer, ours, ratio.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "product_rivals.h"
#include "table.h"
#include "topos/topos.h"

namespace {

using topos::bench::Row;

constexpr std::pair<const char*,
                    std::vector<Row> (*)(const topos::bench::Options&)>
    tables[] = {
        {"matmul", topos::bench::matmul_table},
        {"narrow", topos::bench::narrow_table},
        {"gemv", topos::bench::gemv_table},
        {"makemore", topos::bench::makemore_table},
        {"small", topos::bench::small_table},
        {"elementwise", topos::bench::elementwise_table},
        {"rows", topos::bench::rows_table},
        {"training", topos::bench::training_table},
        {"emit", topos::bench::emit_table},
        {"overheads", topos::bench::overheads_table},
        {"xla", topos::bench::xla_table},
};

void print(const Row& row) {
  fmt::print(
      "{:<10} {:<19} {:>7} {:>11.4f} {:>6.1f}% {:>11.4f} {:>7.2f} {:>6}  "
      "{}{}\n",
      row.table, row.row, row.threads, row.ours_ms, 100 * row.ours_spread,
      row.rival_ms, row.ratio,
      row.limit_share > 0 ? fmt::format("{:.2f}", row.limit_share) : "",
      row.rival, row.numerics == "exact" ? "" : "  (" + row.numerics + ")");
  if (row.rival_bytes > 0) {
    fmt::print("{:<27} memory: ours {:.0f} MB, rival {:.0f} MB, ratio {:.2f}\n",
               "", row.ours_bytes * 1e-6, row.rival_bytes * 1e-6,
               row.rival_bytes / row.ours_bytes);
  }
  if (row.text_bytes > 0) {
    fmt::print("{:<27} {} bytes of text, {} operations\n", "", row.text_bytes,
               row.operations);
  }
  std::cout.flush();
}

nlohmann::json json_of(const Row& row) {
  return {{"table", row.table},
          {"row", row.row},
          {"threads", row.threads},
          {"numerics", row.numerics},
          {"ours_ms", row.ours_ms},
          {"rival", row.rival},
          {"rival_version", row.rival_version},
          {"rival_ms", row.rival_ms},
          {"ratio", row.ratio},
          {"limit_share", row.limit_share},
          {"ours_bytes", row.ours_bytes},
          {"rival_bytes", row.rival_bytes},
          {"text_bytes", row.text_bytes},
          {"operations", row.operations}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures topos against its rivals.");
  std::string table;
  std::string json_path;
  topos::bench::Options options;
  std::vector<std::string> names;
  for (const auto& [name, measure] : tables) names.emplace_back(name);
  app.add_option("--table", table, "all if not named")
      ->check(CLI::IsMember(names));
  app.add_option("--row", options.pattern, "only rows whose name contains it");
  app.add_option("--threads", options.threads, "threads of both sides")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json_path, "writes the rows to this file, too");
  CLI11_PARSE(app, argc, argv);
  topos::bench::set_rivals_environment(argv, options.threads);

  try {
    fmt::print("{:<10} {:<19} {:>7} {:>11} {:>7} {:>11} {:>7} {:>6}  {}\n",
               "table", "row", "threads", "ours ms", "spread", "rival ms",
               "ratio", "limit", "rival");
    std::vector<Row> rows;
    for (const auto& [name, measure] : tables) {
      if (!table.empty() && table != name) continue;
      for (const Row& row : measure(options)) {
        print(row);
        rows.push_back(row);
      }
    }
    if (!json_path.empty()) {
      nlohmann::json json = nlohmann::json::array();
      for (const Row& row : rows) json.push_back(json_of(row));
      topos::write_file_atomically(json_path, json.dump(2) + "\n");
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
