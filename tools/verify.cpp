#include "verify.h"

#include <topos/error.h>
#include <topos/io.h>

#include <algorithm>
#include <stdexcept>

#include "command.h"
#include "model.h"

namespace tools {

namespace {

using models::Model;
using models::Program;
using namespace topos;

/// A result of a program with what it has to be.
struct Expected {
  Symbol symbol;
  bool is_carry;
  std::string name;
  Envelope envelope;
};

std::string name_of(const Network& network, Symbol symbol) {
  const std::string name(network.name(symbol));
  return name.empty() ? "%" + std::to_string(symbol.node) : name;
}

/// All that the envelopes need: a session would start carried inputs as zeros.
std::vector<Feed> feeds_with_state(const Network& network,
                                   const Program& program) {
  std::vector<Feed> feeds = program.feeds;
  const std::vector<Symbol> inputs = network.inputs();
  for (const Entry::Carry& carry : program.plan.entry().carries()) {
    if (std::ranges::find(inputs, carry.input) != inputs.end()) {
      feeds.emplace_back(carry.input, Tensor::zeros(network.type(carry.input)));
    }
  }
  return feeds;
}

std::vector<Expected> expected_of(const Network& network,
                                  const Program& program) {
  const std::vector<Envelope> all =
      envelopes(network, program.plan, network.parameters(),
                Feeds(feeds_with_state(network, program)));
  std::vector<Expected> expected;
  const auto add = [&](Symbol symbol, bool is_carry) {
    expected.push_back(
        {symbol, is_carry, name_of(network, symbol), all.at(expected.size())});
  };
  const Entry& entry = program.plan.entry();
  for (const auto& result : entry.results()) add(result.value, false);
  for (const auto& carry : entry.carries()) add(carry.input, true);
  return expected;
}

/// Fills `checks`, one for each of `expected`.
void run_on(const Engine& engine, const Network& network,
            const Program& program, const std::vector<Expected>& expected,
            std::span<Check> checks) {
  Session session = engine.open(network);
  const Run run = session.step(program.plan, Feeds(program.feeds));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Expected& want = expected[i];
    const Tensor found =
        want.is_carry ? session.state(want.symbol) : run.of(want.symbol);
    checks[i].difference = compare(want.envelope, found);
    checks[i].passed = checks[i].promise == Promise::bits
                           ? bits_equal(want.envelope.value, found)
                           : checks[i].difference.inside;
  }
}

std::vector<const Model*> models_of(const std::vector<std::string>& names) {
  std::vector<const Model*> found;
  for (const Model& model : models::models()) {
    if (names.empty() && model.can_run) found.push_back(&model);
  }
  for (const std::string& name : names) {
    const Model& model = model_of(name);
    if (!model.can_run) {
      throw Refusal("the model \"" + name +
                    "\" has no parameters to run with; `topos emit` writes it");
    }
    found.push_back(&model);
  }
  return found;
}

}  // namespace

Promise promise_of(const std::string& engine) {
  return engine == "interpreter" || engine == "native" ? Promise::bits
                                                       : Promise::envelope;
}

std::vector<Check> check_program(const std::string& model,
                                 const Network& network, const Program& program,
                                 const std::vector<StartedEngine>& engines) {
  const std::vector<Expected> expected = expected_of(network, program);
  std::vector<Check> checks;
  for (const StartedEngine& started : engines) {
    if (!started.can_run()) continue;
    const std::size_t first = checks.size();
    for (const Expected& want : expected) {
      Check check;
      check.model = model;
      check.program = program.name;
      check.result = want.name;
      check.is_carry = want.is_carry;
      check.type = want.envelope.value.type();
      check.engine = started.name;
      check.promise = promise_of(started.name);
      checks.push_back(check);
    }
    const std::span<Check> own = std::span(checks).subspan(first);
    try {
      run_on(started.engine, network, program, expected, own);
    } catch (const Error& error) {
      for (Check& check : own) {
        check.passed = false;
        check.error = in_one_line(error.message());
      }
    }
  }
  return checks;
}

Verify::Verify(CLI::App& parent)
    : command_(parent.add_subcommand(
          "verify",
          "Runs one step of each recorded program on every engine "
          "and compares the results with the interpreter's")) {
  command_->add_option("MODEL", models_, "Which ones; none named: all")
      ->type_name("");
  command_->add_option("--engine", engines_, "Only this one; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(engine_names()));
  command_->add_option("--json", json_, "Write every figure to this file")
      ->type_name("FILE");
}

int Verify::run() const {
  const std::vector<const Model*> wanted = models_of(models_);
  if (!json_.empty()) refuse_unwritable(json_);
  std::vector<StartedEngine> engines;
  for (const std::string& name : engine_names()) {
    if (engines_.empty() || std::ranges::count(engines_, name) > 0) {
      engines.push_back(start_engine(name));
      print_engine(engines.back());
    }
  }
  if (std::ranges::none_of(engines, &StartedEngine::can_run)) {
    throw std::runtime_error("nothing is verified: no such engine runs here");
  }
  print_promises();
  std::vector<Check> checks;
  for (const Model* model : wanted) {
    const models::Recorded recorded = model->record();
    for (const Program& program : recorded.programs) {
      const std::vector<Check> of_program =
          check_program(model->name, recorded.network, program, engines);
      print_checks(of_program);
      checks.insert(checks.end(), of_program.begin(), of_program.end());
    }
  }
  print_summary(checks, engines);
  if (!json_.empty()) write_file_atomically(json_, json_text(checks, engines));
  return std::ranges::all_of(checks, &Check::passed) ? 0 : failed;
}

}  // namespace tools
