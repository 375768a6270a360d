// The spec, executed plainly: every node as recorded, one after the other, by
// the reference code of its operation.

#include <fmt/format.h>

#include <cstring>

#include "engine/session_state.h"
#include "math/float_environment.h"
#include "ops/at_line.h"
#include "ops/evaluate.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

using graph::Kind;

/// A tensor over borrowed elements: copied, since results outlive a step.
Tensor copy_of(const Type& type, const std::byte* elements) {
  std::byte* data = nullptr;
  Tensor result = Tensor::uninitialized(type, data);
  const std::size_t bytes = type.size_bytes();
  if (bytes > 0) std::memcpy(data, elements, bytes);
  return result;
}

/// The values of all nodes; `leaf(node)` gives those of parameters and inputs.
template <class F>
std::vector<Tensor> interpret(const Program& program, F&& leaf) {
  const graph::Graph& list = program.list;
  std::vector<Tensor> values(list.size());
  std::vector<Tensor> operands;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    if (node.kind == Kind::constant) {
      values[i] = list.payloads.at(i);
    } else if (node.kind != Kind::operation) {
      values[i] = leaf(i);
    } else {
      operands.clear();
      for (std::uint32_t operand : list.operands(node)) {
        operands.push_back(values[operand]);
      }
      try {
        values[i] = ops::evaluate(node.op, node.type, operands);
      } catch (const IndexError& error) {
        throw IndexError(list.origin(i) + ": " + error.message());
      } catch (const RuntimeError& error) {
        throw RuntimeError(list.origin(i) + ": " + error.message());
      }
    }
  }
  return values;
}

class InterpreterSession final : public HostSessionState {
 public:
  using HostSessionState::HostSessionState;

 private:
  struct Plain final : Bound {
    using Bound::Bound;
    std::vector<Tensor> values;
  };

  std::unique_ptr<Bound> bind(
      std::shared_ptr<const LoweredPlan> plan) override {
    return std::make_unique<Plain>(std::move(plan));
  }

  void run(Bound& bound) override {
    Plain& plain = static_cast<Plain&>(bound);
    const Program& program = plain.plan->recorded;
    for (const Program::Carry& carry : program.carries) {
      own(program.origin[carry.input]);
    }
    plain.values = interpret(program, [&](std::uint32_t node) {
      const Type& type = program.list.nodes[node].type;
      const std::uint32_t symbol = program.origin[node];
      if (program.list.nodes[node].kind == Kind::parameter) {
        return copy_of(type, parameter(symbol));
      }
      return copy_of(type, plain.feeds.find(symbol)->data);
    });
    // All carries together: no value aliases a slot.
    for (const Program::Carry& carry : program.carries) {
      const Tensor next = plain.values[carry.next].contiguous();
      const std::size_t bytes = next.type().size_bytes();
      if (bytes > 0) {
        std::memcpy(state_data(program.origin[carry.input]), next.data(),
                    bytes);
      }
    }
  }

  Elements result(Bound& bound, std::size_t index) override {
    const Plain& plain = static_cast<Plain&>(bound);
    const Tensor& value = plain.values[plain.plan->recorded.results[index]];
    return {value.data(), layout_of(value)};
  }

  std::string describe(Bound& bound) override {
    return fmt::format("interpreter: {} nodes, each by reference code\n{}",
                       bound.plan->recorded.size(),
                       graph::describe(bound.plan->recorded.list));
  }

  Session::Report report(Bound& bound) override {
    Session::Report result;
    const graph::Graph& list = bound.plan->recorded.list;
    for (const graph::Node& node : list.nodes) {
      ++result.nodes;
      result.reference_nodes += node.kind == Kind::operation;
    }
    result.groups = result.reference_nodes;
    return result;
  }
};

class Interpreter final : public EngineImplementation {
 public:
  std::string_view name() const override { return "interpreter"; }
  std::string description() const override {
    return "the definition, node by node";
  }
  std::shared_ptr<SessionState> open(
      std::shared_ptr<const PlacementState> placement,
      SessionOptions options) const override {
    return std::make_shared<InterpreterSession>(std::move(placement), options);
  }
};

}  // namespace

}  // namespace topos::engines

namespace topos {

Engine interpreter::engine() {
  static const engines::Interpreter instance;
  return Engine(instance);
}

Tensor Network::evaluate(Symbol value, std::initializer_list<Feed> feeds,
                         Site site) const {
  return evaluate(value, Feeds(feeds.begin(), feeds.size()), site);
}

Tensor Network::evaluate(Symbol value, Feeds feeds, Site site) const {
  return ops::at_line(site, "evaluate", [&] {
    const graph::Graph& graph = graph::graph_of(*this);
    const std::uint32_t node = graph::position(graph, value);
    const engines::Program program = engines::closure(graph, node);
    engines::FeedTable table(program);
    const math::FloatEnvironment environment;
    table.bind(feeds,
               [&](std::uint32_t symbol) { return graph.name_of(symbol); });
    return engines::interpret(
               program,
               [&](std::uint32_t leaf) {
                 const std::uint32_t symbol = program.origin[leaf];
                 const Type& type = program.list.nodes[leaf].type;
                 if (program.list.nodes[leaf].kind == graph::Kind::input) {
                   return engines::copy_of(type, table.find(symbol)->data);
                 }
                 const auto payload = graph.payloads.find(symbol);
                 if (payload == graph.payloads.end()) {
                   throw UsageError(
                       fmt::format("{} has no payload", graph.origin(symbol)));
                 }
                 return payload->second;
               })
        .at(program.results[0]);
  });
}

}  // namespace topos
