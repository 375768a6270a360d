#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/catalog.h"
#include "topos/tape.h"

namespace topos::graph {

/// What a node is: a leaf with a payload or a feed of its own, or an
/// operation on nodes before it.
enum class Kind : std::uint8_t { parameter, input, constant, operation };

std::string_view name(Kind kind) noexcept;

struct Node {
  Kind kind = Kind::operation;
  ops::Any op;  // of an operation
  std::uint32_t first_operand = 0;
  std::uint32_t operand_count = 0;
  Type type;
  Site site;   // the line that recorded it
  Site frame;  // the user's line, where a layer recorded it
};

/// How a composite that states its own derivative pulls a cotangent back: the
/// cotangents of its operands from its operands, result and the result's.
using DerivativeRule = std::function<std::vector<std::optional<Value>>(
    std::span<const Value> operands, const Value& y, const Value& dy)>;

/// A formula recorded under a label: the nodes [begin, end), of which `result`
/// is one.
struct Label {
  std::string name;
  std::string fields;
  std::vector<std::uint32_t> operands;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t result = 0;
  DerivativeRule derivative;  // empty: that of its formula
};

/// The list of nodes with all that belongs to it. Operands lie in one pool,
/// names and payloads beside the nodes: a node is plain data.
struct Graph {
  std::uint32_t tape = 0;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> operand_pool;
  std::unordered_map<std::uint32_t, std::string> names;
  std::map<std::string, std::uint32_t, std::less<>> by_name;
  /// Of constants, and of parameters that have an initial one.
  std::unordered_map<std::uint32_t, Tensor> payloads;
  std::vector<Label> labels;

  std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(nodes.size());
  }
  std::span<const std::uint32_t> operands(const Node& node) const {
    return {operand_pool.data() + node.first_operand, node.operand_count};
  }
  std::span<const std::uint32_t> operands(std::uint32_t node) const {
    return operands(nodes[node]);
  }
  std::string_view name_of(std::uint32_t node) const {
    const auto found = names.find(node);
    return found == names.end() ? std::string_view() : found->second;
  }
  /// `parameter "w", gpt2.cpp:97`, for errors.
  std::string origin(std::uint32_t node) const;
};

/// A line a node.
std::string describe(const Graph& graph);

/// The position of a symbol of this graph.
/// \throws UsageError  it is of another tape, or recorded later
std::uint32_t position(const Graph& graph, Symbol symbol);

/// \throws UsageError  the handle was moved from
const Graph& graph_of(const Network& network);

}  // namespace topos::graph
