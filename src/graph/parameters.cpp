#include <fmt/format.h>

#include <algorithm>

#include "ops/call.h"
#include "topos/error.h"
#include "topos/network.h"

namespace topos {

namespace {

using Item = Parameters::Item;

void expect_type(const Item& item, const Type& found, Site site) {
  if (item.type.dtype != found.dtype) {
    throw DTypeError(fmt::format("{}parameter \"{}\" is {}, but is given {}",
                                 ops::where(site), item.name, item.type.text(),
                                 found.text()));
  }
  if (item.type.shape != found.shape) {
    throw ShapeError(fmt::format("{}parameter \"{}\" is {}, but is given {}",
                                 ops::where(site), item.name, item.type.text(),
                                 found.text()));
  }
}

template <class Items, class Same>
auto& find(Items& items, Same&& same, const std::string& asked, Site site) {
  const auto found = std::find_if(items.begin(), items.end(), same);
  if (found == items.end()) {
    throw UsageError(
        fmt::format("{}there is no parameter {}", ops::where(site), asked));
  }
  return *found;
}

template <class Items>
auto& find(Items& items, Symbol symbol, Site site) {
  return find(
      items, [&](const Item& item) { return item.symbol == symbol; },
      fmt::format("%{} of tape {}", symbol.node, symbol.tape), site);
}

template <class Items>
auto& find(Items& items, std::string_view name, Site site) {
  return find(
      items, [&](const Item& item) { return item.name == name; },
      fmt::format("\"{}\"", name), site);
}

const Tensor& payload_of(const Item& item, Site site) {
  if (!item.payload) {
    throw UsageError(fmt::format("{}parameter \"{}\" ({}) has no payload yet",
                                 ops::where(site), item.name,
                                 item.type.text()));
  }
  return *item.payload;
}

}  // namespace

std::int64_t Parameters::element_count() const {
  std::int64_t count = 0;
  for (const Item& item : items_) count += item.type.shape.element_count();
  return count;
}

const Tensor& Parameters::of(Symbol symbol, Site site) const {
  return payload_of(find(items_, symbol, site), site);
}

const Tensor& Parameters::of(std::string_view name, Site site) const {
  return payload_of(find(items_, name, site), site);
}

void Parameters::set(Symbol symbol, const Tensor& payload, Site site) {
  Item& item = find(items_, symbol, site);
  expect_type(item, payload.type(), site);
  item.payload = payload;
}

void Parameters::set(std::string_view name, const Tensor& payload, Site site) {
  Item& item = find(items_, name, site);
  expect_type(item, payload.type(), site);
  item.payload = payload;
}

Parameters Parameters::step(
    std::span<const Tensor> gradients,
    const std::function<Tensor(const Tensor&, const Tensor&)>& update,
    Site site) const {
  if (gradients.size() != items_.size()) {
    throw ShapeError(fmt::format("{}{} gradients do not fit {} parameters",
                                 ops::where(site), gradients.size(),
                                 items_.size()));
  }
  std::vector<Item> next = items_;
  for (std::size_t i = 0; i < next.size(); ++i) {
    Item& item = next[i];
    expect_type(item, gradients[i].type(), site);
    Tensor updated = update(payload_of(item, site), gradients[i]);
    expect_type(item, updated.type(), site);
    item.payload = std::move(updated);
  }
  return Parameters(std::move(next));
}

}  // namespace topos
