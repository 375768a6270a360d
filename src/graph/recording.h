#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "ops/at_line.h"
#include "topos/tape.h"

namespace topos::graph {

/// A graph under construction: what stands behind a Tape. While it lives, a
/// process-wide table maps its id to it, so that a Value finds its tape.
class Recording {
 public:
  /// Under a fresh id.
  Recording();
  /// Goes on with a sealed graph, under its old id.
  explicit Recording(Graph graph);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// The live recording of a tape id. Null: sealed or destroyed.
  static Recording* find(std::uint32_t tape);
  /// \throws UsageError  the tape is sealed
  static Recording& of(const Tape& tape);
  /// The live recording of a value. \throws UsageError  says what it is
  static Recording& of(Value value);

  const Graph& graph() const noexcept { return graph_; }
  Graph take() { return std::move(graph_); }

  Value value(std::uint32_t node) const {
    return Value(Symbol{graph_.tape, node});
  }
  /// The position of a value. \throws UsageError  it is of another tape
  std::uint32_t node(Value value) const;

  std::uint32_t append(Kind kind, const Type& type, Site site);
  std::uint32_t append(const ops::Any& op, const Type& type,
                       std::span<const std::uint32_t> operands, Site site);
  void set_name(std::uint32_t node, std::string name);
  void set_payload(std::uint32_t node, const Tensor& payload);
  void add_label(Label label) { graph_.labels.push_back(std::move(label)); }

  /// The one constant of a number in a dtype, and its one broadcast to a
  /// shape.
  std::uint32_t number(const Type& type, Number number, Site site);

  /// Cuts the list back to its first `size` nodes.
  void truncate(std::uint32_t size);
  /// Removes those nodes from `begin` on that `roots` do not need; the roots
  /// follow their nodes.
  void compact(std::uint32_t begin, std::span<Value> roots);

 private:
  struct NumberKey {
    DType dtype;
    std::uint64_t bits;
    Shape shape;
    bool operator==(const NumberKey&) const = default;
  };
  struct NumberHash {
    std::size_t operator()(const NumberKey& key) const noexcept;
  };

  /// The numbers of a graph that was recorded before.
  void find_numbers();

  Graph graph_;
  std::unordered_map<NumberKey, std::uint32_t, NumberHash> numbers_;
};

/// Runs `body(recording)` in a transaction; an error leaves with the line and
/// what was asked before it.
template <class F>
auto on_tape(const Tape& tape, std::string_view asked, Site site, F&& body) {
  return ops::at_line(site, asked, [&] {
    Recording& recording = Recording::of(tape);
    Transaction transaction(recording);
    auto result = body(recording);
    transaction.keep();
    return result;
  });
}

}  // namespace topos::graph
