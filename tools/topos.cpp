// The program `topos`: what the library offers from a shell.
#include <topos/engine.h>
#include <topos/functions.h>
#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace {

// CLI11 numbers its errors from 100; we say 2 for every wrong command line.
constexpr int wrong_usage = 2;

void print_engines() {
  for (const std::string& name : topos::engine_names()) {
    std::cout << name << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("topos: record, differentiate, lower, run", "topos");
  app.set_version_flag("--version", "topos " + std::string(topos::version()));
  const auto* ops = app.add_subcommand("ops", "Lists every operation");
  const auto* engines = app.add_subcommand("engines", "Lists every engine");
  app.require_subcommand(0, 1);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    std::cerr << "topos: " << error.what() << '\n';
    return wrong_usage;
  }

  if (ops->parsed()) {
    std::cout << topos::op_table();
  } else if (engines->parsed()) {
    print_engines();
  } else {
    std::cout << app.help();
  }
  return 0;
}
