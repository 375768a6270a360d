// The program `topos`: what the library offers from a shell.
#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

namespace {

// CLI11 numbers its errors from 100; we say 2 for every wrong command line.
constexpr int wrong_usage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("topos: record, differentiate, lower, run", "topos");
  app.set_version_flag("--version", "topos " + std::string(topos::version()));

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    std::cerr << "topos: " << error.what() << '\n';
    return wrong_usage;
  }

  std::cout << app.help();
  return 0;
}
