#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/feeds.h"
#include "engine/program.h"

namespace topos::engines {

/// How the values of a group lie over its rows and columns.
enum class Extent : std::uint8_t {
  full,  // an element at each row and column
  row,   // an element a row
  total  // one element, known when all tiles are done
};

/// Nodes that an engine may run at once, tile by tile: elementwise chains (with
/// the sum of all of their elements at the end), row formulas, a product with
/// what follows it. An offer: the bits are the same
/// either way.
struct Group {
  enum class Kind : std::uint8_t {
    elementwise,  // any tile of the elements
    rows,         // tiles are whole rows
    product,      // rows, and the first node is a matmul
    single        // one node of any other kind
  };

  struct Member {
    std::uint32_t node;
    Extent extent;
  };

  Kind kind = Kind::single;
  std::vector<Member> members;  // in the program's order
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

std::string_view name(Group::Kind kind) noexcept;

/// The program's operations in groups, in an order in which each group finds
/// its operands computed. Views are in no group: who reads them looks through.
struct Grouping {
  std::vector<Group> groups;
  std::vector<Access> accesses;
  /// The group of each node; `none` for leaves and views.
  static constexpr std::uint32_t none = UINT32_MAX;
  std::vector<std::uint32_t> group_of;
};

/// The rows that a formula over trailing axes of x works on.
struct RowSpace {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// Nothing if the operation is no row formula over trailing axes.
std::optional<RowSpace> rows_of(const ops::Any& op, const Type& x);

Grouping group(const Program& program);

/// How a member reads an operand that the group itself computes: as it is, or
/// the element of its row. Nothing: only through memory.
enum class Edge : std::uint8_t { direct, expand, none };

/// The edge for an operand that lies in its root as `layout` says.
Edge edge_of(const Layout& layout, Extent root, Extent reader,
             std::int64_t rows, std::int64_t columns);

}  // namespace topos::engines
