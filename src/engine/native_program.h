#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/lowered_plan.h"
#include "engine/memory.h"
#include "engine/profile.h"
#include "engine/single.h"
#include "engine/tile.h"

namespace topos::engines {

/// A plan compiled for this machine: what runs group by group, and where in
/// one arena every value lies. A step neither allocates nor looks anything up.
class NativeProgram {
 public:
  NativeProgram(std::shared_ptr<const LoweredPlan> plan, int threads);

  /// One group, and its scratch.
  struct Step {
    std::optional<TileProgram> tile;
    std::optional<SingleProgram> single;
    std::size_t scratch_block = 0;
    int parts = 1;
    std::optional<std::uint32_t> kept = std::nullopt;
  };

  /// A right operand that stays from step to step: where it lies packed, and
  /// whether what lies there is up to date.
  struct Kept {
    std::byte* packed = nullptr;
    bool ready = false;
  };

  /// Where the elements of a node lie.
  struct Place {
    enum class Kind : std::uint8_t {
      none,   // inside its group, or a view
      leaf,   // fed, carried or placed
      block,  // in the arena
      carry   // in the state of a carried leaf: written in place
    };
    Kind kind = Kind::none;
    std::uint32_t index = 0;  // of the block; of the carry
  };

  /// Elements that are copied when all groups have run: snapshots of leaves
  /// that the step overwrites or that the caller owns, then carries.
  struct Copy {
    Access from;
    Type type;
    std::uint32_t to = 0;  // a block; a carry
    /// Of a carry from a snapshot: its block.
    std::optional<std::uint32_t> block = std::nullopt;
  };

  const Program& program() const noexcept { return plan_->simplified; }
  const std::vector<Step>& steps() const noexcept { return steps_; }
  const std::vector<Place>& places() const noexcept { return places_; }
  const std::vector<Block>& blocks() const noexcept { return blocks_; }
  const std::vector<Copy>& snapshots() const noexcept { return snapshots_; }
  const std::vector<Copy>& commits() const noexcept { return commits_; }
  /// Where result `index` is read: a node, or the block of a snapshot.
  struct ResultPlace {
    Access access;
    std::optional<std::uint32_t> block;
  };
  const std::vector<ResultPlace>& results() const noexcept { return results_; }
  /// The products whose right operand is kept.
  const std::vector<const Product*>& kept() const noexcept { return kept_; }
  std::size_t arena_bytes() const noexcept { return arena_bytes_; }
  std::size_t reference_nodes() const noexcept;

  /// Runs all groups and the snapshots. `arena` has arena_bytes(), aligned;
  /// `addresses` have the leaves and what is in the arena; `kept` is by product
  /// of kept(), and all are packed afterwards. A recorder, if there is one,
  /// gets all times.
  void run(const Addresses& addresses, std::byte* arena,
           std::span<const Kept> kept, IndexFault& fault,
           ProfileRecorder* recorder) const;

  /// How many threads a step has at most.
  int workers() const noexcept { return workers_; }

  std::string describe() const;

 private:
  class Planner;

  void run_tiles(std::size_t group, const Addresses& addresses,
                 std::byte* scratch, const Kept* kept,
                 ProfileRecorder* recorder) const;

  std::shared_ptr<const LoweredPlan> plan_;
  int threads_;
  int workers_;
  std::vector<Step> steps_;
  std::vector<Place> places_;
  std::vector<Block> blocks_;
  std::vector<Copy> snapshots_;
  std::vector<Copy> commits_;
  std::vector<ResultPlace> results_;
  std::vector<const Product*> kept_;
  std::size_t arena_bytes_ = 0;
};

}  // namespace topos::engines
