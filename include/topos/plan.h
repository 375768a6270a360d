#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "topos/network.h"
#include "topos/site.h"
#include "topos/tape.h"

namespace topos {

/// `exact`: the interpreter's bits. `fast`: the bits of products may differ
/// inside their envelope (topos/envelope.h), where that is faster: those of
/// bf16 operands by the CPU's dot product, and with TOPOS_CBLAS, on a CPU
/// without fused multiply-add, those of f32 and f64 (docs/numerics.md).
enum class Numerics : std::uint8_t { exact, fast };

/// What one run computes: results, in this order everywhere, and carries.
///
///     Entry step;
///     step.result(loss).carry(weight, weight - rate * gradient);
class Entry {
 public:
  /// A value that the caller reads. Asking twice is asking once.
  Entry& result(Symbol value, Site site = Site::here());

  /// `next` is the value of `input`, an input or a parameter, at the next
  /// step. All carries of a step take effect together after it.
  Entry& carry(Symbol input, Symbol next, Site site = Site::here());

  Entry& numerics(Numerics numerics) {
    numerics_ = numerics;
    return *this;
  }

  struct Result {
    Symbol value;
    Site site;
  };
  struct Carry {
    Symbol input;
    Symbol next;
    Site site;
  };
  const std::vector<Result>& results() const noexcept { return results_; }
  const std::vector<Carry>& carries() const noexcept { return carries_; }
  Numerics numerics() const noexcept { return numerics_; }

 private:
  std::vector<Result> results_;
  std::vector<Carry> carries_;
  Numerics numerics_ = Numerics::exact;
};

namespace engines {
struct LoweredPlan;
}

/// An entry lowered, for no engine in particular: what runs in which order,
/// simplified and grouped. No state; a handle that threads may share.
class Plan {
 public:
  // Copies only: a plan is never empty.
  Plan(const Plan&) = default;
  Plan& operator=(const Plan&) = default;

  const Entry& entry() const noexcept;

  /// Nodes that the entry needs as recorded, before any rewrite.
  std::size_t recorded_size() const noexcept;
  /// Nodes of the simplified schedule.
  std::size_t size() const noexcept;
  /// Groups: what an engine runs at once.
  std::size_t group_count() const noexcept;

  /// Counts after each pass, then a line a node under its group.
  std::string describe() const;

  /// For the engines and readers inside the library.
  const std::shared_ptr<const engines::LoweredPlan>& lowered() const noexcept {
    return lowered_;
  }
  explicit Plan(std::shared_ptr<const engines::LoweredPlan> lowered)
      : lowered_(std::move(lowered)) {}

 private:
  std::shared_ptr<const engines::LoweredPlan> lowered_;
};

}  // namespace topos
