#pragma once

#include <topos/error.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

/// \file
/// What the command lines of the examples share: options that are refused
/// rather than guessed at, and the exit codes.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace examples {

/// Something that the program does not do, said before any work is begun.
class Refusal : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Accepts decimal numbers. CLI11 alone would take 010 for 8, 0x10 for 16, 1_0
/// for 10, and -1 and 2^64 for some other number, all in silence.
std::function<std::string(const std::string&)> whole_number(std::uint64_t least,
                                                            std::uint64_t most);

/// An option that names a file.
CLI::Option* add_file(CLI::App& app, const char* name, std::string& to,
                      const char* help);

/// Reads the command line.
/// \return          false if --help or --version was asked for, and answered
/// \throws Refusal  names the option at fault
bool parse(CLI::App& app, int argc, char** argv);

struct NamedFile {
  const char* option;
  const std::string& name;
};

/// \throws Refusal  two are the same file; those without a name are none
void check_distinct(std::span<const NamedFile> files);

/// The list of names: in the current folder's project, else in the one that
/// this program was built from.
std::string default_corpus();

/// The end of a run: its figures go to their file, if it has a name, and what
/// was printed to its reader.
/// \throws topos::FileError, topos::RuntimeError  one cannot be written
void finish(const std::string& json_file, const std::string& json);

constexpr int failed = 1;
constexpr int refused = 2;

/// What a program's `main` is: prepares a job, in which nothing can be refused
/// any more, and runs it. What goes wrong is one message on stderr.
/// \param prepare  gives a job, or none if there is nothing to do
/// \return         the exit code: that of `run`, else `refused` or `failed`
template <class Prepare, class Run>
int run_program(const char* name, const Prepare& prepare, const Run& run) {
  const auto complain = [&](const std::exception& error, int exit_code) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return exit_code;
  };
  decltype(prepare()) job;
  try {
    job = prepare();
  } catch (const Refusal& error) {
    return complain(error, refused);
  } catch (const topos::FileError& error) {
    return complain(error, refused);
  } catch (const std::exception& error) {
    return complain(error, failed);
  }
  try {
    return job ? run(*job) : 0;
  } catch (const std::exception& error) {
    return complain(error, failed);
  }
}

}  // namespace examples
