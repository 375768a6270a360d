// Reverse mode: the chain rule, recorded [Griewank & Walther 2008, ch. 3].

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "graph/recording.h"
#include "ops/call.h"
#include "topos/error.h"
#include "topos/tape.h"

namespace topos {

namespace {

using graph::Kind;
using graph::Recording;
using Nodes = std::vector<std::uint32_t>;

void expect_floating(const Recording& recording, std::uint32_t node,
                     std::string_view role) {
  const graph::Graph& graph = recording.graph();
  const Type& type = graph.nodes[node].type;
  if (!is_floating(type.dtype)) {
    throw DTypeError(fmt::format("the {} %{} ({}) is {}: only floating values "
                                 "have derivatives",
                                 role, node, graph.origin(node), type.text()));
  }
}

/// Records the cotangents of `wrt` for the cotangent `seed` of `result`.
class PullBack {
 public:
  PullBack(Recording& recording, std::uint32_t result, const Nodes& wrt)
      : recording_(recording), result_(result), wrt_(wrt) {
    first_ = result + 1;
    for (std::uint32_t node : wrt) first_ = std::min(first_, node);
    find_dependents();
  }

  std::vector<Value> run(Value seed) {
    if (first_ <= result_) {
      adjoints_.resize(result_ + 1 - first_);
      adjoint(result_) = seed;
      for (std::uint32_t node = result_ + 1; node-- > first_;) visit(node);
    }
    std::vector<Value> cotangents;
    for (std::uint32_t node : wrt_) {
      std::optional<Value> found;
      if (node >= first_ && node <= result_) found = adjoint(node);
      cotangents.push_back(found ? *found : zeros(node));
    }
    return cotangents;
  }

 private:
  std::optional<Value>& adjoint(std::uint32_t node) {
    return adjoints_[node - first_];
  }

  bool depends(std::uint32_t node) const {
    return node >= first_ && node <= result_ && depends_[node - first_];
  }

  /// Marks the nodes between wrt and the result that depend on wrt.
  void find_dependents() {
    if (first_ > result_) return;
    depends_.resize(result_ + 1 - first_);
    for (std::uint32_t node : wrt_) {
      if (node <= result_) depends_[node - first_] = true;
    }
    const graph::Graph& graph = recording_.graph();
    for (std::uint32_t node = first_; node <= result_; ++node) {
      for (std::uint32_t operand : graph.operands(node)) {
        if (depends(operand)) depends_[node - first_] = true;
      }
    }
    // Only labels with a rule of their own matter, by their result.
    for (std::size_t i = 0; i < graph.labels.size(); ++i) {
      const graph::Label& label = graph.labels[i];
      if (label.derivative && label.begin >= first_ && depends(label.result)) {
        rules_.emplace(label.result, i);
      }
    }
  }

  void visit(std::uint32_t node) {
    if (!depends(node) || !adjoint(node)) return;
    if (recording_.graph().nodes[node].kind != Kind::operation) return;
    const Value dy = *adjoint(node);
    const Value y = recording_.value(node);
    // Copies: the rules record, which moves the lists.
    Nodes operands;
    std::vector<std::optional<Value>> cotangents;
    if (const auto rule = rules_.find(node); rule != rules_.end()) {
      const graph::Label label = recording_.graph().labels[rule->second];
      operands = label.operands;
      cotangents = label.derivative(values(operands), y, dy);
    } else {
      const auto span = recording_.graph().operands(node);
      operands.assign(span.begin(), span.end());
      const ops::Any op = recording_.graph().nodes[node].op;
      cotangents = std::visit(
          [&](const auto& o) {
            return o.derivative(ops::Operands<Value>(values(operands)), y, dy);
          },
          op);
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!cotangents[i] || !depends(operands[i])) continue;
      std::optional<Value>& sum = adjoint(operands[i]);
      sum = sum ? *sum + *cotangents[i] : *cotangents[i];
    }
  }

  std::vector<Value> values(const Nodes& nodes) const {
    std::vector<Value> result;
    for (std::uint32_t node : nodes) result.push_back(recording_.value(node));
    return result;
  }

  Value zeros(std::uint32_t node) const {
    return full_like(recording_.value(node),
                     recording_.graph().nodes[node].type, 0);
  }

