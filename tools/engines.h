#pragma once

#include <topos/engine.h>

#include <optional>
#include <string>
#include <vector>

namespace tools {

/// An engine that was asked whether it can run here, and what it takes to run
/// it: a plugin that is loaded, a process that is started, is kept until this
/// goes.
struct StartedEngine {
  std::string name;
  std::string description;  ///< or in one line why it cannot run here
  topos::Engine engine;
  std::optional<topos::Placement> kept;

  bool can_run() const { return kept.has_value(); }
};

/// \throws topos::UsageError  there is no engine of that name
StartedEngine start_engine(const std::string& name);

/// A line an engine.
void print_engine(const StartedEngine& engine);

/// `topos engines`.
void print_engines();

}  // namespace tools
