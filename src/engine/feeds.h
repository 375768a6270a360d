#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/program.h"
#include "tensor/layout.h"
#include "topos/network.h"

namespace topos::engines {

/// A value found by looking through views: the node that has elements of its
/// own, and where among them the value's lie.
struct Access {
  std::uint32_t root = 0;
  Layout layout;
};

/// The accesses of all nodes of a program. A view whose layout strides cannot
/// express (a reshape of a permutation) is a root of its own and is copied.
std::vector<Access> resolve_views(const Program& program);

/// Whether the node has elements of its own: it is not a view of others.
inline bool is_root(const std::vector<Access>& accesses, std::uint32_t node) {
  return accesses[node].root == node;
}

/// For an operation that indexes: the extent that operand 1 has to stay below.
std::optional<std::int64_t> indexed_extent(const graph::Graph& list,
                                           const graph::Node& node);

/// What a plan reads from outside at each step, and the checks of it. Binding
/// a step's feeds allocates nothing, unless one is a strided view: its
/// elements are staged here, in memory that stays.
class FeedTable {
 public:
  struct Input {
    std::uint32_t node;    // in the program
    std::uint32_t symbol;  // in the network
    Type type;
    const std::byte* data = nullptr;  // of this step, row-major
    std::vector<std::byte> staging;
    bool carried = false;  // the session's own: feeding it is an error
  };

  explicit FeedTable(const Program& program);

  std::vector<Input>& inputs() noexcept { return inputs_; }
  Input* find(std::uint32_t symbol);

  /// The names of the network's leaves, for what the plan does not read.
  using Names = std::function<std::string_view(std::uint32_t symbol)>;

  /// Points every input that is not carried to its elements.
  /// \throws UsageError, ShapeError, DTypeError, IndexError
  void bind(Feeds feeds, const Names& names = {});

  /// An index operand that views lead back to an input.
  struct IndexCheck {
    std::size_t input;
    Layout layout;
    std::int64_t extent;
    std::uint32_t node;  // of the operation
  };
  const std::vector<IndexCheck>& checks() const noexcept { return checks_; }
  /// Checks one against the elements of its input.
  /// \throws IndexError  as `bind`
  void check(const IndexCheck& check, const std::byte* elements) const;

 private:
  void bind(Input& input, const Feed& feed);

  const Program* program_;
  std::vector<Input> inputs_;
  std::vector<IndexCheck> checks_;
};

}  // namespace topos::engines
