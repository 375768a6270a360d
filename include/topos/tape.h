#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "topos/functions.h"
#include "topos/number.h"
#include "topos/shape.h"
#include "topos/site.h"
#include "topos/tensor.h"

namespace topos {

class Network;

namespace graph {
class Recording;
}

/// The detached name of a node: {tape, position}. Valid for ever, of a sealed
/// network and of a tape alike; two are equal if they name the same node.
struct Symbol {
  std::uint32_t tape = 0;
  std::uint32_t node = 0;

  auto operator<=>(const Symbol&) const = default;
};

/// A recorded value: a small handle. Operators on it record; nothing is
/// computed and nothing is consumed. Trivially copyable.
///
/// It converts to its Symbol for ever. Recording with it, or asking for its
/// type, after its tape was sealed or destroyed is a UsageError.
class Value {
 public:
  /// Names nothing; using it is a UsageError.
  Value() = default;
  explicit Value(Symbol symbol) : symbol_(symbol) {}

  Symbol symbol() const noexcept { return symbol_; }
  // NOLINTNEXTLINE(google-explicit-constructor): the detached form.
  operator Symbol() const noexcept { return symbol_; }

  /// \throws UsageError  the tape is sealed or gone
  Type type(Site site = Site::here()) const;
  Shape shape(Site site = Site::here()) const { return type(site).shape; }
  DType dtype(Site site = Site::here()) const { return type(site).dtype; }

  bool operator==(const Value&) const = default;

 private:
  Symbol symbol_;
};

/// A value or a number, with the line that wrote it.
class Operand {
 public:
  // NOLINTBEGIN(google-explicit-constructor): operands are meant to convert.
  Operand(Value value, Site at = Site::here()) : what(value), site(at) {}
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T number, Site at = Site::here())
      : what(Number(number)), site(at) {}
  // NOLINTEND(google-explicit-constructor)

  /// The value, for a layer that needs one.
  /// \throws UsageError  it is a number
  Value value() const;
  /// The value's type. \throws UsageError  it is a number
  Type type() const { return value().type(site); }

  std::variant<Value, Number> what;
  Site site;
};

/// A parameter with the gradient of a loss by it.
struct Gradient {
  Value parameter;
  Value gradient;
};

/// The construction phase: an append-only list of nodes (a Wengert list),
/// types checked at the line that records them. One thread records on one
/// tape; different tapes are independent.
class Tape {
 public:
  Tape();
  /// Reopens a network under its old tape id: old Values record again. Plans
  /// lowered from it keep their own snapshot and stay valid.
  /// \throws UsageError  `network` is not the only handle to its list
  explicit Tape(Network&& network, Site site = Site::here());
  ~Tape();
  Tape(Tape&&) noexcept;
  Tape& operator=(Tape&&) noexcept;

  /// A trainable value with its initial payload.
  /// \throws UsageError  the name is empty or taken, or the tape is sealed
  /// \throws ShapeError  the size of the type overflows
  Value parameter(std::string name, Tensor initial, Site site = Site::here());
  /// A trainable value by type alone, to be filled before a session opens.
  /// \throws UsageError, ShapeError  as above; an extent is negative
  Value parameter(std::string name, DType dtype, Shape shape,
                  Site site = Site::here());
  /// What a step is fed, or a carry holds.
  /// \throws UsageError, ShapeError  as `parameter`
  Value input(std::string name, DType dtype, Shape shape,
              Site site = Site::here());
  /// \throws UsageError  the tape is sealed
  Value constant(Tensor payload, Site site = Site::here());

  /// Gives a value a name of its own, for readers.
  /// \throws UsageError  it is empty or taken; the value is not of this tape
  void name(Value value, std::string name, Site site = Site::here());
  /// The name of a value, empty if it has none.
  /// \throws UsageError  the value is not of this tape
  std::string name(Value value, Site site = Site::here()) const;

  /// Reverse mode: records the chain rule as ordinary nodes and returns the
  /// gradient of the scalar `loss` by each of `wrt`, in that order; of a value
  /// that the loss does not depend on, zeros. Targets may repeat, and may be
  /// inner values. Recorded gradients can be differentiated again.
  ///
  /// Nodes are visited in descending recording order, only those between `wrt`
  /// and `loss`; nothing is recorded that the gradients do not need.
  ///
  /// \throws ShapeError  the loss is not a scalar
  /// \throws DTypeError  the loss or a target is not floating
  /// \throws UsageError  one of them is not of this tape
  /// \see    [Griewank & Walther 2008, ch. 3]
  std::vector<Value> differentiate(Value loss, std::span<const Value> wrt,
                                   Site site = Site::here());
  std::vector<Value> differentiate(Value loss, std::initializer_list<Value> wrt,
                                   Site site = Site::here());

  /// The gradient of `loss` by every floating parameter, in recording order.
  /// \throws ShapeError, DTypeError, UsageError  as `differentiate`
  std::vector<Gradient> gradients(Value loss, Site site = Site::here());

  /// The vector-Jacobian product: for each of `wrt`, the cotangent that
  /// `cotangent` (typed as `result`) pulls back to.
  /// \throws ShapeError, DTypeError  the cotangent is not of that type
  /// \throws DTypeError, UsageError  as `differentiate`
  std::vector<Value> vjp(Value result, std::span<const Value> wrt,
                         Value cotangent, Site site = Site::here());
  std::vector<Value> vjp(Value result, std::initializer_list<Value> wrt,
                         Value cotangent, Site site = Site::here());

  /// The Jacobian-vector product: the tangent of `result` where each of `wrt`
  /// moves by its tangent. Recorded as the vjp of a vjp.
  /// \throws ShapeError, DTypeError  a tangent is not of its value's type, or
  ///                                 their numbers differ
  /// \throws DTypeError, UsageError  as `differentiate`
  Value jvp(Value result, std::span<const Value> wrt,
            std::span<const Value> tangents, Site site = Site::here());
  Value jvp(Value result, std::initializer_list<Value> wrt,
            std::initializer_list<Value> tangents, Site site = Site::here());

  /// Nodes recorded so far. \throws UsageError  the tape is sealed
  std::size_t size() const;
  /// As Network::describe. \throws UsageError  the tape is sealed
  std::string describe() const;

  /// Moves the list out. Recording with this tape's Values is an error
  /// afterwards.
  /// \throws UsageError  it is sealed already
  Network seal(Site site = Site::here());

 private:
  friend class graph::Recording;
  std::unique_ptr<graph::Recording> recording_;
};

/// Takes back what was recorded since it began, unless it is kept: for what
/// records several values of which a later one may fail, as a layer with two
/// parameters does.
///
///     Transaction transaction(tape);
///     weight = tape.parameter("weight", ...);
///     bias = tape.parameter("bias", ...);
///     transaction.keep();
class Transaction {
 public:
  /// \throws UsageError  the tape is sealed
  explicit Transaction(const Tape& tape, Site site = Site::here());
  explicit Transaction(const graph::Recording& recording) noexcept;
  /// Cuts the list back to where it was, if the tape still lives.
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void keep() noexcept { kept_ = true; }
  /// Nodes that were there when it began.
  std::uint32_t begin() const noexcept { return begin_; }

 private:
  std::uint32_t tape_ = 0;
  std::uint32_t begin_ = 0;
  bool kept_ = false;
};

}  // namespace topos
