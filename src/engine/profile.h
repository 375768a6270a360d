#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/lowered_plan.h"
#include "topos/profile.h"

namespace topos::engines {

/// Collects the times of a plan's groups while it runs.
///
/// The thread that steps calls everything but `work`; each worker calls `work`
/// with its own number. All memory is had beforehand: a step allocates nothing.
class ProfileRecorder {
 public:
  using Clock = std::chrono::steady_clock;

  ProfileRecorder(std::size_t groups, int workers);

  void begin_step();
  void end_step();
  /// The group as a whole, on the thread that steps.
  void add_group(std::size_t group, Clock::time_point begin,
                 Clock::time_point end);
  /// A worker's share of a group.
  void work(std::size_t group, int worker, Clock::time_point begin,
            Clock::time_point end);

  Profile profile(const LoweredPlan& plan, int threads) const;

 private:
  struct Span {
    std::uint64_t step;
    std::uint32_t group;
    Clock::time_point begin;
    Clock::time_point end;
  };
  /// The last spans of one worker, in a ring.
  struct Ring {
    std::vector<Span> spans;
    std::size_t count = 0;

    std::size_t size() const { return std::min(count, spans.size()); }
    /// The oldest first.
    const Span& operator[](std::size_t i) const {
      return spans[(count - size() + i) % spans.size()];
    }
  };

  std::vector<Clock::duration> groups_;
  Clock::duration total_{};
  Clock::time_point step_begin_;
  std::uint64_t steps_ = 0;
  std::vector<Ring> rings_;
};

/// What a group has to do at least.
struct Work {
  double bytes = 0;
  double flops = 0;
};
Work work_of(const LoweredPlan& plan, std::size_t group);

}  // namespace topos::engines
