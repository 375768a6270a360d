#include "emit/index_checks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "engine/feeds.h"
#include "ops/indexing.h"
#include "topos/error.h"

namespace topos::emit {

namespace {

using engines::Program;
using stablehlo::Value;
using stablehlo::Writer;

/// The operations, as they were recorded, whose indices are checked when they
/// are fed.
std::set<std::uint32_t> checked_when_fed(const Program& recorded,
                                         std::span<const Symbol> held) {
  std::set<std::uint32_t> result;
  engines::FeedTable feeds(recorded);
  for (const auto& check : feeds.checks()) {
    const engines::FeedTable::Input& input = feeds.inputs()[check.input];
    const Symbol symbol{recorded.list.tape, input.symbol};
    const bool is_held = std::ranges::find(held, symbol) != held.end();
    if (input.carried || is_held) continue;
    result.insert(recorded.origin[check.node]);
  }
  return result;
}

bool is_constant_within(const graph::Graph& list, std::uint32_t node,
                        std::int64_t extent) {
  if (list.nodes[node].kind != graph::Kind::constant) return false;
  try {
    ops::checked_indices(list.payloads.at(node), extent);
    return true;
  } catch (const IndexError&) {
    return false;
  }
}

/// i64[1, 2] of one index.
Value write_fault(Writer& out, const Value& index, std::int64_t extent) {
  constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();
  const Shape flat = {index.type.shape.element_count()};
  const Value x = out.convert(out.reshape(index, flat), i64);
  const Value at = out.iota(x.type, 0);
  const Value is_bad =
      out.elementwise("or", {out.compare("LT", x, out.full_like(x, 0)),
                             out.compare("GE", x, out.full_like(x, extent))});
  const Value first =
      out.reduce(stablehlo::Reduction::minimum,
                 out.select(is_bad, at, out.full_like(x, nowhere)), {0});
  const Value is_first = out.compare("EQ", at, out.broadcast(first, flat, {}));
  const Value which =
      out.reduce(stablehlo::Reduction::add,
                 out.select(is_first, x, out.full_like(x, 0)), {0});
  const Value is_none = out.compare("EQ", first, out.full_like(first, nowhere));
  const Value position = out.select(is_none, out.full_like(first, -1), first);
  const std::array both = {out.reshape(position, {1, 1}),
                           out.reshape(which, {1, 1})};
  return out.concatenate({both, {i64, {1, 2}}}, 1);
}

}  // namespace

std::vector<UncheckedIndex> unchecked_indices(const Program& program,
                                              const Program& recorded,
                                              std::span<const Symbol> held) {
  const graph::Graph& list = program.list;
  const std::set<std::uint32_t> when_fed = checked_when_fed(recorded, held);
  std::vector<UncheckedIndex> result;
  for (std::uint32_t i = 0; i < list.size(); ++i) {
    const graph::Node& node = list.nodes[i];
    if (node.kind != graph::Kind::operation) continue;
    const auto extent = engines::indexed_extent(list, node);
    if (!extent || when_fed.count(program.origin[i]) != 0) continue;
    const std::uint32_t index = list.operands(node)[1];
    if (list.nodes[index].type.shape.element_count() == 0 ||
        is_constant_within(list, index, *extent)) {
      continue;
    }
    result.push_back({i, index, *extent});
  }
  return result;
}

Value write_index_faults(Writer& out, std::span<const UncheckedIndex> checks,
                         std::span<const Value> values_of_nodes) {
  std::vector<Value> faults;
  for (const UncheckedIndex& check : checks) {
    faults.push_back(
        write_fault(out, values_of_nodes[check.index], check.extent));
  }
  if (faults.size() == 1) return faults.front();
  const Type type = {i64, {static_cast<std::int64_t>(faults.size()), 2}};
  return out.concatenate({faults, type}, 0);
}

}  // namespace topos::emit
