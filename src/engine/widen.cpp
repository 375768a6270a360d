// 16-bit types as casts: what computes on bf16 or f16 becomes the same
// operation on a wider type between casts, so that nothing behind this pass
// computes on 16 bits.

#include <map>
#include <utility>

#include "engine/program.h"
#include "kernels/few_rows.h"
#include "ops/evaluate.h"
#include "ops/widening.h"

namespace topos::engines {

namespace {

using graph::Kind;
using graph::Node;

/// Rows of a product that reads its right operand at memory's speed.
constexpr auto few_rows = static_cast<std::int64_t>(kernels::streamed_rows);

class Widener {
 public:
  Widener(const Program& from, Widen how) : from_(from), how_(how) {
    result_.list.tape = from.list.tape;
  }

  Program run() {
    const graph::Graph& list = from_.list;
    for (std::uint32_t i = 0; i < from_.size(); ++i) {
      starts_.push_back(result_.size());
      moved_.push_back(list.nodes[i].kind == Kind::operation ? operation(i)
                                                             : leaf(i));
      if (const auto name = list.names.find(i); name != list.names.end()) {
        result_.list.names.emplace(moved_.back(), name->second);
      }
    }
    starts_.push_back(result_.size());
    for (const graph::Label& label : list.labels) copy(label);
    for (std::uint32_t node : from_.results) {
      result_.results.push_back(moved_[node]);
    }
    for (const Program::Carry& carry : from_.carries) {
      result_.carries.push_back({moved_[carry.input], moved_[carry.next]});
    }
    return std::move(result_);
  }

 private:
  std::uint32_t leaf(std::uint32_t i) {
    const std::uint32_t id =
        append(result_, from_.list.nodes[i], {}, from_.origin[i]);
    if (const auto payload = from_.list.payloads.find(i);
        payload != from_.list.payloads.end()) {
      result_.list.payloads.emplace(id, payload->second);
    }
    return id;
  }

  std::uint32_t operation(std::uint32_t i) {
    const Node& node = from_.list.nodes[i];
    std::vector<std::uint32_t> operands;
    std::vector<Type> types;
    for (std::uint32_t operand : from_.list.operands(node)) {
      operands.push_back(moved_[operand]);
      types.push_back(from_.list.nodes[operand].type);
    }
    const auto widening = ops::widening(node.op, types, how_.sums);
    const bool is_product =
        how_.products_widen && std::holds_alternative<ops::Matmul>(node.op) &&
        (widening ? widening->dtype : node.type.dtype) == f32;
    if (is_product) operands[1] = narrow(operands[1], i);
    const bool is_dot = is_product && is_dot_of(operands, node, i);
    if (!widening) return append(result_, node, operands, from_.origin[i]);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (is_half(types[k].dtype) && !(is_product && (k == 1 || is_dot))) {
        operands[k] = widened(operands[k], widening->dtype, node, i);
      }
    }
    Node wide = node;
    wide.type = widening->result;
    const std::uint32_t id = append(result_, wide, operands, from_.origin[i]);
    return is_half(node.type.dtype) ? cast(id, node.type.dtype, node, i) : id;
  }

  /// Whether a product is one of two bf16 operands that the dot product of the
  /// CPU may compute; then they are these.
  bool is_dot_of(std::vector<std::uint32_t>& operands, const Node& node,
                 std::uint32_t i) {
    if (!how_.dots_bf16) return false;
    const auto dtype = [&](std::uint32_t id) {
      return result_.list.nodes[id].type.dtype;
    };
    const std::uint32_t left = narrow(operands[0], i);
    if (dtype(left) != bf16 || dtype(operands[1]) != bf16) return false;
    const Shape& shape = result_.list.nodes[left].type.shape;
    // Few rows are as fast as memory in any case.
    if (shape[-1] == 0 ||
        node.type.shape.element_count() <= node.type.shape[-1] * few_rows) {
      return false;
    }
    operands[0] = left;
    return true;
  }

  /// The value that this one is widened from, through what only moves
  /// elements; itself if there is none.
  std::uint32_t narrow(std::uint32_t id, std::uint32_t i) {
    const Node node = result_.list.nodes[id];
    if (node.kind != Kind::operation || node.operand_count != 1) return id;
    const std::uint32_t x = result_.list.operands(node)[0];
    const Type& type = result_.list.nodes[x].type;
    if (std::holds_alternative<ops::Cast>(node.op)) {
      return is_half(type.dtype) && node.type.dtype == f32 ? x : id;
    }
    // A pad holds a number, which 16 bits would round.
    if (std::holds_alternative<ops::Pad>(node.op)) return id;
    if (ops::widening(node.op, {{{bf16, type.shape}}})) return id;
    const std::uint32_t source = narrow(x, i);
    if (source == x) return id;
    Node moved = node;
    moved.type.dtype = result_.list.nodes[source].type.dtype;
    return append(result_, moved, {{source}}, from_.origin[i]);
  }

  /// One cast of a value, however many operations read it.
  std::uint32_t widened(std::uint32_t id, DType to, const Node& like,
                        std::uint32_t i) {
    const auto [at, is_new] = casts_.try_emplace({id, to});
    if (is_new) at->second = cast(id, to, like, i);
    return at->second;
  }

  std::uint32_t cast(std::uint32_t id, DType to, const Node& like,
                     std::uint32_t i) {
    Node node = like;
    node.op = ops::Cast{to};
    node.type = {to, result_.list.nodes[id].type.shape};
    return append(result_, node, {{id}}, from_.origin[i]);
  }

  void copy(const graph::Label& label) {
    graph::Label copy = label;
    copy.begin = starts_[label.begin];
    copy.end = starts_[label.end];
    copy.result = moved_[label.result];
    for (std::uint32_t& operand : copy.operands) operand = moved_[operand];
    result_.list.labels.push_back(std::move(copy));
  }

  const Program& from_;
  Widen how_;
  Program result_;
  std::vector<std::uint32_t> moved_;
  /// The first node that each one became, and the end.
  std::vector<std::uint32_t> starts_;
  std::map<std::pair<std::uint32_t, DType>, std::uint32_t> casts_;
};

}  // namespace

bool has_halves(const Program& program) {
  for (const Node& node : program.list.nodes) {
    if (is_half(node.type.dtype)) return true;
  }
  return false;
}

Program widen(const Program& program, Widen how) {
  const Program wide = Widener(program, how).run();
  return how.products_widen ? without_dead(wide) : wide;
}

}  // namespace topos::engines
