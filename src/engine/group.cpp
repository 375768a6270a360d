// Grouping, from the last node to the first: a node joins the group of its
// earliest reader where that group can compute it tile by tile, and opens a
// group of its own otherwise. So values are computed where they are used, and
// every group finds its operands computed by groups before it. Groups are
// found by iteration space and data flow; labels play no part.

#include "engine/group.h"

#include <algorithm>

#include "engine/row_formula.h"
#include "kernels/matmul.h"

namespace topos::engines {

namespace {

using graph::Kind;
using graph::Node;

/// Rows longer than this do not stay in cache while a group works on them.
constexpr std::int64_t greatest_row = 65536;
/// A sum of everything is a row of its own up to here; beyond, it is summed
/// tile by tile.
constexpr std::int64_t greatest_single_row = 16384;

/// A product's rows longer than this, and more of them than are computed at a
/// time, are written before a row formula reads them: each tile of whole rows
/// would read all of the right operand.
constexpr std::int64_t greatest_product_row = 8192;
constexpr auto few_product_rows =
    static_cast<std::int64_t>(kernels::in_place_rows);

/// How an operation takes part in tiles.
struct Role {
  enum class Kind : std::uint8_t {
    elementwise,
    reduce,   // a row to an element
    total,    // all elements to one
    row,      // a row to a row
    product,  // gives rows
    other
  };
  Kind kind = Kind::other;
  std::int64_t rows = 0;  // of a reduce, total, row or product
  std::int64_t columns = 0;
};

std::int64_t count(const Shape& shape) { return shape.element_count(); }

/// Whether a formula is a long sum of everything.
bool is_total(const Node& node, const RowSpace& space) {
  return space.rows == 1 && space.columns > greatest_single_row &&
         is_floating(node.type.dtype) &&
         (std::holds_alternative<ops::Sum>(node.op) ||
          std::holds_alternative<ops::Mean>(node.op));
}

Role role_of(const Program& program, std::uint32_t id) {
  const Node& node = program.list.nodes[id];
  using K = Role::Kind;
  if (count(node.type.shape) == 0) return {};  // nothing to tile
  return std::visit(
      [&]<class Op>(const Op&) -> Role {
        if constexpr (ops::Elementwise<Op>) {
          return {K::elementwise, 0, 0};
        } else if constexpr (std::is_same_v<Op, ops::Matmul>) {
          const std::int64_t columns = node.type.shape[-1];
          return {K::product, count(node.type.shape) / columns, columns};
        } else if constexpr (RowFormula<Op>) {
          const std::uint32_t x = program.list.operands(node)[0];
          const auto rows = rows_of(node.op, program.list.nodes[x].type);
          if (rows && is_total(node, *rows)) {
            return {K::total, rows->columns, 1};
          }
          if (!rows || rows->columns > greatest_row) return {};
          return {keeps_row<Op> ? K::row : K::reduce, rows->rows,
                  rows->columns};
        } else {
          return {};
        }
      },
      node.op);
}

class Grouper {
 public:
  explicit Grouper(const Program& program) : program_(program) {
    result_.accesses = resolve_views(program);
    result_.group_of.assign(program.size(), Grouping::none);
    readers_.resize(program.size());
    roles_.resize(program.size());
    place_.resize(program.size());
  }

  Grouping run() {
    for (std::uint32_t id = program_.size(); id-- > 0;) {
      if (program_.list.nodes[id].kind != Kind::operation) continue;
      if (!is_root(result_.accesses, id)) continue;
      roles_[id] = role_of(program_, id);
      place(id);
      const auto operands = program_.list.operands(id);
      for (std::uint32_t i = 0; i < operands.size(); ++i) {
        readers_[result_.accesses[operands[i]].root].push_back({id, i});
      }
    }
    // Groups and members were found from the last to the first.
    std::vector<Group>& groups = result_.groups;
    std::reverse(groups.begin(), groups.end());
    for (Group& group : groups) {
      std::reverse(group.members.begin(), group.members.end());
      for (Group::Member& member : group.members) {
        member.extent = place_[member.node];
      }
    }
    const auto last = static_cast<std::uint32_t>(groups.size()) - 1;
    for (std::uint32_t& at : result_.group_of) {
      if (at != Grouping::none) at = last - at;
    }
    return std::move(result_);
  }

