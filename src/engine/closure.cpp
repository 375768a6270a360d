#include <fmt/format.h>

#include "engine/program.h"
#include "ops/at_line.h"
#include "topos/error.h"

namespace topos::engines {

using graph::Graph;
using graph::Kind;

std::uint32_t append(Program& program, const graph::Node& like,
                     std::span<const std::uint32_t> operands,
                     std::uint32_t origin) {
  Graph& list = program.list;
  graph::Node node = like;
  node.first_operand = static_cast<std::uint32_t>(list.operand_pool.size());
  node.operand_count = static_cast<std::uint32_t>(operands.size());
  list.operand_pool.insert(list.operand_pool.end(), operands.begin(),
                           operands.end());
  list.nodes.push_back(node);
  program.origin.push_back(origin);
  return list.size() - 1;
}

namespace {

constexpr std::uint32_t absent = UINT32_MAX;

/// A label goes along if all of its formula and its operands do.
void copy_label(const graph::Label& from,
                const std::vector<std::uint32_t>& moved, Program& to) {
  const auto went = [&](std::uint32_t node) { return moved[node] != absent; };
  bool complete = true;
  for (std::uint32_t i = from.begin; i < from.end; ++i) complete &= went(i);
  for (std::uint32_t operand : from.operands) complete &= went(operand);
  if (!complete) return;
  graph::Label label = {from.name,
                        from.fields,
                        {},
                        moved[from.begin],
                        moved[from.end - 1] + 1,
                        moved[from.result],
                        {}};
  for (std::uint32_t operand : from.operands) {
    label.operands.push_back(moved[operand]);
  }
  to.list.labels.push_back(std::move(label));
}

/// Copies the nodes of `from` that `roots` need; gives where each went.
std::vector<std::uint32_t> copy_needed(const Graph& from,
                                       const std::vector<std::uint32_t>& roots,
                                       const std::vector<std::uint32_t>* origin,
                                       Program& to) {
  std::vector<bool> needed(from.size());
  for (std::uint32_t root : roots) needed[root] = true;
  for (std::uint32_t i = from.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (std::uint32_t operand : from.operands(i)) needed[operand] = true;
  }
  to.list.tape = from.tape;
  std::vector<std::uint32_t> moved(from.size(), absent);
  std::vector<std::uint32_t> operands;
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    if (!needed[i]) continue;
    operands.clear();
    for (std::uint32_t operand : from.operands(i)) {
      operands.push_back(moved[operand]);
    }
    moved[i] = append(to, from.nodes[i], operands,
                      origin == nullptr ? i : (*origin)[i]);
    if (const auto name = from.names.find(i); name != from.names.end()) {
      to.list.names.emplace(moved[i], name->second);
    }
    if (const auto payload = from.payloads.find(i);
        payload != from.payloads.end() &&
        from.nodes[i].kind == Kind::constant) {
      to.list.payloads.emplace(moved[i], payload->second);
    }
  }
  for (const graph::Label& label : from.labels) {
    copy_label(label, moved, to);
  }
  return moved;
}

Program::Carry checked_carry(const Graph& graph, const Entry::Carry& carry) {
  const std::uint32_t input = graph::position(graph, carry.input);
  const std::uint32_t next = graph::position(graph, carry.next);
  const graph::Node& leaf = graph.nodes[input];
  if (leaf.kind != Kind::input && leaf.kind != Kind::parameter) {
    throw UsageError(fmt::format("%{} ({}) is neither an input nor a parameter",
                                 input, graph.origin(input)));
  }
  const Type& to = leaf.type;
  const Type& from = graph.nodes[next].type;
  const auto text = [&] {
    return fmt::format("%{} ({}) is {}, but its next value %{} ({}) is {}",
                       input, graph.origin(input), to.text(), next,
                       graph.origin(next), from.text());
  };
  if (to.dtype != from.dtype) throw DTypeError(text());
  if (to.shape != from.shape) throw ShapeError(text());
  return {input, next};
}

}  // namespace

Program closure(const Graph& graph, const Entry& entry) {
  Program result;
  std::vector<std::uint32_t> results;
  std::vector<Program::Carry> carries;
  std::vector<std::uint32_t> roots;
  std::vector<bool> is_result(graph.size());
  std::vector<bool> is_carried(graph.size());
  for (const Entry::Result& asked : entry.results()) {
    ops::at_line(asked.site, "result", [&] {
      const std::uint32_t node = graph::position(graph, asked.value);
      if (is_result[node]) return;
      is_result[node] = true;
      results.push_back(node);
      roots.push_back(node);
    });
  }
  for (const Entry::Carry& asked : entry.carries()) {
    ops::at_line(asked.site, "carry", [&] {
      const Program::Carry carry = checked_carry(graph, asked);
      if (is_carried[carry.input]) {
        throw UsageError(fmt::format("%{} ({}) is carried twice", carry.input,
                                     graph.origin(carry.input)));
      }
      is_carried[carry.input] = true;
      carries.push_back(carry);
      roots.push_back(carry.input);
      roots.push_back(carry.next);
    });
  }
  if (entry.results().empty() && entry.carries().empty()) {
    throw UsageError("the entry has neither a result nor a carry");
  }
  const auto moved = copy_needed(graph, roots, nullptr, result);
  for (std::uint32_t node : results) result.results.push_back(moved[node]);
  for (const Program::Carry& carry : carries) {
    result.carries.push_back({moved[carry.input], moved[carry.next]});
  }
  return result;
}

Program closure(const Graph& graph, std::uint32_t value) {
  Program result;
  const auto moved = copy_needed(graph, {value}, nullptr, result);
  result.results.push_back(moved[value]);
  return result;
}

Program without_dead(const Program& program) {
  std::vector<std::uint32_t> roots = program.results;
  for (const Program::Carry& carry : program.carries) {
    roots.push_back(carry.input);
    roots.push_back(carry.next);
  }
  Program result;
  const auto moved = copy_needed(program.list, roots, &program.origin, result);
  for (std::uint32_t node : program.results) {
    result.results.push_back(moved[node]);
  }
  for (const Program::Carry& carry : program.carries) {
    result.carries.push_back({moved[carry.input], moved[carry.next]});
  }
  return result;
}

}  // namespace topos::engines
