#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stablehlo/syntax.h"

/// \file
/// The operations, a row each: how it is written, its type rule, its value.
/// The rows stand with their families (elementwise.cpp, layout.cpp, ...).

namespace topos::stablehlo_text {

/// What stands behind the colon of a pretty form. The functional one,
/// `(operands) -> results`, is read everywhere.
enum class Signature : std::uint8_t {
  functional,  // nothing else
  uniform,     // the one type of all operands and of the result
  each,        // a type for each operand and its result
  select,      // the predicate's type, then that of everything else
  result,      // no operands: the type of the result
};

/// An attribute of an operation. `key` is what the pretty form calls it; empty
/// if it has no word of its own there.
struct AttributeRow {
  std::string_view name;
  std::string_view key;
  Attribute::Kind kind;
  bool required;
};

class Frame;

/// `out[i] = f(x[i])` and `out[i] = f(x[i], y[i])` over `count` elements.
using UnaryKernel = void (*)(const std::byte* x, std::byte* out,
                             std::int64_t count);
using BinaryKernel = void (*)(const std::byte* x, const std::byte* y,
                              std::byte* out, std::int64_t count);

// Counts of operands that are not fixed.
constexpr int any = -1;
constexpr int some = -2;  // one or more

struct OperationRow {
  std::string_view name;
  int operands;  // or `any`, `some`
  int regions;
  Signature signature;
  std::span<const AttributeRow> attributes;
  /// The type rule. \throws ModuleError  it is broken
  void (*check)(const Operation& op);
  Arrays (*evaluate)(Frame& frame, const Operation& op,
                     std::span<const Array> operands);
  /// Of elementwise operations: the kernel for an element type, if it has one.
  UnaryKernel (*unary)(ElementType) = nullptr;
  BinaryKernel (*binary)(ElementType) = nullptr;
};

std::span<const OperationRow> elementwise_rows();
std::span<const OperationRow> conversion_rows();
std::span<const OperationRow> layout_rows();
std::span<const OperationRow> product_rows();
std::span<const OperationRow> window_rows();
std::span<const OperationRow> region_rows();
std::span<const OperationRow> call_rows();

/// The row of that name, null if there is none.
const OperationRow* find_operation(std::string_view name);

// What the type rules share.

/// The one result has this type. \throws ModuleError  it has another
void check_result(const Operation& op, const TensorType& inferred);
/// All of `axes` are axes of that rank, none of them twice.
void check_axes(const Operation& op, std::string_view what,
                const std::vector<std::int64_t>& axes, int rank);
void check_ascending(const Operation& op, std::string_view what,
                     const std::vector<std::int64_t>& axes);
/// As many integers as expected.
void check_size(const Operation& op, std::string_view what,
                const std::vector<std::int64_t>& integers, int expected);
/// The one region takes two scalars of each type and returns one of each.
void check_combiner(const Operation& op, const std::vector<TensorType>& types);
/// A record of that name has no other fields than these, and they are lists of
/// integers, but for one.
void check_record(const Operation& op, const Attribute& record,
                  std::string_view name,
                  std::span<const std::string_view> lists,
                  std::string_view integer = {});
bool contains(const std::vector<std::int64_t>& integers, std::int64_t x);

}  // namespace topos::stablehlo_text