 private:
  /// Operand `operand` of `node` reads a value.
  struct Reader {
    std::uint32_t node;
    std::uint32_t operand;
  };

  /// The extents of a group, as a candidate has them before it joins.
  struct Form {
    Group::Kind kind;
    std::int64_t rows;
    std::int64_t columns;
    bool shrunk = false;  // members so far become an element a row
  };

  void place(std::uint32_t id) {
    if (!join(id)) open(id);
  }

  void open(std::uint32_t id) {
    const Role& role = roles_[id];
    Group group;
    Extent extent = Extent::full;
    switch (role.kind) {
      case Role::Kind::elementwise:
        group.kind = Group::Kind::elementwise;
        group.rows = count(program_.list.nodes[id].type.shape);
        group.columns = 1;
        break;
      case Role::Kind::total:
        extent = Extent::total;
        group.kind = Group::Kind::elementwise;
        group.rows = role.rows;
        group.columns = role.columns;
        break;
      case Role::Kind::reduce:
        extent = Extent::row;
        [[fallthrough]];
      case Role::Kind::row:
        group.kind = Group::Kind::rows;
        group.rows = role.rows;
        group.columns = role.columns;
        break;
      case Role::Kind::product:
        group.kind = Group::Kind::product;
        group.rows = role.rows;
        group.columns = role.columns;
        break;
      case Role::Kind::other:
        break;
    }
    result_.groups.push_back(std::move(group));
    add(id, result_.groups.size() - 1, extent);
  }

  void add(std::uint32_t id, std::size_t group, Extent extent) {
    result_.groups[group].members.push_back({id, extent});
    result_.group_of[id] = static_cast<std::uint32_t>(group);
    place_[id] = extent;
  }

  bool join(std::uint32_t id) {
    if (roles_[id].kind == Role::Kind::other ||
        roles_[id].kind == Role::Kind::total || readers_[id].empty()) {
      return false;
    }
    // The earliest group is the one found last.
    std::uint32_t at = 0;
    for (const Reader& reader : readers_[id]) {
      at = std::max(at, result_.group_of[reader.node]);
    }
    Group& group = result_.groups[at];
    if (group.kind == Group::Kind::single) return false;
    for (const Form& form : forms(group, id)) {
      const std::int64_t elements = count(program_.list.nodes[id].type.shape);
      const Extent extent = roles_[id].kind == Role::Kind::reduce ||
                                    elements != form.rows * form.columns
                                ? Extent::row
                                : Extent::full;
      if (extent == Extent::row && elements != form.rows) continue;
      if (!edges_fit(id, at, form, extent)) continue;
      group.kind = form.kind;
      group.rows = form.rows;
      group.columns = form.columns;
      if (form.shrunk) {
        for (const Group::Member& member : group.members) {
          place_[member.node] = Extent::row;
        }
      }
      add(id, at, extent);
      return true;
    }
    return false;
  }

  /// The forms that the group could take with this node in it.
  std::vector<Form> forms(const Group& group, std::uint32_t id) const {
    const Role& role = roles_[id];
    const std::int64_t elements = count(program_.list.nodes[id].type.shape);
    const bool flat = group.kind == Group::Kind::elementwise;
    const Form same{group.kind, group.rows, group.columns};
    if (place_[group.members[0].node] == Extent::total) {
      // The blocks of the sum are its tiles.
      if (role.kind != Role::Kind::elementwise) return {};
      return {same};
    }
    switch (role.kind) {
      case Role::Kind::elementwise:
        if (flat && elements > 1 && elements < group.rows &&
            group.rows % elements == 0 &&
            group.rows / elements <= greatest_row) {
          return {{Group::Kind::rows, elements, group.rows / elements}};
        }
        return {same};
      case Role::Kind::reduce:
      case Role::Kind::row: {
        const Form rows{Group::Kind::rows, role.rows, role.columns};
        if (!flat) {
          if (group.rows == role.rows && group.columns == role.columns) {
            return {same};
          }
          return {};
        }
        std::vector<Form> result;
        if (group.rows == role.rows * role.columns) result.push_back(rows);
        if (role.kind == Role::Kind::reduce && group.rows == role.rows) {
          result.push_back(rows);
          result.back().shrunk = true;
        }
        return result;
      }
      case Role::Kind::product:
        if (group.kind == Group::Kind::product) return {};
        if (!flat && role.columns > greatest_product_row &&
            role.rows > few_product_rows) {
          return {};
        }
        if (flat ? group.rows == elements
                 : group.rows == role.rows && group.columns == role.columns) {
          return {{Group::Kind::product, role.rows, role.columns}};
        }
        return {};
      case Role::Kind::total:
      case Role::Kind::other:
        break;
    }
    return {};
  }

