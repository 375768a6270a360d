// Engine, Placement, Session and Run: the public handles.

#include "topos/engine.h"

#include "engine/session_state.h"
#include "ops/at_line.h"
#include "topos/error.h"

namespace topos {

using ops::at_line;

namespace {

engines::SessionState& open_state(
    const std::shared_ptr<engines::SessionState>& state) {
  if (state == nullptr) throw UsageError("the handle was moved from");
  return *state;
}

}  // namespace

Tensor Run::of(Symbol value, Site site) const {
  return at_line(site, "Run::of",
                 [&] { return open_state(session_).result(value, step_); });
}

double Run::scalar(Symbol value, Site site) const {
  return at_line(site, "Run::scalar",
                 [&] { return open_state(session_).scalar(value, step_); });
}

void Run::read(Symbol value, DType dtype, void* elements, std::size_t count,
               Site site) const {
  at_line(site, "Run::read_into", [&] {
    open_state(session_).read(value, dtype, elements, count, step_);
  });
}

Run Session::step(const Plan& plan, std::initializer_list<Feed> feeds,
                  Site site) {
  return step(plan, Feeds(feeds.begin(), feeds.size()), site);
}

Run Session::step(const Plan& plan, Feeds feeds, Site site) {
  return at_line(site, "step", [&] {
    return Run(state_, open_state(state_).step(plan, feeds));
  });
}

Tensor Session::state(Symbol symbol, Site site) const {
  return at_line(site, "state",
                 [&] { return open_state(state_).state(symbol); });
}

void Session::set(Symbol symbol, const Tensor& value, Site site) {
  at_line(site, "set", [&] { open_state(state_).set(symbol, value); });
}

void Session::reset(Site site) {
  at_line(site, "reset", [&] { open_state(state_).reset(); });
}

Session Session::fork(Site site) const {
  return at_line(site, "fork",
                 [&] { return Session(open_state(state_).fork()); });
}

Parameters Session::parameters(Site site) const {
  return at_line(site, "parameters",
                 [&] { return open_state(state_).parameters(); });
}

std::string Session::describe(const Plan& plan, Site site) {
  return at_line(site, "describe",
                 [&] { return open_state(state_).describe(plan); });
}

Session::Report Session::report(const Plan& plan, Site site) {
  return at_line(site, "report",
                 [&] { return open_state(state_).report(plan); });
}

Profile Session::profile(const Plan& plan, Site site) {
  return at_line(site, "profile",
                 [&] { return open_state(state_).profile(plan); });
}

std::string_view Engine::name() const { return implementation_->name(); }

std::string Engine::description(Site site) const {
  return ops::at_line(site, name(),
                      [&] { return implementation_->description(); });
}

Placement Engine::place(const Network& network, const Parameters& parameters,
                        Site site) const {
  return at_line(site, "place", [&] {
    return Placement(implementation_->place(network, parameters));
  });
}

Session Engine::open(const Placement& placement, SessionOptions options,
                     Site site) const {
  return at_line(site, "open", [&] {
    if (placement.state() == nullptr) {
      throw UsageError("the placement was moved from");
    }
    if (&placement.state()->engine() != implementation_) {
      throw UsageError(std::string("the placement is the engine ") +
                       std::string(placement.state()->engine().name()) +
                       "'s, not " + std::string(name()) + "'s");
    }
    if (options.threads < 0) {
      throw UsageError("the number of threads is negative");
    }
    return Session(implementation_->open(placement.state(), options));
  });
}

Session Engine::open(const Network& network, SessionOptions options,
                     Site site) const {
  return open(network,
              at_line(site, "open", [&] { return network.parameters(); }),
              options, site);
}

Session Engine::open(const Network& network, const Parameters& parameters,
                     SessionOptions options, Site site) const {
  return open(place(network, parameters, site), options, site);
}

}  // namespace topos
