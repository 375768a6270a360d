#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
  virtual std::string description() const = 0;
  /// \throws UsageError and others  as PlacementState's constructor
  virtual std::shared_ptr<const PlacementState> place(
      const Network& network, const Parameters& parameters) const;
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
  virtual ~PlacementState() = default;
  PlacementState(const PlacementState&) = delete;
  PlacementState& operator=(const PlacementState&) = delete;

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

/// What every engine's session has in common: which leaves have a state of
/// their own, who may touch it, and what a step has to check before anything
/// runs. Where the state lies is the engine's.
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
  Profile profile(const Plan& plan);

  /// A result of step number `step`.
  /// \throws UsageError  it is over, or does not have the value
  Tensor result(Symbol symbol, std::uint64_t step);
  /// Its only element, without allocating.
  double scalar(Symbol symbol, std::uint64_t step);
  void read(Symbol symbol, DType dtype, void* elements, std::size_t count,
            std::uint64_t step);

 protected:
  /// One plan bound to this session.
  class Bound {
   public:
    explicit Bound(std::shared_ptr<const LoweredPlan> lowered)
        : plan(std::move(lowered)), feeds(plan->recorded) {}
    virtual ~Bound() = default;

    std::shared_ptr<const LoweredPlan> plan;
    FeedTable feeds;
    /// Leaves that had a state when feeds last looked.
    std::size_t seen_owned = 0;
  };

  /// Where the elements of a result lie after a step.
  struct Elements {
    const std::byte* base;
    Layout layout;
  };

  virtual std::unique_ptr<Bound> bind(
      std::shared_ptr<const LoweredPlan> plan) = 0;
  /// Before each use of a bound plan: what fails here fails no session.
  virtual void prepare(Bound&) {}
  /// Runs the plan; every input is bound. All carries take effect.
  virtual void run(Bound& bound) = 0;
  /// Result `index` of the last run.
  virtual Elements result(Bound& bound, std::size_t index) = 0;
  virtual std::string describe(Bound& bound) = 0;
  virtual Session::Report report(Bound& bound) = 0;
  /// Called only in sessions that take times.
  virtual Profile profile(Bound& bound);

  /// Makes or overwrites the state of a leaf; without elements, with zeros.
  virtual void store(std::uint32_t node, const Type& type,
                     const std::byte* elements) = 0;
  virtual void load(std::uint32_t node, const Type& type,
                    std::byte* elements) = 0;
  /// Where a carried input is read from; null if not in this process's memory.
  virtual const std::byte* address(std::uint32_t node) = 0;

  const PlacementState& placement() const noexcept { return *placement_; }
  const SessionOptions& options() const noexcept { return options_; }
  bool owns(std::uint32_t node) const { return owned_.count(node) != 0; }
  /// Gives a leaf a state of its own if it has none: a parameter its payload,
  /// an input zeros.
  void own(std::uint32_t node);
  /// Changes whenever a leaf gets a state: pointers to leaves have to be found
  /// again.
  std::size_t owned_count() const noexcept { return owned_.size(); }

 private:
  /// Held by the one thread that uses the session.
  class Turn;

  /// The state of a leaf as it was when it was made.
  void fill(std::uint32_t node);
  void fill_all();
  Bound& bound(const Plan& plan);
  void find_carried(Bound& bound);
  const PlacementState::Leaf& leaf(Symbol symbol) const;
  void expect_usable() const;
  Elements elements(Symbol symbol, std::uint64_t step, Type& type);

  std::shared_ptr<const PlacementState> placement_;
  SessionOptions options_;
  std::unordered_set<std::uint32_t> owned_;
  std::vector<std::unique_ptr<Bound>> bound_;
  Bound* last_ = nullptr;
  std::uint64_t steps_ = 0;
  bool failed_ = false;
  std::atomic_flag busy_;
};

/// A session whose state lies in this process's memory.
class HostSessionState : public SessionState {
 public:
  using SessionState::SessionState;

 protected:
  /// The elements of a state, which stay where they are; null if there is none.
  std::byte* state_data(std::uint32_t node);
  /// The elements of a parameter: the session's own or the placement's.
  const std::byte* parameter(std::uint32_t node);
  /// Another one whenever the elements of a leaf may have changed.
  std::uint64_t version(std::uint32_t node) const;
  /// A step writes the elements of a leaf that has a state.
  void note_written(std::uint32_t node);

 private:
  void store(std::uint32_t node, const Type& type,
             const std::byte* elements) override;
  void load(std::uint32_t node, const Type& type, std::byte* elements) override;
  const std::byte* address(std::uint32_t node) override {
    return state_data(node);
  }

  struct Slot {
    Tensor storage;
    std::byte* data;
    std::uint64_t version = 0;
  };
  std::unordered_map<std::uint32_t, Slot> slots_;
};

}  // namespace topos::engines
