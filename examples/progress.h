#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace examples {

/// How a loop of steps gets on: a bar on a terminal, redrawn ten times a
/// second; elsewhere a plain line every 500 steps. Allocates nothing while it
/// shows.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Steps [first, last) are to come.
  Progress(std::string label, int first, int last)
      : label_(std::move(label)),
        first_(first),
        last_(last),
        on_terminal_(::isatty(STDOUT_FILENO) == 1),
        start_(Clock::now()) {
    if (!on_terminal_) {
      std::printf("%s: steps %d to %d\n", label_.c_str(), first_, last_);
      std::fflush(stdout);
    }
  }
  ~Progress() {
    if (on_terminal_) std::fputs("\r\x1b[K", stdout);
    std::fflush(stdout);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// After a step; `done` counts from step 0.
  void show(int done, double loss) {
    const bool is_last = done == last_;
    if (!on_terminal_) {
      if (done % plain_interval == 0 || is_last) print_line(done, loss);
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now < next_drawing_ && !is_last) return;
    next_drawing_ = now + std::chrono::milliseconds(100);
    draw_bar(done, loss);
  }

  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  double steps_per_second(int done) const {
    const double elapsed = seconds();
    return elapsed > 0 ? (done - first_) / elapsed : 0.0;
  }

 private:
  static constexpr int plain_interval = 500;
  static constexpr int bar_width = 28;

  void print_line(int done, double loss) const {
    std::printf("%s: step %d of %d, loss %.4f, %.0f steps/s\n", label_.c_str(),
                done, last_, loss, steps_per_second(done));
    std::fflush(stdout);
  }

  void draw_bar(int done, double loss) const {
    const int filled = static_cast<int>(static_cast<long long>(bar_width) *
                                        done / std::max(last_, 1));
    char bar[bar_width + 1];
    std::fill_n(bar, filled, '#');
    std::fill_n(bar + filled, bar_width - filled, '.');
    bar[bar_width] = '\0';
    std::printf("\r\x1b[K%s [%s] %d/%d  loss %.4f  %.0f steps/s",
                label_.c_str(), bar, done, last_, loss, steps_per_second(done));
    std::fflush(stdout);
  }

  std::string label_;
  int first_;
  int last_;
  bool on_terminal_;
  Clock::time_point start_;
  Clock::time_point next_drawing_ = {};
};

}  // namespace examples
