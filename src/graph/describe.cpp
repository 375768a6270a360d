#include <fmt/format.h>

#include "graph/graph.h"
#include "ops/evaluate.h"
#include "topos/error.h"

namespace topos::graph {

std::string_view name(Kind kind) noexcept {
  switch (kind) {
    case Kind::parameter:
      return "parameter";
    case Kind::input:
      return "input";
    case Kind::constant:
      return "constant";
    case Kind::operation:
      return "operation";
  }
  return "?";
}

namespace {

std::string lines_of(const Node& node) {
  std::string result = node.frame.known() ? node.frame.text() : "";
  if (node.site.known() && node.site.text() != result) {
    result += result.empty() ? node.site.text() : " in " + node.site.text();
  }
  return result;
}

}  // namespace

std::string Graph::origin(std::uint32_t at) const {
  const Node& node = nodes[at];
  std::string result(node.kind == Kind::operation ? ops::name_of(node.op)
                                                  : graph::name(node.kind));
  if (const auto given = name_of(at); !given.empty()) {
    result += fmt::format(" \"{}\"", given);
  }
  const std::string lines = lines_of(node);
  return lines.empty() ? result : result + ", " + lines;
}

std::string describe(const Graph& graph) {
  // Labels by the node at which they end, to print them behind its line.
  std::unordered_map<std::uint32_t, std::string> labels;
  for (const Label& label : graph.labels) {
    std::string& text = labels[label.result];
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", label.name,
                        label.fields);
  }
  std::string result;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::string call;
    if (node.kind == Kind::operation) {
      call = ops::name_of(node.op);
      for (std::uint32_t operand : graph.operands(node)) {
        call += fmt::format(" %{}", operand);
      }
      call += ops::fields_of(node.op);
    } else {
      call = name(node.kind);
      if (node.kind == Kind::constant) {
        const Tensor& payload = graph.payloads.at(i);
        if (payload.element_count() <= 4) {
          const std::string text = payload.text();
          call += " " + text.substr(text.find('{'));
        }
      }
    }
    std::string line =
        fmt::format("%{:<4} {:<44} {:<16}", i, call, node.type.text());
    if (const auto given = graph.name_of(i); !given.empty()) {
      line += fmt::format(" \"{}\"", given);
    }
    if (const auto label = labels.find(i); label != labels.end()) {
      line += fmt::format(" [{}]", label->second);
    }
    if (const std::string lines = lines_of(node); !lines.empty()) {
      line += "  " + lines;
    }
    result += line + "\n";
  }
  return result;
}

std::uint32_t position(const Graph& graph, Symbol symbol) {
  if (symbol.tape == 0) {
    throw UsageError("a Value that was never recorded is used");
  }
  if (symbol.tape != graph.tape) {
    throw UsageError(
        fmt::format("%{} is a value of tape {}, but this network is of tape {}",
                    symbol.node, symbol.tape, graph.tape));
  }
  if (symbol.node >= graph.size()) {
    throw UsageError(fmt::format(
        "%{} was recorded after this network was sealed: it has {} nodes",
        symbol.node, graph.size()));
  }
  return symbol.node;
}

}  // namespace topos::graph
