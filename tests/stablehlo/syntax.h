#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stablehlo/array.h"
#include "stablehlo/module_error.h"
#include "stablehlo/tensor_type.h"

/// \file
/// A module after parsing. Pretty and generic forms of an operation give the
/// same tree: an operation of the table (dialect.h), operands by number, and
/// attributes under the names of the generic form.

namespace topos::stablehlo_text {

struct OperationRow;
struct Field;

/// `name = value` in an operation, a record or a dictionary.
struct Attribute {
  enum class Kind : std::uint8_t {
    unit,
    boolean,
    integer,
    real,
    string,
    symbol,
    keyword,     // LT, or #stablehlo<comparison_direction LT>
    integers,    // array<i64: 1, 2>, or [1, 2]
    list,        // [HIGHEST, DEFAULT]
    dictionary,  // {a = 1}
    record,      // #stablehlo.gather<offset_dims = [1]>
    dense,       // dense<1.0> : tensor<f32>
    type,
  };

  Kind kind = Kind::unit;
  Location at;
  std::string text;          // of a string, symbol, keyword or record's name
  std::int64_t integer = 0;  // of an integer or boolean
  std::vector<std::int64_t> integers;
  std::vector<Attribute> items;
  std::vector<Field> fields;  // of a dictionary or record
  TensorType type;            // of dense
  Array elements;             // of dense: all of them, or the one that repeats

  /// The field of a dictionary or record, if it is there.
  const Attribute* find(std::string_view field) const;
  /// The integers of a field; none if it is absent, as empty ones are printed.
  const std::vector<std::int64_t>& integers_of(std::string_view field) const;
};

/// `key = value`.
struct Field {
  std::string key;
  Attribute value;
};

std::string_view name(Attribute::Kind kind);

struct Operation;

/// A list of operations with values of its own. Values are numbered through a
/// whole function, so those of a region may name the ones around it.
struct Region {
  std::size_t first_argument = 0;
  std::vector<TensorType> arguments;
  std::vector<Operation> operations;
  std::vector<std::size_t> returned;
  std::vector<TensorType> returned_types;
  Location return_at;
};

struct Operation {
  const OperationRow* row = nullptr;
  Location at;
  std::vector<std::size_t> operands;
  std::vector<TensorType> operand_types;
  std::size_t first_result = 0;
  std::vector<TensorType> results;
  std::vector<std::pair<std::string_view, Attribute>> attributes;
  std::vector<Region> regions;
  std::size_t callee = 0;  // of a call or a composite

  const Attribute* find(std::string_view attribute) const;
  /// \pre  the attribute is there, as the table asks
  const Attribute& get(std::string_view attribute) const;
  const std::vector<std::int64_t>& integers(std::string_view attribute) const {
    return get(attribute).integers;
  }
};

struct Function {
  struct Port {
    std::string name;
    TensorType type;
    Attribute attributes;
    Location at;
  };

  std::string name;
  Location at;
  bool is_public = true;
  std::vector<Port> arguments;
  std::vector<Port> results;
  Region body;
  std::size_t value_count = 0;
};

struct Program {
  std::vector<Function> functions;
  std::size_t entry = 0;
  std::size_t operation_count = 0;
};

/// Refuses an operation: its name, then the clause.
[[noreturn]] void refuse(const Operation& op, const std::string& clause);

/// `[1, 2]`.
std::string text(const std::vector<std::int64_t>& integers);

}  // namespace topos::stablehlo_text
