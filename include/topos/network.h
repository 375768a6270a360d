#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topos/shape.h"
#include "topos/site.h"
#include "topos/tape.h"
#include "topos/tensor.h"

namespace topos {

class Entry;
class Plan;

namespace graph {
struct Graph;
}

/// What one step reads at an input: a tensor, a number, or elements in
/// row-major order, which must stay alive until the step returns.
class Feed {
 public:
  Feed(Symbol input, Tensor tensor) : symbol(input), what(std::move(tensor)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Feed(Symbol input, T number)
      : symbol(input), what(Number(number)) {}
  /// Borrowed elements, shaped as the input; nothing is copied or allocated.
  template <Element T>
  Feed(Symbol input, std::span<const T> elements)
      : symbol(input),
        what(Elements{dtype_of<T>, elements.data(), elements.size()}) {}
  template <Element T>
  Feed(Symbol input, const std::vector<T>& elements)
      : Feed(input, std::span<const T>(elements)) {}

  struct Elements {
    DType dtype;
    const void* data;
    std::size_t count;
  };

  Symbol symbol;
  std::variant<Tensor, Number, Elements> what;
};

using Feeds = std::span<const Feed>;

/// Trainable payloads by name and Symbol, in recording order, owned by the
/// caller. A value type: copies share payloads.
class Parameters {
 public:
  struct Item {
    Symbol symbol;
    std::string name;
    Type type;
    /// None if the parameter was declared by type alone and not filled yet.
    std::optional<Tensor> payload;
  };

  Parameters() = default;
  explicit Parameters(std::vector<Item> items) : items_(std::move(items)) {}

  const std::vector<Item>& items() const& noexcept { return items_; }
  /// Of a temporary: a loop over network.parameters().items() is safe.
  std::vector<Item> items() && { return std::move(items_); }
  std::size_t size() const noexcept { return items_.size(); }
  /// The sum of all element counts.
  std::int64_t element_count() const;

  /// \throws UsageError  there is no such parameter, or it has no payload
  const Tensor& of(Symbol symbol, Site site = Site::here()) const;
  const Tensor& of(std::string_view name, Site site = Site::here()) const;

  /// \throws UsageError               there is no such parameter
  /// \throws ShapeError, DTypeError   the payload is not of its type
  void set(Symbol symbol, const Tensor& payload, Site site = Site::here());
  void set(std::string_view name, const Tensor& payload,
           Site site = Site::here());

  /// New parameters, each the `update` of (payload, gradient). `gradients`
  /// are in the order of the items.
  /// \throws ShapeError, DTypeError  a count or a type differs
  Parameters step(
      std::span<const Tensor> gradients,
      const std::function<Tensor(const Tensor&, const Tensor&)>& update,
      Site site = Site::here()) const;

 private:
  std::vector<Item> items_;
};

/// The sealed, immutable program, with its initial payloads and no other
/// state. A handle: copies share the list, and threads may share them.
class Network {
 public:
  /// The initial payloads.
  Parameters parameters() const;

  /// Nodes recorded.
  std::size_t size() const;
  /// \throws UsageError  the symbol is not of this network
  Type type(Symbol symbol, Site site = Site::here()) const;
  /// The name given to a node, empty if none.
  std::string_view name(Symbol symbol, Site site = Site::here()) const;
  /// The node of a name. \throws UsageError  none has it
  Symbol symbol(std::string_view name, Site site = Site::here()) const;
  /// All inputs, in recording order.
  std::vector<Symbol> inputs() const;

  /// A line a node: op, operands, attributes, dtype, shape, name, recording
  /// line.
  std::string describe() const;

  /// The one-line look: the value of one node through the interpreter, with
  /// the initial parameters.
  /// \throws UsageError and others  as Session::step
  Tensor evaluate(Symbol value, std::initializer_list<Feed> feeds = {},
                  Site site = Site::here()) const;
  Tensor evaluate(Symbol value, Feeds feeds, Site site = Site::here()) const;

  /// Turns an entry into a plan: closure, the rewrites that keep bits,
  /// grouping. Knows no engine; linear in the nodes.
  /// \throws UsageError, ShapeError, DTypeError  the entry does not fit
  Plan lower(const Entry& entry, Site site = Site::here()) const;

  /// For the engines and readers inside the library.
  const std::shared_ptr<const graph::Graph>& graph() const noexcept {
    return graph_;
  }
  explicit Network(std::shared_ptr<const graph::Graph> graph)
      : graph_(std::move(graph)) {}

 private:
  friend class Tape;
  std::shared_ptr<const graph::Graph> graph_;
};

}  // namespace topos
