// Reverse mode: the chain rule, recorded [Griewank & Walther 2008, ch. 3].

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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
    throw DTypeError(
        fmt::format("the {} %{} ({}) is {}: only floating values "
                    "have derivatives",
                    role, node, graph.origin(node), type.text()));
  }
}

/// Records the cotangents of `wrt` for cotangents of `results`, all pulled back
/// in one pass.
class PullBack {
 public:
  PullBack(Recording& recording, const Nodes& results, const Nodes& wrt)
      : recording_(recording), results_(results), wrt_(wrt) {
    for (std::uint32_t node : results) end_ = std::max(end_, node + 1);
    first_ = end_;
    for (std::uint32_t node : wrt) first_ = std::min(first_, node);
    find_dependents();
  }

  /// The cotangents of `wrt` under `seeds`, those of the results: none where
  /// no result depends on it.
  std::vector<std::optional<Value>> run(std::span<const Value> seeds) {
    adjoints_.resize(end_ - first_);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (depends(results_[i])) add(results_[i], seeds[i]);
    }
    for (std::uint32_t node = end_; node-- > first_;) visit(node);
    std::vector<std::optional<Value>> cotangents;
    for (std::uint32_t node : wrt_) {
      cotangents.push_back(node < end_ ? adjoint(node) : std::nullopt);
    }
    return cotangents;
  }

 private:
  std::optional<Value>& adjoint(std::uint32_t node) {
    return adjoints_[node - first_];
  }

  void add(std::uint32_t node, Value contribution) {
    std::optional<Value>& sum = adjoint(node);
    sum = sum ? *sum + contribution : contribution;
  }

  bool depends(std::uint32_t node) const {
    return node >= first_ && node < end_ && depends_[node - first_];
  }

  /// Marks the nodes between wrt and the results that depend on wrt.
  void find_dependents() {
    const graph::Graph& graph = recording_.graph();
    // Only labels with a rule of their own matter, by their result. Of two
    // with one result, the outer one, which comes later.
    for (std::size_t i = 0; i < graph.labels.size(); ++i) {
      const graph::Label& label = graph.labels[i];
      if (label.derivative && label.result >= first_ && label.result < end_ &&
          !is_entered(label)) {
        rules_.insert_or_assign(label.result, i);
      }
    }
    depends_.resize(end_ - first_);
    for (std::uint32_t node : wrt_) {
      if (node < end_) depends_[node - first_] = true;
    }
    for (std::uint32_t node = first_; node < end_; ++node) {
      const auto mark = [&](std::span<const std::uint32_t> operands) {
        for (std::uint32_t operand : operands) {
          if (depends(operand)) depends_[node - first_] = true;
        }
      };
      mark(graph.operands(node));
      if (const auto rule = rules_.find(node); rule != rules_.end()) {
        mark(graph.labels[rule->second].operands);
      }
    }
  }

  /// Whether a target is a value inside the label's formula: then the formula
  /// is differentiated, not the label.
  bool is_entered(const graph::Label& label) const {
    return std::any_of(wrt_.begin(), wrt_.end(), [&](std::uint32_t node) {
      return node >= label.begin && node < label.end && node != label.result;
    });
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
    if (cotangents.size() != operands.size()) unfit(node);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!cotangents[i] || !depends(operands[i])) continue;
      const graph::Graph& graph = recording_.graph();
      if (graph.nodes[recording_.node(*cotangents[i])].type !=
          graph.nodes[operands[i]].type) {
        unfit(node);
      }
      add(operands[i], *cotangents[i]);
    }
  }

  [[noreturn]] void unfit(std::uint32_t node) const {
    throw InternalError(
        fmt::format("the derivative of %{} ({}) does not fit its operands",
                    node, recording_.graph().origin(node)));
  }

  std::vector<Value> values(const Nodes& nodes) const {
    std::vector<Value> result;
    for (std::uint32_t node : nodes) result.push_back(recording_.value(node));
    return result;
  }

  Recording& recording_;
  const Nodes& results_;
  const Nodes& wrt_;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;  // one past the last result
  std::vector<bool> depends_;
  std::vector<std::optional<Value>> adjoints_;
  std::unordered_map<std::uint32_t, std::size_t> rules_;
};

Value zeros(Recording& recording, std::uint32_t node, Site site) {
  const Type type = recording.graph().nodes[node].type;
  return recording.value(recording.number(type, 0, site));
}

/// The cotangents of `wrt`, zeros of their types where there are none.
std::vector<Value> pull_back(Recording& recording, std::uint32_t result,
                             const Nodes& wrt, Value seed, Site site) {
  const auto found = PullBack(recording, {result}, wrt).run({{seed}});
  std::vector<Value> cotangents;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    cotangents.push_back(found[i] ? *found[i] : zeros(recording, wrt[i], site));
  }
  return cotangents;
}

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
  const std::uint32_t node = recording.node(value);
  const Type& found = recording.graph().nodes[node].type;
  const auto text = [&] {
    return fmt::format("the {} %{} ({}) is {}, but has to be {}", role, node,
                       recording.graph().origin(node), found.text(),
                       wanted.text());
  };
  if (found.dtype != wanted.dtype) throw DTypeError(text());
  if (found.shape != wanted.shape) throw ShapeError(text());
}

/// Runs `body(recording)`, which gives the recorded results: what they do not
/// need is removed again; on an error, everything is.
template <class F>
std::vector<Value> recorded(const Tape& tape, std::string_view asked, Site site,
                            F&& body) {
  // The caller's line first, then the rule's.
  const Frame frame(site);
  return graph::on_tape(tape, asked, site, [&](Recording& recording) {
    const std::uint32_t begin = recording.graph().size();
    std::vector<Value> results = body(recording);
    recording.compact(begin, results);
    return results;
  });
}

/// The gradients of a scalar.
std::vector<Value> gradients_of(const Tape& tape, std::string_view asked,
                                Value loss, std::span<const Value> wrt,
                                Site site) {
  return recorded(tape, asked, site, [&](Recording& recording) {
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
    return pull_back(recording, node, targets, one, site);
  });
}

}  // namespace

std::vector<Value> Tape::differentiate(Value loss, std::span<const Value> wrt,
                                       Site site) {
  return gradients_of(*this, "differentiate", loss, wrt, site);
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
  const std::vector<Value> gradients =
      gradients_of(*this, "gradients", loss, parameters, site);
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
    return pull_back(recording, node, targets, cotangent, site);
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
    const Nodes u{recording.append(Kind::input, type, site)};
    const auto found =
        PullBack(recording, {node}, targets).run({{recording.value(u[0])}});
    Nodes pulled;
    std::vector<Value> seeds;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      pulled.push_back(found[i]->symbol().node);
      seeds.push_back(tangents[i]);
    }
    const auto tangent = PullBack(recording, pulled, u).run(seeds)[0];
    return std::vector<Value>{tangent ? *tangent
                                      : zeros(recording, node, site)};
  })[0];
}

Value Tape::jvp(Value result, std::initializer_list<Value> wrt,
                std::initializer_list<Value> tangents, Site site) {
  return jvp(result, std::span(wrt.begin(), wrt.size()),
             std::span(tangents.begin(), tangents.size()), site);
}

}  // namespace topos
