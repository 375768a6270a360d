// What `topos verify` tells: on the page and as JSON.
#include <topos/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "verify.h"

namespace tools {

namespace {

constexpr std::size_t name_width = 50;
constexpr std::size_t type_width = 16;
constexpr std::size_t cell_width = 24;

std::string short_text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2g", x);
  return buffer;
}

/// What one engine made of one result.
std::string cell(const Check& check) {
  if (!check.error.empty()) return "FAILS";
  std::string text;
  if (check.promise == Promise::bits && check.passed) {
    text = "equal bits";
  } else {
    text = short_text(check.difference.largest);
    if (check.promise == Promise::envelope) {
      text += ", ratio " + short_text(check.difference.ratio);
    }
  }
  if (check.promise == Promise::envelope && check.difference.undecided > 0) {
    text += " (" + std::to_string(check.difference.undecided) + " ?)";
  }
  return check.passed ? text : "FAILS " + text;
}

/// In the order in which they come first.
template <class Key>
std::vector<std::string> distinct(const std::vector<Check>& checks, Key key) {
  std::vector<std::string> names;
  for (const Check& check : checks) {
    if (std::ranges::find(names, check.*key) == names.end()) {
      names.push_back(check.*key);
    }
  }
  return names;
}

nlohmann::json json_of(const Check& check) {
  nlohmann::json shape = nlohmann::json::array();
  for (const std::int64_t extent : check.type.shape) shape.push_back(extent);
  nlohmann::json json = {
      {"model", check.model},
      {"program", check.program},
      {"result", check.result},
      {"kind", check.is_carry ? "carry" : "result"},
      {"dtype", topos::name(check.type.dtype)},
      {"shape", shape},
      {"engine", check.engine},
      {"promise", check.promise == Promise::bits ? "bits" : "envelope"},
      {"passed", check.passed}};
  if (!check.error.empty()) {
    json["error"] = check.error;
    return json;
  }
  // What is infinite or NaN becomes null.
  const topos::Difference& difference = check.difference;
  json["largest_difference"] = difference.largest;
  json["ratio_to_bound"] = difference.ratio;
  json["at"] = {{"position", difference.position},
                {"expected", difference.expected},
                {"found", difference.found},
                {"bound", difference.bound}};
  json["undecided_elements"] = difference.undecided;
  json["elements"] = check.type.shape.element_count();
  return json;
}

}  // namespace

void print_promises() {
  std::cout << "\ninterpreter and native: equal bits. The others: the largest "
               "difference, and its\nratio to the bound that follows from the "
               "program's roundings, of 2^-24 in f32 and\n2^-53 in f64; "
               "integers and booleans are equal. A (n ?) counts elements of "
               "which\nnothing can be said. docs/envelope.md has the rules.\n";
}

void print_checks(const std::vector<Check>& checks) {
  if (checks.empty()) return;
  std::cout << '\n'
            << column(checks.front().model + ", " + checks.front().program,
                      name_width)
            << column("type", type_width);
  const std::vector<std::string> engines = distinct(checks, &Check::engine);
  for (const std::string& engine : engines) {
    std::cout << column(engine, cell_width);
  }
  std::cout << '\n';
  // Engine by engine, the same results in the same order.
  const std::size_t results = checks.size() / engines.size();
  for (std::size_t i = 0; i < results; ++i) {
    std::cout << column("  " + checks[i].result +
                            (checks[i].is_carry ? ", next" : ""),
                        name_width)
              << column(checks[i].type.text(), type_width);
    for (std::size_t j = i; j < checks.size(); j += results) {
      std::cout << column(cell(checks[j]), cell_width);
    }
    std::cout << '\n';
  }
  for (std::size_t j = 0; j < checks.size(); j += results) {
    if (!checks[j].error.empty()) {
      std::cout << "  " << checks[j].engine << ": " << checks[j].error << '\n';
    }
  }
  for (const Check& check : checks) {
    if (check.error.empty() && !check.passed) {
      std::cout << "  " << check.engine << ", " << check.result << ": "
                << check.difference.text() << '\n';
    }
  }
  std::cout.flush();
}

void print_summary(const std::vector<Check>& checks,
                   const std::vector<StartedEngine>& engines) {
  const auto passed = std::ranges::count(checks, true, &Check::passed);
  const auto running = std::ranges::count_if(engines, &StartedEngine::can_run);
  const auto open = std::ranges::count_if(checks, &Check::says_nothing);
  std::cout << '\n'
            << checks.size() << " results on " << running
            << " engines: " << passed << " pass";
  if (open > 0) {
    std::cout << " (" << open << " of them are undecided altogether)";
  }
  std::cout << ", " << static_cast<std::ptrdiff_t>(checks.size()) - passed
            << " fail; "
            << static_cast<std::ptrdiff_t>(engines.size()) - running
            << " engines skipped\n";
}

std::string json_text(const std::vector<Check>& checks,
                      const std::vector<StartedEngine>& engines) {
  nlohmann::json json;
  json["topos"] = topos::version();
  for (const StartedEngine& engine : engines) {
    json["engines"].push_back(
        {{"name", engine.name},
         {"status", engine.can_run() ? "verified" : "skipped"},
         {engine.can_run() ? "description" : "reason", engine.description}});
  }
  const auto passed = std::ranges::count(checks, true, &Check::passed);
  json["passed"] = passed;
  json["undecided"] = std::ranges::count_if(checks, &Check::says_nothing);
  json["failed"] = static_cast<std::ptrdiff_t>(checks.size()) - passed;
  json["checks"] = nlohmann::json::array();
  for (const Check& check : checks) json["checks"].push_back(json_of(check));
  return json.dump(2) + "\n";
}

}  // namespace tools
