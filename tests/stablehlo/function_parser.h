#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stablehlo/cursor.h"
#include "stablehlo/dialect.h"
#include "stablehlo/syntax.h"

namespace topos::stablehlo_text {

/// Reads one `func.func`. Names are resolved and types compared as they come;
/// each operation's own rule is asked once it is complete.
class FunctionParser {
 public:
  FunctionParser(Cursor& cursor, Program& program)
      : cursor_(cursor), program_(program) {}

  /// The cursor stands behind `func.func`.
  Function parse();

 private:
  // What stands left of the equals sign.
  struct Target {
    Token name;
    std::size_t count;
  };
  struct Binding {
    std::size_t first;
    std::size_t count;
  };

  void read_arguments(Function& into);
  void read_results(Function& into);

  // Regions and operations (function_parser.cpp).
  Region read_block(const std::vector<Function::Port>* arguments);
  void read_block_arguments(Region& into);
  bool read_operation(Region& into);
  std::vector<Target> read_targets();
  void read_return(Region& into, const Token& word);
  void read_regions(Operation& into);
  void finish(Operation& op, const std::vector<Target>& targets);
  void check_attributes(const Operation& op) const;

  // Forms (operation_forms.cpp); the operation's name has been taken.
  void read_generic(Operation& into);
  void read_pretty(Operation& into);
  void read_call(Operation& into);
  void read_constant(Operation& into);
  void read_item(Operation& into);
  void read_key(Operation& into, const Token& key);
  void pass_key(const Operation& op, const Token& key, std::size_t position);
  void add_dot_dimensions(Operation& into, const Token& key, Attribute left);
  void add_format(Operation& into, const Attribute& format);
  void read_slice_ranges(Operation& into);
  void read_pretty_signature(Operation& into);
  void read_functional(Operation& into);
  std::vector<TensorType> read_types();
  void take_attributes(Operation& into, Attribute&& dictionary);
  void add_attribute(Operation& into, std::string_view name, Attribute value);

  // Names.
  std::size_t read_operand();
  std::size_t define(const Token& name, std::vector<TensorType> types);
  void expect_type(std::size_t value, const TensorType& type,
                   Location at) const;

  Cursor& cursor_;
  Program& program_;
  std::vector<TensorType> types_;  // of all values so far
  std::unordered_map<std::string_view, Binding> names_;
  std::vector<std::string_view> defined_;  // in order, to end regions
  std::vector<Location> operand_places_;   // of the operation being read
  // Of the operation being read: keywords so far, and the row of attributes
  // that the next key may name; the pretty forms have one order only.
  std::size_t keywords_ = 0;
  std::size_t keys_ = 0;
  int depth_ = 0;
};

}  // namespace topos::stablehlo_text
