#include "topos/network.h"

#include <fmt/format.h>

#include "graph/graph.h"
#include "ops/call.h"
#include "topos/error.h"

namespace topos {

namespace {

template <class F>
auto at_line(Site site, F&& body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(ops::where(site));
    throw;
  }
}

}  // namespace

Parameters Network::parameters() const {
  std::vector<Parameters::Item> items;
  for (std::uint32_t i = 0; i < graph_->size(); ++i) {
    const graph::Node& node = graph_->nodes[i];
    if (node.kind != graph::Kind::parameter) continue;
    const auto payload = graph_->payloads.find(i);
    items.push_back({{graph_->tape, i},
                     std::string(graph_->name_of(i)),
                     node.type,
                     payload == graph_->payloads.end()
                         ? std::nullopt
                         : std::optional(payload->second)});
  }
  return Parameters(std::move(items));
}

std::size_t Network::size() const { return graph_->size(); }

Type Network::type(Symbol symbol, Site site) const {
  return at_line(site, [&] {
    return graph_->nodes[graph::position(*graph_, symbol)].type;
  });
}

std::string_view Network::name(Symbol symbol, Site site) const {
  return at_line(site, [&] {
    return graph_->name_of(graph::position(*graph_, symbol));
  });
}

Symbol Network::symbol(std::string_view name, Site site) const {
  return at_line(site, [&] {
    const auto found = graph_->by_name.find(name);
    if (found == graph_->by_name.end()) {
      throw UsageError(fmt::format("no node is named \"{}\"", name));
    }
    return Symbol{graph_->tape, found->second};
  });
}

std::vector<Symbol> Network::inputs() const {
  std::vector<Symbol> result;
  for (std::uint32_t i = 0; i < graph_->size(); ++i) {
    if (graph_->nodes[i].kind == graph::Kind::input) {
      result.push_back({graph_->tape, i});
    }
  }
  return result;
}

std::string Network::describe() const { return graph::describe(*graph_); }

}  // namespace topos
