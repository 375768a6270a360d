#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program.h"
#include "stablehlo/writer.h"
#include "topos/emit.h"

/// \file
/// Indices that a program checks itself, since StableHLO leaves those out of
/// range to the device.

namespace topos::emit {

/// An operation whose index nobody has checked before the program runs.
struct UncheckedIndex {
  std::uint32_t node;   // the operation
  std::uint32_t index;  // its index operand
  std::int64_t extent;  // that indices have to stay below
};

/// In recording order. `recorded` is the program before any rewrite, whose
/// feeds a session checks, but for those among `held`.
std::vector<UncheckedIndex> unchecked_indices(const engines::Program& program,
                                              const engines::Program& recorded,
                                              std::span<const Symbol> held);

/// i64[n, 2] of n indices: where the first one out of range is, row-major, or
/// -1, and which one it is.
stablehlo::Value write_index_faults(
    stablehlo::Writer& out, std::span<const UncheckedIndex> checks,
    std::span<const stablehlo::Value> values_of_nodes);

}  // namespace topos::emit
