#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "topos/number.h"
#include "topos/shape.h"
#include "topos/tensor.h"

/// \file
/// StableHLO as text, operation by operation [openxla/stablehlo, docs/spec.md].
///
/// Pretty forms where they have not changed since 2023; the generic form for
/// reduce, gather and scatter, whose pretty forms have. Nothing here is newer
/// than StableHLO 1.1 (July 2024).

namespace topos::stablehlo {

/// `tensor<2x3xf32>`.
std::string text_of(const Type& type);
/// The element type alone: `f32`, `i1`.
std::string_view text_of(DType dtype);

/// Any text as a string of MLIR, with its quotes, in ASCII.
std::string quoted(std::string_view text);

/// The elements as an attribute: `dense<[[1.0, 2.0]]>`, `dense<0x7FC00000>`.
/// Decimals where they are read back to the same bits, else hexadecimal bits.
std::string dense_text(const Tensor& elements);

/// Whether all elements have the bits of the first.
bool is_uniform(const Tensor& elements);
/// The axis along which the elements are 0, 1, 2..., if there is one.
std::optional<int> counting_axis(const Tensor& elements);
/// Whether `Writer::constant` writes the elements as a broadcast or an iota,
/// in a few words however many they are.
bool is_patterned(const Tensor& elements);

/// A result of an operation, or an argument: a name of its function with its
/// type.
struct Value {
  std::uint32_t name = 0;
  Type type;
};

/// What an operation's lowering is given: its operands, and the type that its
/// rule inferred.
struct Call {
  std::span<const Value> operands;
  Type result;

  const Value& operator[](std::size_t i) const { return operands[i]; }
  const Value* begin() const { return operands.data(); }
  const Value* end() const { return operands.data() + operands.size(); }
};

/// Where the axes of a gather or scatter lie: as in `ops::Gather`.
struct IndexedAxes {
  int axis = 0;
  int batch = 0;
};

enum class Reduction { add, maximum, minimum };

/// Writes the body of a function, a line an operation. Each member appends one
/// operation, or a few, and gives its result; the same operation on the same
/// operands is written once.
class Writer {
 public:
  /// The name of an argument: `%text`, made unique.
  Value argument(std::string_view text, const Type& type);
  std::string name_of(const Value& value) const;

  const std::string& body() const noexcept { return body_; }
  std::size_t operation_count() const noexcept { return operations_; }

  // ---- Element by element -------------------------------------------------

  /// An operation whose result has the type of its first operand: `add`,
  /// `tanh`, `clamp`.
  Value elementwise(std::string_view operation,
                    std::initializer_list<Value> operands);
  Value elementwise(std::string_view operation, const Call& call);
  /// `direction` is EQ, NE, LT, LE, GT or GE.
  Value compare(std::string_view direction, const Value& a, const Value& b);
  /// Where `condition` holds a, elsewhere b.
  Value select(const Value& condition, const Value& a, const Value& b);
  Value convert(const Value& x, DType to);
  Value is_finite(const Value& x);

  Value add(const Value& a, const Value& b) {
    return elementwise("add", {a, b});
  }
  Value subtract(const Value& a, const Value& b) {
    return elementwise("subtract", {a, b});
  }
  Value multiply(const Value& a, const Value& b) {
    return elementwise("multiply", {a, b});
  }
  Value divide(const Value& a, const Value& b) {
    return elementwise("divide", {a, b});
  }

  // ---- Constants ----------------------------------------------------------

  /// A tensor of one number everywhere: a scalar constant, broadcast.
  Value full(const Type& type, Number value);
  Value full_like(const Value& x, Number value) { return full(x.type, value); }
  /// Any elements: as a broadcast or an iota where they follow that pattern,
  /// else in full.
  Value constant(const Tensor& elements);
  Value iota(const Type& type, int axis);

  // ---- Shapes -------------------------------------------------------------

  /// Axis i of x becomes axis `axes[i]`; an extent of 1 stretches.
  Value broadcast(const Value& x, const Shape& shape, const Axes& axes);
  /// What a reduction over `axes` gave, repeated along them.
  Value broadcast_back(const Value& reduced, const Shape& shape,
                       const Axes& axes);
  Value reshape(const Value& x, const Shape& shape);
  Value transpose(const Value& x, const Axes& axes);
  Value reverse(const Value& x, const Axes& axes);
  /// Elements [start, start + count) of an axis.
  Value slice(const Value& x, int axis, std::int64_t start, std::int64_t count);
  Value concatenate(const Call& call, int axis);
  Value pad(const Value& x, Number outside, const Shape& low,
            const Shape& high);

  // ---- Contractions -------------------------------------------------------

  /// A product over one axis of each operand; the batch axes are the first
  /// `batch` of both. Accumulates in the operands' dtype, at full precision on
  /// devices that have faster products.
  Value dot_general(const Value& a, const Value& b, int batch, int contracted_a,
                    int contracted_b);
  Value reduce(Reduction reduction, const Value& x, const Axes& axes);
  /// The i32 index of the greatest element: of the first NaN, else the lowest.
  Value argmax(const Value& x, int axis);

  // ---- Indices ------------------------------------------------------------

  Value gather(const Value& x, const Value& index, IndexedAxes axes,
               const Type& result);
  /// Contributions of equal indices add up.
  Value scatter_add(const Value& base, const Value& index, const Value& updates,
                    IndexedAxes axes);

  /// The call of a labelled formula: a `stablehlo.composite` whose
  /// decomposition is the function `@decomposition`.
  Value composite(std::string_view name, std::string_view attributes,
                  std::string_view decomposition,
                  std::span<const Value> operands, const Type& result);

 private:
  Value fresh(const Type& type);
  std::string list(std::span<const Value> operands) const;
  /// `%3 = stablehlo.<text>` as a line of its own.
  Value line(const Type& type, std::string_view text);
  Value scalar(DType dtype, Number value);
  Value scalar(const Tensor& element);

  std::string body_;
  std::string indent_ = "    ";
  std::uint32_t next_ = 0;
  std::size_t operations_ = 0;
  /// Of values that are not called by their number.
  std::map<std::uint32_t, std::string> names_;
  std::set<std::string> used_names_;
  /// By text, without the result's name.
  std::unordered_map<std::string, Value> written_;
};

}  // namespace topos::stablehlo
