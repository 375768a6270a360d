#include "engines.h"

#include <topos/error.h>
#include <topos/tape.h>

#include <iostream>

#include "command.h"

namespace tools {

StartedEngine start_engine(const std::string& name) {
  using namespace topos;
  StartedEngine started = {name, "", engine(name, Site()), std::nullopt};
  try {
    // To place something, if only nothing, is what starts an engine.
    const Network nothing = Tape().seal();
    const Placement kept =
        started.engine.place(nothing, nothing.parameters(), Site());
    started.description = started.engine.description(Site());
    started.kept = kept;
  } catch (const Error& error) {
    started.description = in_one_line(error.message());
  }
  return started;
}

void print_engine(const StartedEngine& engine) {
  std::cout << column(engine.name, 13)
            << (engine.can_run() ? "" : "cannot run here: ")
            << engine.description << std::endl;
}

void print_engines() {
  for (const std::string& name : topos::engine_names()) {
    print_engine(start_engine(name));
  }
}

}  // namespace tools
