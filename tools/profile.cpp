#include "profile.h"

#include <topos/io.h>
#include <topos/profile.h>
#include <topos/random.h>

#include <iostream>

#include "command.h"
#include "model.h"

namespace tools {

namespace {

using namespace topos;

/// The network's own; random ones where it has declared types alone: where the
/// time goes does not depend on values.
Parameters filled_parameters(const Network& network) {
  Parameters parameters = network.parameters();
  std::uint64_t seed = 1;
  for (const Parameters::Item& item : network.parameters().items()) {
    if (item.payload) continue;
    parameters.set(item.symbol,
                   normal(item.type.shape, 0.02, seed++, item.type.dtype));
  }
  return parameters;
}

}  // namespace

ProfileCommand::ProfileCommand(CLI::App& parent)
    : command_(parent.add_subcommand(
          "profile",
          "Steps a recorded program on the native engine and tells where the "
          "time goes, group by group")) {
  command_->add_option("MODEL", model_, "As `topos emit --list` has them")
      ->type_name("")
      ->required();
  command_->add_option("--plan", plan_, "Which of its programs")
      ->type_name("NAME")
      ->capture_default_str();
  command_->add_option("--steps", steps_, "Steps to take, after one to warm up")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command_->add_option("--threads", threads_, "0: as many as there are")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command_
      ->add_option("--trace", trace_,
                   "Write the last steps to this file, for the Perfetto viewer")
      ->type_name("FILE");
}

void ProfileCommand::run() const {
  const models::Model& model = model_of(model_);
  if (!trace_.empty()) refuse_unwritable(trace_);
  const models::Recorded recorded = model.record();
  const models::Program& program = program_of(recorded, plan_);
  const Placement placement = native::engine().place(
      recorded.network, filled_parameters(recorded.network));
  const SessionOptions options{.threads = threads_, .profile = true};
  // Memory is touched for the first time by a session that is not measured.
  native::open(placement, options).step(program.plan, Feeds(program.feeds));
  Session session = native::open(placement, options);
  for (int i = 0; i < steps_; ++i) {
    session.step(program.plan, Feeds(program.feeds));
  }
  const Profile profile = session.profile(program.plan);
  std::cout << profile.table();
  if (!trace_.empty()) write_file_atomically(trace_, profile.trace());
}

}  // namespace tools
