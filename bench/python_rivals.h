#pragma once

#include <functional>
#include <string>
#include <vector>

#include "table.h"

/// \file
/// Rivals that rivals.py has, where the project's Python has their packages.

namespace topos::bench {

/// A program of ours that rivals.py has, too.
struct Program {
  std::string name;                // there, and the row's
  std::function<void()> run;       // once, whole
  std::size_t resident_bytes = 0;  // ours; 0: not compared
  /// Times that `run` is one run of the rival's.
  int rival_units = 1;
  std::string numerics = "exact";
  std::vector<std::string> rivals = {"torch", "torch-compile", "jax"};
};

/// A row for each framework that has the program, measured in turn.
std::vector<Row> against_python(const std::string& table,
                                const Program& program, const Options& options);

}  // namespace topos::bench
