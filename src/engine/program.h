#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "topos/plan.h"

namespace topos::engines {

/// A list of nodes that computes an entry: what passes take and give. A
/// snapshot: it shares payloads with the network and nothing else.
struct Program {
  struct Carry {
    std::uint32_t input;  // a leaf
    std::uint32_t next;
  };

  graph::Graph list;
  /// For each node, the recorded one that it stands for.
  std::vector<std::uint32_t> origin;
  std::vector<std::uint32_t> results;
  std::vector<Carry> carries;

  std::uint32_t size() const noexcept { return list.size(); }
};

/// Appends a leaf or an operation, with the type and the lines of `like`.
std::uint32_t append(Program& program, const graph::Node& like,
                     std::span<const std::uint32_t> operands,
                     std::uint32_t origin);

/// The nodes of a graph that an entry needs, in recording order.
/// \throws UsageError, ShapeError, DTypeError  the entry does not fit
Program closure(const graph::Graph& graph, const Entry& entry);

/// The nodes of a graph that one value needs.
Program closure(const graph::Graph& graph, std::uint32_t value);

/// The program without the nodes that nothing needs.
Program without_dead(const Program& program);

/// Whether a value of it is of bf16 or f16.
bool has_halves(const Program& program);

/// How 16-bit types are widened.
struct Widen {
  /// What sums are accumulated in: f64, as they are defined, or f32.
  DType sums = f64;
  /// Right operands of f32 products stay of 16 bits: who computes the product
  /// widens them. Then nodes that nothing needs are left out.
  bool products_widen = false;
  /// And both operands of products of bf16, which a dot product of pairs may
  /// compute: fast numerics.
  bool dots_bf16 = false;
};

/// The same with operations on 16-bit types as wider ones between casts: what
/// is left of 16 bits is moved or cast. Labels keep their nodes.
Program widen(const Program& program, Widen how);

/// The rewrites that keep bits, common subexpressions, folding of constants.
Program simplify(const Program& program);

}  // namespace topos::engines
