// The rewrites that keep bits: a closed list [docs/numerics.md], applied once
// from the first node to the last while the program is built anew. Each rule
// looks at one operation and what its operands became. Common subexpressions
// and constants fold on the way.

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "engine/program.h"
#include "ops/evaluate.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

using graph::Kind;
using graph::Node;

/// Constants of more elements than this are not computed ahead: the plan would
/// carry what a step computes in passing.
constexpr std::int64_t greatest_folded = 4096;

// ---- Equal operations have equal hashes ---------------------------------

std::size_t mix(std::size_t hash, std::uint64_t x) {
  hash = (hash ^ x) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

template <class T>
std::size_t hash_of(const Inline<T>& items) {
  std::size_t hash = static_cast<std::size_t>(items.size());
  for (T item : items) hash = mix(hash, static_cast<std::uint64_t>(item));
  return hash;
}
std::size_t hash_of(const Type& type) {
  return mix(hash_of(type.shape), static_cast<std::uint64_t>(type.dtype));
}
std::size_t hash_of(const Number&) { return 0; }
template <class T>
requires std::is_integral_v<T> || std::is_enum_v<T> std::size_t hash_of(T x) {
  return static_cast<std::size_t>(x);
}

std::size_t hash_of(const ops::Any& op) {
  return std::visit(
      [&]<class Op>(const Op& o) {
        std::size_t hash = mix(1, op.index());
        std::apply(
            [&](const auto&... field) {
              ((hash = mix(hash, hash_of(o.*field.second))), ...);
            },
            Op::fields());
        return hash;
      },
      op);
}

bool is_commutative(const ops::Any& op) {
  return std::holds_alternative<ops::Add>(op) ||
         std::holds_alternative<ops::Mul>(op) ||
         std::holds_alternative<ops::Maximum>(op) ||
         std::holds_alternative<ops::Minimum>(op) ||
         std::holds_alternative<ops::MaskedProduct>(op);
}

class Simplifier {
 public:
  explicit Simplifier(const Program& from)
      : from_(from), readers_(from.size()) {
    result_.list.tape = from.list.tape;
    for (std::uint32_t operand : from.list.operand_pool) ++readers_[operand];
    for (std::uint32_t node : from.results) ++readers_[node];
    for (const Program::Carry& carry : from.carries) ++readers_[carry.next];
  }

  Program run() {
    std::vector<std::uint32_t> operands;
    moved_.reserve(from_.size());
    for (std::uint32_t i = 0; i < from_.size(); ++i) {
      const Node& node = from_.list.nodes[i];
      origin_ = from_.origin[i];
      if (node.kind != Kind::operation) {
        moved_.push_back(leaf(i));
        continue;
      }
      operands.clear();
      for (std::uint32_t operand : from_.list.operands(node)) {
        operands.push_back(moved_[operand]);
      }
      like_ = &node;
      moved_.push_back(add(node.op, node.type, operands));
      if (const auto name = from_.list.names.find(i);
          name != from_.list.names.end()) {
        result_.list.names.emplace(moved_.back(), name->second);
      }
    }
    for (std::uint32_t node : from_.results) {
      result_.results.push_back(moved_[node]);
    }
    for (const Program::Carry& carry : from_.carries) {
      result_.carries.push_back({moved_[carry.input], moved_[carry.next]});
    }
    return without_dead(result_);
  }

 private:
  using Ids = std::span<const std::uint32_t>;

  const Node& node(std::uint32_t id) const { return result_.list.nodes[id]; }
  const Type& type(std::uint32_t id) const { return node(id).type; }
  Ids operands(std::uint32_t id) const { return result_.list.operands(id); }

  /// The operation of a node, if it is an Op.
  template <class Op>
  const Op* is(std::uint32_t id) const {
    return node(id).kind == Kind::operation ? std::get_if<Op>(&node(id).op)
                                            : nullptr;
  }

  std::uint32_t leaf(std::uint32_t i) {
    const Node& node = from_.list.nodes[i];
    if (node.kind == Kind::constant) {
      return constant(from_.list.payloads.at(i), node);
    }
    const std::uint32_t id = append(result_, node, {}, origin_);
    if (const auto name = from_.list.names.find(i);
        name != from_.list.names.end()) {
      result_.list.names.emplace(id, name->second);
    }
    return id;
  }

  /// A constant; scalars of equal bits are one.
  std::uint32_t constant(const Tensor& payload, const Node& like) {
    std::optional<std::uint64_t> key;
    if (payload.rank() == 0) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, payload.data(), size_bytes(payload.dtype()));
      key = mix(bits, static_cast<std::uint64_t>(payload.dtype()));
      const auto [begin, end] = scalars_.equal_range(*key);
      for (auto at = begin; at != end; ++at) {
        const Tensor& other = result_.list.payloads.at(at->second);
        if (other.dtype() == payload.dtype() &&
            std::memcmp(other.data(), payload.data(),
                        size_bytes(payload.dtype())) == 0) {
          return at->second;
        }
      }
    }
    Node node = like;
    node.kind = Kind::constant;
    node.op = {};
    node.type = payload.type();
    const std::uint32_t id = append(result_, node, {}, origin_);
    result_.list.payloads.emplace(id, payload);
    if (key) scalars_.emplace(*key, id);
    return id;
  }

  /// An operation, or what it is equal to.
  std::uint32_t add(const ops::Any& op, const Type& type, Ids x) {
    if (const auto same = rewritten(op, type, x)) return *same;
    if (const auto folded = folded_constant(op, type, x)) return *folded;
    return append_once(op, type, x);
  }

  /// Common subexpressions: an equal operation on equal operands is one node,
  /// also up to a swap of the two operands of a commutative one.
  std::uint32_t append_once(const ops::Any& op, const Type& type, Ids x) {
    const bool swaps = x.size() == 2 && is_commutative(op);
    std::size_t hash = hash_of(op);
    if (swaps) {
      hash = mix(mix(hash, std::min(x[0], x[1])), std::max(x[0], x[1]));
    } else {
      for (std::uint32_t operand : x) hash = mix(hash, operand);
    }
    const auto [begin, end] = known_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (node(at->second).op != op) continue;
      const Ids y = operands(at->second);
      if (std::equal(x.begin(), x.end(), y.begin(), y.end()) ||
          (swaps && x[0] == y[1] && x[1] == y[0])) {
        return at->second;
      }
    }
    Node like = *like_;
    like.kind = Kind::operation;
    like.op = op;
    like.type = type;
    const std::uint32_t id = append(result_, like, x, origin_);
    known_.emplace(hash, id);
    return id;
  }

  // ---- Constants --------------------------------------------------------

  /// The scalar that a node holds everywhere: a constant scalar, or one
  /// broadcast.
  std::optional<Tensor> uniform(std::uint32_t id) const {
    if (is<ops::Broadcast>(id) != nullptr) id = operands(id)[0];
    if (node(id).kind != Kind::constant || type(id).shape.rank() != 0) {
      return std::nullopt;
    }
    return result_.list.payloads.at(id);
  }

  /// Whether a node is everywhere the floating number of exactly these bits.
  bool is_number(std::uint32_t id, double wanted) const {
    if (!is_floating(type(id).dtype)) return false;
    const auto scalar = uniform(id);
    if (!scalar) return false;
    const double found = scalar->item();
    return found == wanted && std::signbit(found) == std::signbit(wanted);
  }

  /// Interpreter's code on constants. An elementwise operation on uniform
  /// operands is computed once and broadcast.
  std::optional<std::uint32_t> folded_constant(const ops::Any& op,
                                               const Type& type, Ids x) {
    if (x.empty()) return std::nullopt;
    std::vector<Tensor> values;
    const bool elementwise = std::visit(
        []<class Op>(const Op&) { return ops::Elementwise<Op>; }, op);
    if (elementwise) {
      for (std::uint32_t id : x) {
        if (const auto scalar = uniform(id)) values.push_back(*scalar);
      }
      if (values.size() == x.size()) {
        const Tensor value = ops::evaluate(op, {type.dtype, {}}, values);
        const std::uint32_t id = constant(value, *like_);
        if (type.shape.rank() == 0) return id;
        return append_once(ops::Broadcast{type.shape, {}}, type, {{id}});
      }
      values.clear();
    }
    // A view of a constant is read in place, and costs nothing.
    const bool view =
        std::visit([]<class Op>(const Op&) { return ops::ViewValue<Op>; }, op);
    if (view || type.shape.element_count() > greatest_folded) {
      return std::nullopt;
    }
    for (std::uint32_t id : x) {
      if (node(id).kind != Kind::constant) return std::nullopt;
      values.push_back(result_.list.payloads.at(id));
    }
    try {
      return constant(ops::evaluate(op, type, values), *like_);
    } catch (const IndexError&) {
      return std::nullopt;  // the step reports it, if it runs
    }
  }

  // ---- The closed list --------------------------------------------------

  std::optional<std::uint32_t> rewrite(const ops::Neg&, const Type& type,
                                       Ids x) {
    // -(-x) = x
    if (is_floating(type.dtype) && is<ops::Neg>(x[0]) != nullptr) {
      return operands(x[0])[0];
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> rewrite(const ops::Add&, const Type& type,
                                       Ids x) {
    if (!is_floating(type.dtype)) return std::nullopt;
    // x + (-0) = x, on either side
    if (is_number(x[1], -0.0)) return x[0];
    if (is_number(x[0], -0.0)) return x[1];
    // a + (-b) = a - b, (-b) + a = a - b
    if (is<ops::Neg>(x[1]) != nullptr) {
      return add(ops::Sub{}, type, {{x[0], operands(x[1])[0]}});
    }
    if (is<ops::Neg>(x[0]) != nullptr) {
      return add(ops::Sub{}, type, {{x[1], operands(x[0])[0]}});
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> rewrite(const ops::Sub&, const Type& type,
                                       Ids x) {
    if (!is_floating(type.dtype)) return std::nullopt;
    // x - (+0) = x, (-0) - x = -x, a - (-b) = a + b
    if (is_number(x[1], 0.0)) return x[0];
    if (is_number(x[0], -0.0)) return add(ops::Neg{}, type, {{x[1]}});
    if (is<ops::Neg>(x[1]) != nullptr) {
      return add(ops::Add{}, type, {{x[0], operands(x[1])[0]}});
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> rewrite(const ops::Mul&, const Type& type,
                                       Ids x) {
    if (!is_floating(type.dtype)) return std::nullopt;
    for (int i : {0, 1}) {
      const std::uint32_t a = x[static_cast<std::size_t>(i)];
      const std::uint32_t b = x[static_cast<std::size_t>(1 - i)];
      // x 1 = x, x (-1) = -x
      if (is_number(b, 1.0)) return a;
      if (is_number(b, -1.0)) return add(ops::Neg{}, type, {{a}});
    }
    // (-a) (-b) = a b, by (-a) b = -(a b) twice
    if (is<ops::Neg>(x[0]) != nullptr && is<ops::Neg>(x[1]) != nullptr) {
      return add(ops::Mul{}, type, {{operands(x[0])[0], operands(x[1])[0]}});
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> rewrite(const ops::Div&, const Type& type,
                                       Ids x) {
    if (!is_floating(type.dtype)) return std::nullopt;
    // x / 1 = x
    if (is_number(x[1], 1.0)) return x[0];
    // x / 2^n = x 2^-n, where 2^-n is normal
    if (const auto divisor = uniform(x[1])) {
      if (const auto factor = exact_reciprocal(*divisor)) {
        std::uint32_t id = constant(*factor, *like_);
        if (type.shape.rank() > 0) {
          id = append_once(ops::Broadcast{type.shape, {}}, type, {{id}});
        }
        return add(ops::Mul{}, type, {{x[0], id}});
      }
    }
    return std::nullopt;
  }

  /// 1/x, if x is a power of two with a normal reciprocal.
  static std::optional<Tensor> exact_reciprocal(const Tensor& x) {
    return visit_dtype(x.dtype(), [&]<class T>() -> std::optional<Tensor> {
      if constexpr (ops::Real<T>) {
        const T value = *reinterpret_cast<const T*>(x.data());
        int exponent = 0;
        const T fraction = std::frexp(value, &exponent);
        const T reciprocal = 1 / value;
        if (std::fabs(fraction) == T(0.5) && std::isnormal(reciprocal)) {
          return Tensor::scalar(reciprocal);
        }
      }
      return std::nullopt;
    });
  }

  std::optional<std::uint32_t> rewrite(const ops::Select&, const Type&, Ids x) {
    // select(c, x, x) = x; an error that only c would have met goes with it
    if (x[1] == x[2]) return x[1];
    return std::nullopt;
  }

  std::optional<std::uint32_t> rewrite(const ops::Cast& cast, const Type&,
                                       Ids x) {
    if (type(x[0]).dtype == cast.to) return x[0];
    // A cast that represents every value of its source exactly, narrowed back.
    if (is<ops::Cast>(x[0]) != nullptr) {
      const std::uint32_t source = operands(x[0])[0];
      const DType from = type(source).dtype;
      const DType through = type(x[0]).dtype;
      const bool exact =
          (from == f32 && through == f64) || (from == i32 && through == f64) ||
          (from == i32 && through == i64) ||
          (is_half(from) && (through == f32 || through == f64)) ||
          (from == boolean && through != boolean);
      if (exact && from == cast.to) return source;
    }
    return std::nullopt;
  }

  /// transpose(a b) = transpose(b) transpose(a), where nothing else reads the
  /// product: what follows finds its elements in order.
  std::optional<std::uint32_t> rewrite(const ops::Permute& permute,
                                       const Type& to, Ids x) {
    if (is<ops::Matmul>(x[0]) == nullptr) return std::nullopt;
    if (readers_[from_.list.operands(*like_)[0]] != 1) return std::nullopt;
    const std::uint32_t a = operands(x[0])[0];
    const std::uint32_t b = operands(x[0])[1];
    const int rank = to.shape.rank();
    if (type(a).shape.rank() != rank || type(b).shape.rank() != rank) {
      return std::nullopt;
    }
    if (permute != ops::Permute::make({to}, -2, -1)) return std::nullopt;
    const auto transposed = [&](std::uint32_t id) {
      Type turned = type(id);
      std::swap(turned.shape[-1], turned.shape[-2]);
      return append_once(permute, turned, {{id}});
    };
    const std::uint32_t left = transposed(b);
    return append_once(ops::Matmul{}, to, {{left, transposed(a)}});
  }

  template <class Op>
  static constexpr bool has_rule =
      std::is_same_v<Op, ops::Neg> || std::is_same_v<Op, ops::Add> ||
      std::is_same_v<Op, ops::Sub> || std::is_same_v<Op, ops::Mul> ||
      std::is_same_v<Op, ops::Div> || std::is_same_v<Op, ops::Select> ||
      std::is_same_v<Op, ops::Cast> || std::is_same_v<Op, ops::Permute>;

  /// What an operation is equal to, by its rule. Most have none.
  std::optional<std::uint32_t> rewritten(const ops::Any& op, const Type& type,
                                         Ids x) {
    return std::visit(
        [&]<class Op>(const Op& o) -> std::optional<std::uint32_t> {
          if constexpr (has_rule<Op>) {
            return rewrite(o, type, x);
          } else {
            return std::nullopt;
          }
        },
        op);
  }

  const Program& from_;
  std::vector<std::uint32_t> readers_;  // how many read each of its nodes
  Program result_;
  std::vector<std::uint32_t> moved_;
  /// The node that is being rewritten: its lines go to what replaces it.
  const Node* like_ = nullptr;
  std::uint32_t origin_ = 0;
  std::unordered_multimap<std::size_t, std::uint32_t> known_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> scalars_;
};

}  // namespace

Program simplify(const Program& program) { return Simplifier(program).run(); }

}  // namespace topos::engines
