#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "topos/plan.h"
#include "topos/site.h"
#include "topos/tape.h"
#include "topos/tensor.h"

/// \file
/// A plan written down as StableHLO text, which XLA compiles:
///
///     std::ofstream("step.mlir") << emit_stablehlo(plan);

namespace topos {

struct EmitOptions {
  /// Write labelled formulas (gelu, cross_entropy) as `stablehlo.composite`
  /// with their formula as the decomposition, for compilers that know them by
  /// name. The plan is then written as it was recorded, before any rewrite.
  bool composites = false;

  /// Devices that the program is partitioned over, by Shardy, the partitioner
  /// of XLA. An input whose leading extent they divide, and that is neither
  /// carried nor held, is split along it; all else is on every device. What the
  /// program means does not change.
  int partitions = 1;

  /// Give one more result that tells of indices out of range, which StableHLO
  /// leaves to the device (XLA clamps a gather's and drops a scatter's).
  /// Indices that a session checks when it is fed are left out; if none is
  /// left, there is no such result. Not with `composites`.
  bool check_indices = false;

  /// Inputs that are not fed: whoever runs the program has them from other
  /// programs. Like carries, they lie whole on each device, and indices among
  /// them are checked with the computed ones.
  std::vector<Symbol> held = {};
};

/// What `@main` takes: parameters, then inputs, both in recording order, then
/// constants that are too large for the text.
struct EmittedArgument {
  enum class Kind : std::uint8_t { parameter, input, constant };

  Kind kind = Kind::parameter;
  /// Of a parameter or an input.
  Symbol symbol;
  std::string name;
  /// Of the whole tensor, however many devices share it.
  Type type;
  /// The result that this argument, a carry, becomes: it is donated
  /// (`tf.aliasing_output`).
  std::optional<std::size_t> donated_to;
  /// Of a constant.
  std::optional<Tensor> payload;
  /// Split along its leading axis over the partitions.
  bool is_split = false;
};

/// What `@main` gives: the entry's results in its order, then the next values
/// of its carries in theirs.
struct EmittedResult {
  Symbol symbol;
  std::string name;
  Type type;
  bool is_carry = false;
};

/// An operation whose index the program checks itself.
struct EmittedIndexCheck {
  /// `gather, model.cpp:12`, for messages.
  std::string origin;
  /// Indices are in [0, extent).
  std::int64_t extent = 0;
};

/// A StableHLO module with one public function, `@main`.
struct StablehloModule {
  std::string text;
  std::vector<EmittedArgument> arguments;
  std::vector<EmittedResult> results;
  /// In recording order. If there are any, the last result is their i64[n, 2]:
  /// the row-major position of the first index out of range, -1 if none is, and
  /// that index.
  std::vector<EmittedIndexCheck> index_checks;
  /// Operations in the text, linear in the plan's nodes.
  std::size_t operation_count = 0;
};

/// Only the text.
std::ostream& operator<<(std::ostream& out, const StablehloModule& module);

/// Writes a plan as StableHLO. Linear in its nodes.
///
/// The text stays within StableHLO 1.1 (July 2024), which later versions read.
/// Constants of more than 4 KiB become arguments, unless they are a broadcast
/// or an iota. Numerics are XLA's: docs/xla.md has the bounds.
///
/// \throws UsageError  `partitions` is not positive, `held` names no input of
///                     the plan, or `check_indices` meets `composites`
StablehloModule emit_stablehlo(const Plan& plan, EmitOptions options = {},
                               Site site = Site::here());

}  // namespace topos
