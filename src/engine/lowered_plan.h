#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/group.h"
#include "engine/program.h"
#include "topos/plan.h"

namespace topos::engines {

/// What a Plan holds.
struct LoweredPlan {
  Entry entry;
  Program recorded;    // the closure, as recorded: what the interpreter runs
  Program simplified;  // after the rewrites, and without 16-bit arithmetic
  Grouping grouping;   // of `simplified`
  /// After the rewrites, where there is 16-bit arithmetic.
  std::optional<Program> narrow;
  struct Pass {
    std::string name;
    std::size_t nodes;
  };
  std::vector<Pass> passes;
};

}  // namespace topos::engines
