#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/feeds.h"
#include "engine/lowered_plan.h"
#include "topos/engine.h"

namespace topos::engines {

/// An engine: one object a process, without state.
class EngineImplementation {
 public:
  virtual ~EngineImplementation() = default;
  virtual std::string_view name() const = 0;
  virtual std::shared_ptr<SessionState> open(
      std::shared_ptr<const PlacementState> placement,
      SessionOptions options) const = 0;
};

/// Parameters put on an engine: payloads without gaps, and what a session
/// has to know of the network.
class PlacementState {
 public:
  struct Leaf {
    graph::Kind kind;
    Type type;
    std::string name;
    Tensor payload;  // of a parameter
  };

  /// \throws UsageError  the parameters are not the network's, or one has no
  ///                     payload
  PlacementState(const EngineImplementation& engine, const Network& network,
                 const Parameters& parameters);

  const EngineImplementation& engine() const noexcept { return *engine_; }
  std::uint32_t tape() const noexcept { return tape_; }
  /// Parameters and inputs by node.
  const std::map<std::uint32_t, Leaf>& leaves() const noexcept {
    return leaves_;
  }

 private:
  const EngineImplementation* engine_;
  std::uint32_t tape_;
  std::map<std::uint32_t, Leaf> leaves_;
};

/// What every engine's session has in common: the carried state, who may touch
/// it, and what a step has to check before anything runs.
class SessionState : public std::enable_shared_from_this<SessionState> {
 public:
  SessionState(std::shared_ptr<const PlacementState> placement,
               SessionOptions options)
      : placement_(std::move(placement)), options_(options) {}
  virtual ~SessionState() = default;
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  /// One step; gives its number, by which a Run knows that it is over.
  std::uint64_t step(const Plan& plan, Feeds feeds);
  Tensor state(Symbol symbol);
  void set(Symbol symbol, const Tensor& value);
  void reset();
  std::shared_ptr<SessionState> fork();
  Parameters parameters();
  std::string describe(const Plan& plan);
  Session::Report report(const Plan& plan);

  /// A result of step number `step`.
  /// \throws UsageError  it is over, or does not have the value
  Tensor result(Symbol symbol, std::uint64_t step);
  /// Its only element, without allocating.
  double scalar(Symbol symbol, std::uint64_t step);
  void read(Symbol symbol, DType dtype, void* elements, std::size_t count,
            std::uint64_t step);

 protected:
  /// A carried value: storage of its own that stays where it is.
  struct Slot {
    Type type;
    Tensor storage;
    std::byte* data;
  };

  /// One plan bound to this session.
  class Bound {
   public:
    explicit Bound(std::shared_ptr<const LoweredPlan> lowered)
        : plan(std::move(lowered)), feeds(plan->recorded) {}
    virtual ~Bound() = default;

    std::shared_ptr<const LoweredPlan> plan;
    FeedTable feeds;
    /// Slots that existed when feeds last looked.
    std::size_t seen_slots = 0;
  };

  /// Where the elements of a result lie after a step.
  struct Elements {
    const std::byte* base;
    Layout layout;
  };

  virtual std::unique_ptr<Bound> bind(
      std::shared_ptr<const LoweredPlan> plan) = 0;
  /// Runs the plan; every input is bound. All carries take effect.
  virtual void run(Bound& bound) = 0;
  /// Result `index` of the last run.
  virtual Elements result(Bound& bound, std::size_t index) = 0;
  virtual std::string describe(Bound& bound) = 0;
  virtual Session::Report report(Bound& bound) = 0;

  const PlacementState& placement() const noexcept { return *placement_; }
  const SessionOptions& options() const noexcept { return options_; }
  /// The slot of a leaf, if it has one.
  Slot* slot(std::uint32_t node);
  /// The slot of a leaf, made if there is none: of a parameter with its
  /// payload, of an input with zeros.
  Slot& own(std::uint32_t node);
  /// The elements of a parameter: the session's own or the placement's.
  const std::byte* parameter(std::uint32_t node);
  /// Changes whenever a slot is made: pointers to leaves have to be found
  /// again.
  std::size_t slot_count() const noexcept { return slots_.size(); }

 private:
  /// Held by the one thread that uses the session.
  class Turn;

  /// Every slot as it was when it was made.
  void fill_all();
  Bound& bound(const Plan& plan);
  void find_carried(Bound& bound);
  const PlacementState::Leaf& leaf(Symbol symbol) const;
  void expect_usable() const;
  Elements elements(Symbol symbol, std::uint64_t step, Type& type);

  std::shared_ptr<const PlacementState> placement_;
  SessionOptions options_;
  std::unordered_map<std::uint32_t, Slot> slots_;
  std::vector<std::unique_ptr<Bound>> bound_;
  Bound* last_ = nullptr;
  std::uint64_t steps_ = 0;
  bool failed_ = false;
  std::atomic_flag busy_;
};

}  // namespace topos::engines
