#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "stablehlo/function_parser.h"

/// \file
/// The generic form, the pretty ones, and calls. All give one tree.

namespace topos::stablehlo_text {

// "op"(%a, %b) <{properties}> ({region}) {attributes} : (types) -> types
void FunctionParser::read_generic(Operation& into) {
  cursor_.expect("(");
  if (!cursor_.accept(")")) {
    do {
      into.operands.push_back(read_operand());
    } while (cursor_.accept(","));
    cursor_.expect(")");
  }
  if (cursor_.accept("<")) {
    take_attributes(into, read_dictionary(cursor_));
    cursor_.expect(">");
  }
  if (cursor_.is_punctuation("(")) read_regions(into);
  if (cursor_.is_punctuation("{")) {
    take_attributes(into, read_dictionary(cursor_));
  }
  cursor_.expect(":");
  read_functional(into);
}

// stablehlo.op items {attributes} : signature
void FunctionParser::read_pretty(Operation& into) {
  if (into.row->name == "stablehlo.constant") return read_constant(into);
  if (into.row->regions > 0) cursor_.expected("the generic form");
  if (cursor_.is(TokenKind::string)) {  // composite "name" %a
    add_attribute(into, "name", read_plain_attribute(cursor_));
  }
  if (!cursor_.is_punctuation("{") && !cursor_.is_punctuation(":")) {
    do {
      read_item(into);
    } while (cursor_.accept(","));
  }
  if (cursor_.is_punctuation("{")) {
    take_attributes(into, read_dictionary(cursor_));
  }
  cursor_.expect(":");
  read_pretty_signature(into);
}

// call @f(%a, %b) : (types) -> types
void FunctionParser::read_call(Operation& into) {
  Attribute callee;
  callee.kind = Attribute::Kind::symbol;
  callee.at = cursor_.at();
  callee.text = cursor_.expect(TokenKind::symbol, "a function's name").text;
  add_attribute(into, "callee", std::move(callee));
  read_generic(into);
}

// stablehlo.constant dense<1.0> : tensor<f32>
void FunctionParser::read_constant(Operation& into) {
  if (cursor_.is_punctuation("{")) {
    take_attributes(into, read_dictionary(cursor_));
  }
  if (!cursor_.is_word("dense")) cursor_.expected("dense");
  add_attribute(into, "value", read_dense(cursor_));
  into.results = {into.get("value").type};
}

// An operand, the ranges of a slice behind one, a keyword, or key = value.
void FunctionParser::read_item(Operation& into) {
  if (cursor_.is(TokenKind::value)) {
    if (keys_ > 0 || keywords_ > 1) cursor_.expected("an attribute");
    into.operands.push_back(read_operand());
    if (cursor_.is_punctuation("[")) read_slice_ranges(into);
    return;
  }
  const Location at = cursor_.at();
  const Token word =
      cursor_.expect(TokenKind::identifier, "an operand or an attribute");
  if (cursor_.accept("=")) return read_key(into, word);

  // LT, %a, %b, FLOAT: the first one before the operands, others behind them.
  std::size_t position = 0;
  for (const AttributeRow& row : into.row->attributes) {
    if (row.kind != Attribute::Kind::keyword) continue;
    if (position++ != keywords_) continue;
    if ((keywords_ == 0) != into.operands.empty()) break;
    Attribute keyword;
    keyword.kind = row.kind;
    keyword.at = at;
    keyword.text = word.text;
    ++keywords_;
    return add_attribute(into, row.name, std::move(keyword));
  }
  fail(at, std::string(into.row->name) + ": an unexpected " +
               std::string(word.text));
}

void FunctionParser::read_key(Operation& into, const Token& key) {
  Attribute value = read_plain_attribute(cursor_);
  if (key.text == "batching_dims" || key.text == "contracting_dims") {
    return add_dot_dimensions(into, key, std::move(value));
  }
  if (key.text == "format") return add_format(into, value);
  for (std::size_t i = 0; i < into.row->attributes.size(); ++i) {
    const AttributeRow& row = into.row->attributes[i];
    if (row.key.empty() || row.key != key.text) continue;
    pass_key(into, key, i);
    return add_attribute(into, row.name, std::move(value));
  }
  fail(key.at, std::string(into.row->name) + ": no attribute is called " +
                   std::string(key.text));
}

// Keys stand in the order of the row's attributes.
void FunctionParser::pass_key(const Operation& op, const Token& key,
                              std::size_t position) {
  if (position + 1 < keys_) {
    fail(key.at, std::string(op.row->name) + ": " + std::string(key.text) +
                     " comes too late");
  }
  keys_ = position + 1;
}

// e8m7
void FunctionParser::add_format(Operation& into, const Attribute& format) {
  const Location at = format.at;
  const std::string_view text = format.text;
  const std::size_t m = text.find('m');
  const auto number = [&](std::string_view digits) {
    std::int64_t result = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, result);
    if (error != std::errc() || end != last) fail(at, "expected e8m7");
    return result;
  };
  if (!text.starts_with('e') || m == text.npos) fail(at, "expected e8m7");
  Attribute bits;
  bits.kind = Attribute::Kind::integer;
  bits.at = at;
  keys_ = 1;
  bits.integer = number(text.substr(1, m - 1));
  add_attribute(into, "exponent_bits", bits);
  bits.integer = number(text.substr(m + 1));
  add_attribute(into, "mantissa_bits", bits);
}

