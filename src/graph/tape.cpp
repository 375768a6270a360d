#include "topos/tape.h"

#include <fmt/format.h>

#include "graph/recording.h"
#include "ops/at_line.h"
#include "topos/error.h"
#include "topos/network.h"

namespace topos {

using graph::Kind;
using graph::on_tape;
using graph::Recording;

namespace {

std::string asked(std::string_view kind, const std::string& name) {
  return fmt::format("{} \"{}\"", kind, name);
}

std::uint32_t leaf(Recording& recording, Kind kind, const Type& type,
                   std::string name, Site site) {
  const std::uint32_t node = recording.append(kind, type, site);
  if (kind != Kind::constant) recording.set_name(node, std::move(name));
  return node;
}

}  // namespace

Type Value::type(Site site) const {
  return ops::at_line(site, "type", [&] {
    return Recording::of(*this).graph().nodes[symbol_.node].type;
  });
}

Transaction::Transaction(const Tape& tape, Site site) {
  ops::at_line(site, "Transaction", [&] {
    const Recording& recording = Recording::of(tape);
    tape_ = recording.graph().tape;
    begin_ = recording.graph().size();
  });
}

Transaction::Transaction(const Recording& recording) noexcept
    : tape_(recording.graph().tape), begin_(recording.graph().size()) {}

Transaction::~Transaction() {
  if (kept_) return;
  if (Recording* const recording = Recording::find(tape_)) {
    recording->truncate(begin_);
  }
}

Value Operand::value() const {
  if (const Value* value = std::get_if<Value>(&what)) return *value;
  throw UsageError(
      fmt::format("{}the number {} stands where a recorded value "
                  "is needed",
                  ops::where(site), std::get<Number>(what).text()));
}

Tape::Tape() : recording_(std::make_unique<Recording>()) {}
Tape::~Tape() = default;
Tape::Tape(Tape&&) noexcept = default;
Tape& Tape::operator=(Tape&&) noexcept = default;

Tape::Tape(Network&& network, Site site) {
  if (network.graph_ == nullptr) {
    throw UsageError(ops::where(site) +
                     "Tape(Network&&): the network was moved from");
  }
  if (network.graph_.use_count() != 1) {
    throw UsageError(fmt::format(
        "{}Tape(Network&&): {} handles to this network exist, and reopening "
        "needs the only one",
        ops::where(site), network.graph_.use_count()));
  }
  // The only handle: nobody else can see the list, so it may be moved out.
  auto& graph = const_cast<graph::Graph&>(*network.graph_);
  recording_ = std::make_unique<Recording>(std::move(graph));
  network.graph_.reset();
}

Value Tape::parameter(std::string name, Tensor initial, Site site) {
  return on_tape(
      *this, asked("parameter", name), site, [&](Recording& recording) {
        const std::uint32_t node = leaf(recording, Kind::parameter,
                                        initial.type(), std::move(name), site);
        recording.set_payload(node, initial);
        return recording.value(node);
      });
}

Value Tape::parameter(std::string name, DType dtype, Shape shape, Site site) {
  return on_tape(
      *this, asked("parameter", name), site, [&](Recording& recording) {
        return recording.value(leaf(recording, Kind::parameter, {dtype, shape},
                                    std::move(name), site));
      });
}

Value Tape::input(std::string name, DType dtype, Shape shape, Site site) {
  return on_tape(*this, asked("input", name), site, [&](Recording& recording) {
    return recording.value(
        leaf(recording, Kind::input, {dtype, shape}, std::move(name), site));
  });
}

Value Tape::constant(Tensor payload, Site site) {
  return on_tape(*this, "constant", site, [&](Recording& recording) {
    const std::uint32_t node =
        leaf(recording, Kind::constant, payload.type(), {}, site);
    recording.set_payload(node, payload);
    return recording.value(node);
  });
}

void Tape::name(Value value, std::string name, Site site) {
  on_tape(*this, "name", site, [&](Recording& recording) {
    recording.set_name(recording.node(value), std::move(name));
    return 0;
  });
}

std::string Tape::name(Value value, Site site) const {
  return on_tape(*this, "name", site, [&](Recording& recording) {
    return std::string(recording.graph().name_of(recording.node(value)));
  });
}

std::size_t Tape::size() const { return Recording::of(*this).graph().size(); }

std::string Tape::describe() const {
  return graph::describe(Recording::of(*this).graph());
}

Network Tape::seal(Site site) {
  return ops::at_line(site, "seal", [&] {
    Recording& recording = Recording::of(*this);
    auto graph = std::make_shared<graph::Graph>(recording.take());
    recording_.reset();
    return Network(std::move(graph));
  });
}

}  // namespace topos