  Recording& recording_;
  std::uint32_t result_;
  const Nodes& wrt_;
  std::uint32_t first_;
  std::vector<bool> depends_;
  std::vector<std::optional<Value>> adjoints_;
  std::unordered_map<std::uint32_t, std::size_t> rules_;
};

Nodes nodes_of(const Recording& recording, std::span<const Value> values,
               std::string_view role) {
  Nodes result;
  for (const Value& value : values) {
    result.push_back(recording.node(value));
    expect_floating(recording, result.back(), role);
  }
  return result;
}

void expect_type(const Recording& recording, Value value, const Type& wanted,
                 std::string_view role) {
  const Type found = recording.graph().nodes[recording.node(value)].type;
  if (found.dtype != wanted.dtype) {
    throw DTypeError(fmt::format("the {} is {}, but has to be {}", role,
                                 found.text(), wanted.text()));
  }
  if (found.shape != wanted.shape) {
    throw ShapeError(fmt::format("the {} is {}, but has to be {}", role,
                                 found.text(), wanted.text()));
  }
}

/// Runs `body(recording)`, which gives the recorded results: what they do not
/// need is removed again; on an error, everything is.
template <class F>
std::vector<Value> recorded(const Tape& tape, std::string_view asked,
                            Site site, F&& body) {
  // The caller's line first, then the rule's.
  const Frame frame(site);
  try {
    Recording& recording = Recording::of(tape);
    graph::Transaction transaction(recording);
    std::vector<Value> results = body(recording);
    recording.compact(transaction.begin(), results);
    transaction.keep();
    return results;
  } catch (Error& error) {
    error.add_context((site.known() ? site.text() + ": " : "") +
                      std::string(asked) + ": ");
    throw;
  }
}

}  // namespace

std::vector<Value> Tape::differentiate(Value loss, std::span<const Value> wrt,
                                       Site site) {
  return recorded(*this, "differentiate", site, [&](Recording& recording) {
    const std::uint32_t node = recording.node(loss);
    const Type type = recording.graph().nodes[node].type;
    if (type.shape.rank() != 0) {
      throw ShapeError(
          fmt::format("the loss %{} ({}) is {}, but has to be a scalar", node,
                      recording.graph().origin(node), type.text()));
    }
    expect_floating(recording, node, "loss");
    const Nodes targets = nodes_of(recording, wrt, "target");
    const Value one = recording.value(recording.number(type, 1, site));
    return PullBack(recording, node, targets).run(one);
  });
}

std::vector<Value> Tape::differentiate(Value loss,
                                       std::initializer_list<Value> wrt,
                                       Site site) {
  return differentiate(loss, std::span(wrt.begin(), wrt.size()), site);
}

std::vector<Gradient> Tape::gradients(Value loss, Site site) {
  std::vector<Value> parameters;
  if (recording_ != nullptr) {
    const graph::Graph& graph = recording_->graph();
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      const graph::Node& node = graph.nodes[i];
      if (node.kind == Kind::parameter && is_floating(node.type.dtype)) {
        parameters.push_back(recording_->value(i));
      }
    }
  }
  const std::vector<Value> gradients = differentiate(loss, parameters, site);
  std::vector<Gradient> result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    result.push_back({parameters[i], gradients[i]});
  }
  return result;
}

std::vector<Value> Tape::vjp(Value result, std::span<const Value> wrt,
                             Value cotangent, Site site) {
  return recorded(*this, "vjp", site, [&](Recording& recording) {
    const std::uint32_t node = recording.node(result);
    expect_floating(recording, node, "result");
    const Nodes targets = nodes_of(recording, wrt, "target");
    expect_type(recording, cotangent, recording.graph().nodes[node].type,
                "cotangent");
    return PullBack(recording, node, targets).run(cotangent);
  });
}

std::vector<Value> Tape::vjp(Value result, std::initializer_list<Value> wrt,
                             Value cotangent, Site site) {
  return vjp(result, std::span(wrt.begin(), wrt.size()), cotangent, site);
}

Value Tape::jvp(Value result, std::span<const Value> wrt,
                std::span<const Value> tangents, Site site) {
  return recorded(*this, "jvp", site, [&](Recording& recording) {
    if (wrt.size() != tangents.size()) {
      throw ShapeError(fmt::format("{} tangents do not fit {} values",
                                   tangents.size(), wrt.size()));
    }
    const std::uint32_t node = recording.node(result);
    expect_floating(recording, node, "result");
    const Nodes targets = nodes_of(recording, wrt, "value");
    for (std::size_t i = 0; i < wrt.size(); ++i) {
      expect_type(recording, tangents[i], wrt[i].type(), "tangent");
    }
    // The pull-back g(u) = J' u is linear in u, whatever u is; its own
    // pull-back, of the tangents, is J v. Nothing of the result needs u.
    const Type type = recording.graph().nodes[node].type;
    const Value u =
        recording.value(recording.append(Kind::input, type, site));
    const std::vector<Value> pulled =
        PullBack(recording, node, targets).run(u);
    std::optional<Value> sum;
    for (std::size_t i = 0; i < pulled.size(); ++i) {
      const Nodes u_node{u.symbol().node};
      const std::uint32_t g = pulled[i].symbol().node;
      if (g < u.symbol().node) continue;  // does not depend on u: zeros
      const Value term = PullBack(recording, g, u_node).run(tangents[i])[0];
      sum = sum ? *sum + term : term;
    }
    return std::vector<Value>{sum ? *sum : full_like(result, type, 0)};
  })[0];
}

Value Tape::jvp(Value result, std::initializer_list<Value> wrt,
                std::initializer_list<Value> tangents, Site site) {
  return jvp(result, std::span(wrt.begin(), wrt.size()),
             std::span(tangents.begin(), tangents.size()), site);
}

}  // namespace topos
