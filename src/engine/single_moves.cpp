// Operations whose result's elements are those of operands, or constants.

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/single_kernel.h"
#include "kernels/copy.h"
#include "tensor/visit.h"

namespace topos::engines {

namespace {

using kernels::StridedCopy;

/// Nanoseconds for an element.
constexpr double move_cost = 0.3;

class Moves final : public SingleKernel {
 public:
  Moves(const SingleNode& node, const char* name)
      : name_(name),
        id_(node.id),
        bytes_(size_bytes(node.type.dtype)),
        whole_(Layout::row_major(node.type.shape)),
        parts_(parts_of(
            move_cost * static_cast<double>(node.type.shape.element_count()),
            node.threads)) {}

  const char* name() const noexcept override { return name_; }
  const Layout& whole() const noexcept { return whole_; }

  void add(const Access& from, const Layout& to) {
    add({from.root, StridedCopy(from.layout, to, bytes_)});
  }

  /// \param from  over the constants
  void add_constants(const Layout& from, const Layout& to) {
    add({constants, StridedCopy(from, to, bytes_)});
  }

  void add_constant(const Layout& to) {
    add_constants(Layout::row_major({}).broadcasted(to.shape, {}), to);
  }

  template <class T>
  void push_constant(T value) {
    const std::size_t end = constants_.size();
    constants_.resize(end + sizeof(T));
    std::memcpy(constants_.data() + end, &value, sizeof(T));
  }

  void run(const SingleCall& call) const override {
    std::byte* const to = call.addresses[id_];
    for_each_part(parts_, [&](int part) {
      for (const Move& move : moves_) {
        const std::byte* const from = move.root == constants
                                          ? constants_.data()
                                          : call.addresses[move.root];
        move.copy.run(from, to, part, parts_);
      }
    });
  }

 private:
  struct Move {
    std::uint32_t root;
    StridedCopy copy;
  };
  static constexpr std::uint32_t constants = UINT32_MAX;

  void add(const Move& move) {
    if (move.copy.element_count() > 0) moves_.push_back(move);
  }

  const char* name_;
  std::uint32_t id_;
  std::size_t bytes_;
  Layout whole_;
  int parts_;
  std::vector<Move> moves_;
  std::vector<std::byte> constants_;
};

void add_moves(Moves& moves, const ops::Pad& pad, const SingleNode& node) {
  visit_dtype(node.type.dtype, [&]<class T>() {
    T outside{};
    if (pad.value_outside != Number(0)) outside = pad.value_outside.as<T>();
    moves.push_constant(outside);
  });
  // What is outside along an axis, and inside along those before it.
  Layout inside = moves.whole();
  for (int axis = 0; axis < pad.low.rank(); ++axis) {
    const std::int64_t low = pad.low[axis];
    const std::int64_t extent = node.types[0].shape[axis];
    moves.add_constant(inside.narrowed(axis, 0, low));
    moves.add_constant(inside.narrowed(axis, low + extent, pad.high[axis]));
    inside = inside.narrowed(axis, low, extent);
  }
  moves.add(node.operands[0], inside);
}

void add_moves(Moves& moves, const ops::Concat& concat,
               const SingleNode& node) {
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const std::int64_t count = node.types[i].shape[concat.axis];
    moves.add(node.operands[i],
              moves.whole().narrowed(concat.axis, start, count));
    start += count;
  }
}

void add_moves(Moves& moves, const ops::Iota& iota, const SingleNode& node) {
  Layout index = Layout::row_major({}).broadcasted(node.type.shape, {});
  index.strides[iota.axis] = 1;
  visit_dtype(node.type.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < node.type.shape[iota.axis]; ++i) {
      moves.push_constant(static_cast<T>(i));
    }
  });
  moves.add_constants(index, moves.whole());
}

/// What a formula makes of no elements.
template <class Op>
double of_nothing() {
  if (std::is_same_v<Op, ops::Mean>) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (std::is_same_v<Op, ops::LogSumExp>) {
    return -std::numeric_limits<double>::infinity();
  }
  return 0;
}

template <class Op>
concept Reduction = std::is_same_v<Op, ops::Sum> ||
    std::is_same_v<Op, ops::Mean> || std::is_same_v<Op, ops::LogSumExp>;

}  // namespace

std::unique_ptr<SingleKernel> moving_kernel(const SingleNode& node) {
  if (node.type.shape.element_count() == 0) {
    return std::make_unique<Moves>(node, "nothing");
  }
  return std::visit(
      [&]<class Op>(const Op& op) -> std::unique_ptr<SingleKernel> {
        auto moves = std::make_unique<Moves>(node, "copy");
        if constexpr (ops::ViewValue<Op>) {
          // What no layout can express keeps the row-major order.
          const Access& from = node.operands[0];
          moves->add(from, Layout::row_major(from.layout.shape));
        } else if constexpr (std::is_same_v<Op, ops::Pad> ||
                             std::is_same_v<Op, ops::Concat> ||
                             std::is_same_v<Op, ops::Iota>) {
          add_moves(*moves, op, node);
        } else if constexpr (Reduction<Op>) {
          if (node.types[0].shape.element_count() != 0) return nullptr;
          visit_dtype(node.type.dtype, [&]<class T>() {
            if constexpr (ops::Real<T>) {
              moves->push_constant(static_cast<T>(of_nothing<Op>()));
            } else {
              moves->push_constant(T(0));
            }
          });
          moves->add_constant(moves->whole());
        } else {
          return nullptr;
        }
        return moves;
      },
      node.op);
}

}  // namespace topos::engines