  bool edges_fit(std::uint32_t id, std::uint32_t at, const Form& form,
                 Extent extent) const {
    for (const Reader& reader : readers_[id]) {
      if (result_.group_of[reader.node] != at) continue;
      const Role::Kind kind = roles_[reader.node].kind;
      if (kind == Role::Kind::product) return false;
      const bool whole_rows = kind == Role::Kind::reduce ||
                              kind == Role::Kind::row ||
                              kind == Role::Kind::total;
      const Extent reads = whole_rows    ? Extent::full
                           : form.shrunk ? Extent::row
                                         : place_[reader.node];
      const std::uint32_t operand =
          program_.list.operands(reader.node)[reader.operand];
      if (edge_of(result_.accesses[operand].layout, extent, reads, form.rows,
                  form.columns) == Edge::none) {
        return false;
      }
    }
    return true;
  }

  const Program& program_;
  Grouping result_;
  std::vector<std::vector<Reader>> readers_;
  std::vector<Role> roles_;
  std::vector<Extent> place_;
};

}  // namespace

std::string_view name(Group::Kind kind) noexcept {
  switch (kind) {
    case Group::Kind::elementwise:
      return "elementwise";
    case Group::Kind::rows:
      return "rows";
    case Group::Kind::product:
      return "product";
    case Group::Kind::single:
      return "single";
  }
  return "?";
}

Edge edge_of(const Layout& layout, Extent root, Extent reader,
             std::int64_t rows, std::int64_t columns) {
  if (layout.offset != 0) return Edge::none;
  const std::int64_t elements = reader == Extent::full ? rows * columns : rows;
  if (count(layout.shape) != elements) return Edge::none;
  if (root == reader) {
    return layout.is_contiguous() ? Edge::direct : Edge::none;
  }
  if (root == Extent::full) return Edge::none;
  // Trailing axes repeat, `columns` times in all; the rest is in order.
  std::int64_t repeated = 1;
  int axis = layout.shape.rank();
  while (repeated < columns) {
    --axis;
    if (axis < 0) return Edge::none;
    if (layout.shape[axis] != 1 && layout.strides[axis] != 0) {
      return Edge::none;
    }
    repeated *= layout.shape[axis];
  }
  if (repeated != columns) return Edge::none;
  Layout leading{{}, {}, 0};
  for (int i = 0; i < axis; ++i) {
    leading.shape.push_back(layout.shape[i]);
    leading.strides.push_back(layout.strides[i]);
  }
  return leading.is_contiguous() ? Edge::expand : Edge::none;
}

std::optional<RowSpace> rows_of(const ops::Any& op, const Type& x) {
  const Axes axes = std::visit(
      []<class Op>(const Op& o) -> Axes {
        if constexpr (RowFormula<Op>) return formula_axes(o);
        return {};
      },
      op);
  if (axes.empty() || count(x.shape) == 0) {
    return std::nullopt;
  }
  const int first = x.shape.rank() - axes.size();
  for (int i = 0; i < axes.size(); ++i) {
    if (axes[i] != first + i) return std::nullopt;
  }
  const std::int64_t columns = ops::reduced_count(x.shape, axes);
  return RowSpace{count(x.shape) / columns, columns};
}

Grouping group(const Program& program) { return Grouper(program).run(); }

}  // namespace topos::engines
