#pragma once

#include <topos/envelope.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engines.h"
#include "models/catalog.h"

/// \file
/// `topos verify`: every recorded program, one step of it, on every engine that
/// can run here, against the interpreter.

namespace tools {

/// What an engine has to keep of the interpreter's results.
enum class Promise : std::uint8_t { bits, envelope };
Promise promise_of(const std::string& engine);

/// One result of one program on one engine.
struct Check {
  std::string model;
  std::string program;
  std::string result;
  bool is_carry = false;
  topos::Type type;
  std::string engine;
  Promise promise = Promise::bits;
  bool passed = false;
  topos::Difference difference;
  std::string error;  ///< why there is no result

  /// It is inside of an envelope without bounds.
  bool says_nothing() const {
    return promise == Promise::envelope && passed &&
           difference.undecided == type.shape.element_count() &&
           difference.undecided > 0;
  }
};

/// Runs one step of a program on each engine that can run.
std::vector<Check> check_program(const std::string& model,
                                 const topos::Network& network,
                                 const models::Program& program,
                                 const std::vector<StartedEngine>& engines);

/// The checks of one program, a line a result.
void print_checks(const std::vector<Check>& checks);
void print_promises();
void print_summary(const std::vector<Check>& checks,
                   const std::vector<StartedEngine>& engines);
std::string json_text(const std::vector<Check>& checks,
                      const std::vector<StartedEngine>& engines);

/// The command.
class Verify {
 public:
  explicit Verify(CLI::App& parent);

  bool is_asked() const { return command_->parsed(); }
  /// \return          the exit code: 0 if all checks passed
  /// \throws Refusal  there is no such model, or it cannot run, or nothing can
  ///                  be written to the file
  int run() const;

 private:
  CLI::App* command_;
  std::vector<std::string> models_;
  std::vector<std::string> engines_;
  std::string json_;
};

}  // namespace tools
