#pragma once

#include <signal.h>

namespace examples {

/// Turns Ctrl-C and SIGTERM into a question that a loop asks between its steps.
/// The second one ends the program at once.
class Interrupt {
 public:
  Interrupt() {
    struct sigaction action = {};
    action.sa_handler = [](int) { asked_ = 1; };
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
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
