// The program `topos`: what the library offers from a shell.
#include <topos/functions.h>
#include <topos/version.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>

#include "checksums.h"
#include "command.h"
#include "emit.h"
#include "engines.h"
#include "profile.h"
#include "verify.h"

namespace {

int complain(const std::exception& error, int exit_code) {
  std::cout.flush();
  std::cerr << "topos: " << error.what() << '\n';
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("topos: record, differentiate, lower, run", "topos");
  app.set_version_flag("--version", "topos " + std::string(topos::version()));
  const auto* ops = app.add_subcommand("ops", "Lists every operation");
  const auto* engines = app.add_subcommand(
      "engines", "Lists every engine, with what runs it here");
  const tools::Emit emit(app);
  const tools::Verify verify(app);
  const tools::ProfileCommand profile(app);
  const tools::Checksums checksums(app);
  app.require_subcommand(0, 1);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    // CLI11 numbers its errors from 100.
    return complain(error, tools::wrong_usage);
  }

  int exit_code = 0;
  try {
    if (ops->parsed()) {
      std::cout << topos::op_table();
    } else if (engines->parsed()) {
      tools::print_engines();
    } else if (emit.is_asked()) {
      emit.run();
    } else if (checksums.is_asked()) {
      exit_code = checksums.run();
    } else if (profile.is_asked()) {
      profile.run();
    } else if (verify.is_asked()) {
      exit_code = verify.run();
    } else {
      std::cout << app.help();
    }
    if (!std::cout.flush()) {
      throw std::runtime_error("the output cannot be written");
    }
  } catch (const tools::Refusal& refusal) {
    return complain(refusal, tools::wrong_usage);
  } catch (const std::exception& error) {
    return complain(error, tools::failed);
  }
  return exit_code;
}
