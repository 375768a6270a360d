#include "topos/network.h"

#include <fmt/format.h>

#include "graph/graph.h"
#include "ops/at_line.h"
#include "topos/error.h"

namespace topos {

const graph::Graph& graph::graph_of(const Network& network) {
  if (network.graph() == nullptr) {
    throw UsageError("the network was moved from");
  }
  return *network.graph();
}

using graph::graph_of;
using ops::at_line;

Parameters Network::parameters() const {
  const graph::Graph& graph = graph_of(*this);
  std::vector<Parameters::Item> items;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (node.kind != graph::Kind::parameter) continue;
    const auto payload = graph.payloads.find(i);
    items.push_back({{graph.tape, i},
                     std::string(graph.name_of(i)),
                     node.type,
                     payload == graph.payloads.end()
                         ? std::nullopt
                         : std::optional(payload->second)});
  }
  return Parameters(std::move(items));
}

std::size_t Network::size() const { return graph_of(*this).size(); }

Type Network::type(Symbol symbol, Site site) const {
  return at_line(site, "", [&] {
    const graph::Graph& graph = graph_of(*this);
    return graph.nodes[graph::position(graph, symbol)].type;
  });
}

std::string_view Network::name(Symbol symbol, Site site) const {
  return at_line(site, "", [&] {
    const graph::Graph& graph = graph_of(*this);
    return graph.name_of(graph::position(graph, symbol));
  });
}

Symbol Network::symbol(std::string_view name, Site site) const {
  return at_line(site, "", [&] {
    const graph::Graph& graph = graph_of(*this);
    const auto found = graph.by_name.find(name);
    if (found == graph.by_name.end()) {
      throw UsageError(fmt::format("no node is named \"{}\"", name));
    }
    return Symbol{graph.tape, found->second};
  });
}

std::vector<Symbol> Network::inputs() const {
  const graph::Graph& graph = graph_of(*this);
  std::vector<Symbol> result;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (graph.nodes[i].kind == graph::Kind::input) {
      result.push_back({graph.tape, i});
    }
  }
  return result;
}

std::string Network::describe() const {
  return graph::describe(graph_of(*this));
}

}  // namespace topos
