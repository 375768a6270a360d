#pragma once

#include <signal.h>

namespace examples {

/// Turns Ctrl-C, SIGTERM and a closed terminal into a question that a loop asks
/// between its steps; the second one ends the program at once. A reader that
/// went away and a file that may not grow are errors of the write, not signals:
/// the work done is saved before they are reported.
class Interrupt {
 public:
  Interrupt() {
    struct sigaction action = {};
    action.sa_handler = [](int) { asked_ = 1; };
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action, nullptr);
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, nullptr);
    sigaction(SIGXFSZ, &action, nullptr);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool asked() const { return asked_ != 0; }

  /// What a shell reports of a program that Ctrl-C ended.
  static constexpr int exit_code = 130;

 private:
  static inline volatile sig_atomic_t asked_ = 0;
};

}  // namespace examples
