#pragma once

#include <cstdint>
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
  Program simplified;  // after the rewrites
  Grouping grouping;   // of `simplified`
  struct Pass {
    std::string name;
    std::size_t nodes;
  };
  std::vector<Pass> passes;
};

}  // namespace topos::engines
