#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Where the time of a plan's steps goes: group by group, against what the
/// machine could do.
///
///     Session session = native::open(network, {.profile = true});
///     for (...) session.step(train, feeds);
///     std::cout << session.profile(train).table();

namespace topos {

/// What this machine does at most, measured by a few milliseconds of work.
struct MachineLimits {
  int threads = 1;
  /// Fused multiply-adds of f32 from registers, two operations each, in 10^9 a
  /// second.
  double gigaflops = 0;
  /// Reads of memory that lies in no cache, in 10^9 bytes a second.
  double gigabytes = 0;
};

/// Measures, on as many threads at once; takes some 50 ms and, for that time,
/// 128 MB.
/// \param threads  0: as many as the process may use
/// \throws RuntimeError  no memory
MachineLimits machine_limits(int threads = 0);

/// The times of a plan in one session.
struct Profile {
  /// Nodes that run as one.
  struct Group {
    /// As in Plan::describe: `product`, `rows`, `elementwise`, `single`.
    std::string kind;
    /// Its operations in order: `matmul add tanh`.
    std::string operations;
    /// Of its first node: line and file of the user's program.
    std::string line;
    /// Mean of a step.
    double milliseconds = 0;
    /// Elements read and written outside of the group, each once.
    double bytes = 0;
    /// Of a product 2 m n k; else one an element and operation, elementary
    /// functions included.
    double flops = 0;
    /// The time that the machine's limits allow (that of flops or of bytes,
    /// whichever is longer) as a share of the time taken. Above 1 where the
    /// operands lie in a cache.
    double share = 0;
  };

  /// A group at work on one thread.
  struct Span {
    std::uint64_t step = 0;
    std::uint32_t group = 0;
    int thread = 0;
    /// Since the first span's begin.
    double begin_microseconds = 0;
    double end_microseconds = 0;
  };

  std::size_t steps = 0;
  /// Mean of a whole step, with what lies between groups.
  double step_milliseconds = 0;
  MachineLimits limits;
  std::vector<Group> groups;
  /// Of the last steps.
  std::vector<Span> spans;

  /// For people: a line a group, the slowest first.
  std::string table() const;
  /// `spans` as trace events in JSON, which https://ui.perfetto.dev and
  /// chrome://tracing open.
  std::string trace() const;
};

}  // namespace topos