// contracting_dims = [1] x [0]: two fields of one record.
void FunctionParser::add_dot_dimensions(Operation& into, const Token& key,
                                        Attribute left) {
  if (!cursor_.accept_word("x")) cursor_.expected("x");
  Attribute right = read_plain_attribute(cursor_);
  const std::string suffix = key.text == "batching_dims"
                                 ? "_batching_dimensions"
                                 : "_contracting_dimensions";
  auto record = std::ranges::find(into.attributes, "dot_dimension_numbers",
                                  [](const auto& pair) { return pair.first; });
  if (record == into.attributes.end()) {
    Attribute none;
    none.kind = Attribute::Kind::record;
    none.at = key.at;
    none.text = "stablehlo.dot";
    add_attribute(into, "dot_dimension_numbers", std::move(none));
    record = into.attributes.end() - 1;
  } else if (key.text == "batching_dims") {
    fail(key.at, "stablehlo.dot_general: batching_dims comes too late");
  }
  pass_key(into, key, 0);
  if (record->second.find("lhs" + suffix) != nullptr) {
    fail(key.at, std::string(key.text) + " is given twice");
  }
  record->second.fields.push_back({"lhs" + suffix, std::move(left)});
  record->second.fields.push_back({"rhs" + suffix, std::move(right)});
}

// [0:2, 1:7:2], start:limit or start:limit:stride.
void FunctionParser::read_slice_ranges(Operation& into) {
  Attribute start;
  start.kind = Attribute::Kind::integers;
  start.at = cursor_.at();
  Attribute limit = start;
  Attribute strides = start;
  cursor_.expect("[");
  if (!cursor_.accept("]")) {
    do {
      start.integers.push_back(cursor_.integer());
      cursor_.expect(":");
      limit.integers.push_back(cursor_.integer());
      strides.integers.push_back(cursor_.accept(":") ? cursor_.integer() : 1);
    } while (cursor_.accept(","));
    cursor_.expect("]");
  }
  add_attribute(into, "start_indices", std::move(start));
  add_attribute(into, "limit_indices", std::move(limit));
  add_attribute(into, "strides", std::move(strides));
}

void FunctionParser::read_pretty_signature(Operation& into) {
  const Signature form = into.row->signature;
  if (cursor_.is_punctuation("(") || form == Signature::functional) {
    return read_functional(into);
  }
  const std::size_t count = into.operands.size();
  const TensorType first = cursor_.type();
  switch (form) {
    case Signature::uniform:
      into.operand_types.assign(count, first);
      into.results = {first};
      break;
    case Signature::result:
      into.results = {first};
      break;
    case Signature::each:
      into.operand_types = {first};
      while (cursor_.accept(",")) into.operand_types.push_back(cursor_.type());
      into.results = into.operand_types;
      break;
    case Signature::select: {
      cursor_.expect(",");
      const TensorType second = cursor_.type();
      into.operand_types.assign(count, second);
      if (count > 0) into.operand_types[0] = first;
      into.results = {second};
      break;
    }
    case Signature::functional:
      break;
  }
}

// (types) -> type, or (types) -> (types)
void FunctionParser::read_functional(Operation& into) {
  into.operand_types = read_types();
  cursor_.expect("->");
  if (cursor_.is_punctuation("(")) {
    into.results = read_types();
  } else {
    into.results = {cursor_.type()};
  }
}

std::vector<TensorType> FunctionParser::read_types() {
  std::vector<TensorType> types;
  cursor_.expect("(");
  if (cursor_.accept(")")) return types;
  do {
    types.push_back(cursor_.type());
  } while (cursor_.accept(","));
  cursor_.expect(")");
  return types;
}

void FunctionParser::take_attributes(Operation& into, Attribute&& dictionary) {
  for (auto& [key, value] : dictionary.fields) {
    // The row's own name, which outlives the text. Attributes of a dialect,
    // such as mhlo.sharding, may stand anywhere and mean nothing here.
    const auto found = std::ranges::find(
        into.row->attributes, std::string_view(key), &AttributeRow::name);
    if (found != into.row->attributes.end()) {
      add_attribute(into, found->name, std::move(value));
    } else if (key.find('.') == std::string::npos) {
      fail(value.at,
           std::string(into.row->name) + ": no attribute is called " + key);
    }
  }
}

void FunctionParser::add_attribute(Operation& into, std::string_view name,
                                   Attribute value) {
  if (into.find(name) != nullptr) {
    fail(value.at, std::string(into.row->name) + ": " + std::string(name) +
                       " is given twice");
  }
  into.attributes.emplace_back(name, std::move(value));
}

}  // namespace topos::stablehlo_text
