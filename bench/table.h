#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "steady.h"

/// \file
/// What the tables share: two programs measured in turn, and a row.

namespace topos::bench {

struct Row {
  std::string table;
  std::string row;
  int threads = 1;
  std::string numerics = "exact";
  double ours_ms = 0;
  double ours_spread = 0;  // (third quartile - first) / median
  std::string rival = {};
  std::string rival_version = {};
  double rival_ms = 0;
  double ratio = 0;        // rival's time / ours
  double limit_share = 0;  // of the hardware's limit, 0 where none is stated
  double ours_bytes = 0;   // the most memory held, where it is compared
  double rival_bytes = 0;
  std::size_t text_bytes = 0;  // of what was emitted, if anything
  std::size_t operations = 0;
};

struct Options {
  int threads = 1;
  std::string pattern;  // rows whose name contains it
};

inline bool wanted(const Options& options, const std::string& row) {
  return row.find(options.pattern) != std::string::npos;
}

/// Milliseconds of each call of `run`, so often that the clock does not matter.
inline double time_ms(const std::function<void()>& run, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) run();
  const std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  return time.count() / repeats;
}

/// The median and the spread of our times.
inline void set_ours(Row& row, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  row.ours_ms = times[times.size() / 2];
  row.ours_spread =
      (times[times.size() * 3 / 4] - times[times.size() / 4]) / row.ours_ms;
}

/// Ours and the rival in turn (A B A B ...), so that both meet the same noise;
/// medians and spread go into `row`. A null rival is left out.
inline void measure(Row& row, const std::function<void()>& ours,
                    const std::function<void()>& rival) {
  constexpr int rounds = 15;
  constexpr double round_ms = 20;
  const auto repeats = [](const std::function<void()>& run) {
    run();  // warm
    return std::clamp(static_cast<int>(round_ms / time_ms(run, 1)), 1, 100000);
  };
  const int our_repeats = repeats(ours);
  const int rival_repeats = rival ? repeats(rival) : 0;
  std::vector<double> our_times;
  std::vector<double> rival_times;
  for (int round = 0; round < rounds; ++round) {
    await_cores(row.threads);
    our_times.push_back(time_ms(ours, our_repeats));
    if (rival) rival_times.push_back(time_ms(rival, rival_repeats));
  }
  set_ours(row, our_times);
  if (rival) {
    std::sort(rival_times.begin(), rival_times.end());
    row.rival_ms = rival_times[rounds / 2];
    row.ratio = row.rival_ms / row.ours_ms;
  }
}

/// As `measure` for any number of programs: the times of each. Before each
/// there is a pause, in which the threads of the one before stop waiting for
/// more work: those of GNU's OpenMP spin for up to ten milliseconds.
inline std::vector<std::vector<double>> measure_in_turn(
    int threads, const std::vector<std::function<void()>>& runs) {
  constexpr double round_ms = 5;
  constexpr double budget_ms = 800;
  std::vector<int> repeats;
  double once = 0;  // a round of each
  for (const auto& run : runs) {
    double ms = time_ms(run, 1);
    if (ms < 10 * round_ms) ms = time_ms(run, 1);  // warm
    repeats.push_back(std::clamp(static_cast<int>(round_ms / ms), 1, 100000));
    once += ms * (repeats.back() + 1);
  }
  const int rounds = std::clamp(static_cast<int>(budget_ms / once), 3, 25);
  std::vector<std::vector<double>> times(runs.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
      await_cores(threads);
      if (repeats[i] > 1) runs[i]();  // warm again
      times[i].push_back(time_ms(runs[i], repeats[i]));
    }
  }
  return times;
}

/// Makes this the row's rival, unless there is a faster one.
inline void set_rival_if_faster(Row& row, const std::string& name,
                                const std::string& version,
                                std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double ms = times[times.size() / 2];
  if (row.rival_ms > 0 && row.rival_ms <= ms) return;
  row.rival = name;
  row.rival_version = version;
  row.rival_ms = ms;
  row.ratio = ms / row.ours_ms;
}

std::vector<Row> elementwise_table(const Options& options);
std::vector<Row> emit_table(const Options& options);
std::vector<Row> gemv_table(const Options& options);
std::vector<Row> makemore_table(const Options& options);
std::vector<Row> matmul_table(const Options& options);
std::vector<Row> narrow_table(const Options& options);
std::vector<Row> overheads_table(const Options& options);
std::vector<Row> rows_table(const Options& options);
std::vector<Row> small_table(const Options& options);
std::vector<Row> training_table(const Options& options);
std::vector<Row> xla_table(const Options& options);

}  // namespace topos::bench
