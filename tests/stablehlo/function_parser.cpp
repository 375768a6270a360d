#include "stablehlo/function_parser.h"

#include <algorithm>

namespace topos::stablehlo_text {
namespace {

constexpr int greatest_depth = 16;

bool is_return(std::string_view word) {
  return word == "return" || word == "func.return" ||
         word == "stablehlo.return";
}

bool is_call(std::string_view word) {
  return word == "call" || word == "func.call";
}

}  // namespace

Function FunctionParser::parse() {
  Function result;
  if (cursor_.accept_word("private")) {
    result.is_public = false;
  } else {
    cursor_.accept_word("public");
  }
  const Token name = cursor_.expect(TokenKind::symbol, "the function's name");
  result.name = name.text;
  result.at = name.at;
  read_arguments(result);
  if (cursor_.accept("->")) read_results(result);
  if (cursor_.accept_word("attributes")) read_dictionary(cursor_);

  cursor_.expect("{");
  result.body = read_block(&result.arguments);
  cursor_.expect("}");
  const Region& body = result.body;
  if (body.returned.size() != result.results.size()) {
    fail(body.return_at, "returns " + std::to_string(body.returned.size()) +
                             " values, @" + result.name + " has " +
                             std::to_string(result.results.size()));
  }
  for (std::size_t i = 0; i < result.results.size(); ++i) {
    if (body.returned_types[i] != result.results[i].type) {
      fail(body.return_at, "result " + std::to_string(i) + " is " +
                               body.returned_types[i].text() + ", declared " +
                               result.results[i].type.text());
    }
  }
  result.value_count = types_.size();
  return result;
}

void FunctionParser::read_arguments(Function& into) {
  cursor_.expect("(");
  if (cursor_.accept(")")) return;
  do {
    const Token name = cursor_.expect(TokenKind::value, "an argument");
    cursor_.expect(":");
    Function::Port port{std::string(name.text), cursor_.type(), {}, name.at};
    if (cursor_.is_punctuation("{")) {
      port.attributes = read_dictionary(cursor_);
    }
    define(name, {port.type});
    into.arguments.push_back(std::move(port));
  } while (cursor_.accept(","));
  cursor_.expect(")");
}

// One type, or a list in which each may have attributes: behind a type alone
// a brace begins the body.
void FunctionParser::read_results(Function& into) {
  const auto read_type = [&] {
    const Location at = cursor_.at();
    into.results.push_back({"", cursor_.type(), {}, at});
  };
  if (!cursor_.accept("(")) return read_type();
  if (cursor_.accept(")")) return;
  do {
    read_type();
    if (cursor_.is_punctuation("{")) {
      into.results.back().attributes = read_dictionary(cursor_);
    }
  } while (cursor_.accept(","));
  cursor_.expect(")");
}

// Of a function, whose arguments are defined already, or of an operation.
Region FunctionParser::read_block(const std::vector<Function::Port>* ports) {
  if (++depth_ > greatest_depth) fail(cursor_.at(), "regions nest too deep");
  Region region;
  const std::size_t outer = defined_.size();
  if (ports != nullptr) {
    for (const auto& port : *ports) region.arguments.push_back(port.type);
  } else if (cursor_.is(TokenKind::block)) {
    read_block_arguments(region);
  }
  while (read_operation(region)) {
  }
  // The names of a region end with it; its sibling may use them again.
  for (; defined_.size() > outer; defined_.pop_back()) {
    names_.erase(defined_.back());
  }
  --depth_;
  return region;
}

void FunctionParser::read_block_arguments(Region& into) {
  cursor_.expect(TokenKind::block, "a block");
  into.first_argument = types_.size();
  if (cursor_.accept("(")) {
    do {
      const Token name = cursor_.expect(TokenKind::value, "an argument");
      cursor_.expect(":");
      into.arguments.push_back(cursor_.type());
      define(name, {into.arguments.back()});
    } while (cursor_.accept(","));
    cursor_.expect(")");
  }
  cursor_.expect(":");
}

// False after the return, which ends a block.
bool FunctionParser::read_operation(Region& into) {
  operand_places_.clear();
  keywords_ = 0;
  keys_ = 0;
  const std::vector<Target> targets = read_targets();
  const bool generic = cursor_.is(TokenKind::string);
  if (!generic && !cursor_.is(TokenKind::identifier)) {
    cursor_.expected("an operation");
  }
  const Token word = cursor_.take();
  if (is_return(word.text)) {
    if (!targets.empty()) fail(word.at, "a return has no results");
    if (depth_ > 1 && word.text != "stablehlo.return") {
      fail(word.at, "a region ends with stablehlo.return");
    }
    into.return_at = word.at;
    read_return(into, generic ? word : Token{});
    return false;
  }

  Operation op;
  op.at = word.at;
  op.row = find_operation(is_call(word.text) ? "func.call" : word.text);
  if (op.row == nullptr) {
    fail(word.at, std::string(word.text) + " is no operation that is read");
  }
  if (generic) {
    read_generic(op);
  } else if (is_call(word.text)) {
    read_call(op);
  } else {
    read_pretty(op);
  }
  finish(op, targets);
  into.operations.push_back(std::move(op));
  return true;
}

std::vector<FunctionParser::Target> FunctionParser::read_targets() {
  std::vector<Target> targets;
  if (!cursor_.is(TokenKind::value)) return targets;
  do {
    Target target{cursor_.expect(TokenKind::value, "a value"), 1};
    if (cursor_.accept(":")) {
      const Location at = cursor_.at();
      const std::int64_t count = cursor_.integer();
      if (count < 1 || count > 1'000'000) {
        fail(at, "no number of results: " + std::to_string(count));
      }
      target.count = static_cast<std::size_t>(count);
    }
    targets.push_back(target);
  } while (cursor_.accept(","));
  cursor_.expect("=");
  return targets;
}

// `return %a, %b : t, t`, or generic `"stablehlo.return"(%a) : (t) -> ()`.
void FunctionParser::read_return(Region& into, const Token& generic) {
  const bool is_generic = generic.kind == TokenKind::string;
  if (is_generic) cursor_.expect("(");
  if (cursor_.is(TokenKind::value)) {
    do {
      into.returned.push_back(read_operand());
    } while (cursor_.accept(","));
  }
  if (is_generic) {
    cursor_.expect(")");
    cursor_.expect(":");
    into.returned_types = read_types();
    cursor_.expect("->");
    cursor_.expect("(");
    cursor_.expect(")");
  } else if (!into.returned.empty()) {
    cursor_.expect(":");
    do {
      into.returned_types.push_back(cursor_.type());
    } while (cursor_.accept(","));
  }
  if (into.returned_types.size() != into.returned.size()) {
    fail(into.return_at,
         std::to_string(into.returned.size()) + " values returned with " +
             std::to_string(into.returned_types.size()) + " types");
  }
  for (std::size_t i = 0; i < into.returned.size(); ++i) {
    expect_type(into.returned[i], into.returned_types[i], operand_places_[i]);
  }
}

void FunctionParser::read_regions(Operation& into) {
  // A region has operations of its own: keep what belongs to this one.
  const std::vector<Location> places = operand_places_;
  cursor_.expect("(");
  do {
    cursor_.expect("{");
    into.regions.push_back(read_block(nullptr));
    cursor_.expect("}");
  } while (cursor_.accept(","));
  cursor_.expect(")");
  operand_places_ = places;
}

void FunctionParser::finish(Operation& op, const std::vector<Target>& targets) {
  const OperationRow& row = *op.row;
  const std::size_t count = op.operands.size();
  const bool fits = row.operands == some ? count > 0
                    : row.operands == any
                        ? true
                        : count == static_cast<std::size_t>(row.operands);
  if (!fits) refuse(op, std::to_string(count) + " operands");
  if (op.operand_types.size() != count) {
    refuse(op, std::to_string(count) + " operands with " +
                   std::to_string(op.operand_types.size()) + " types");
  }
  for (std::size_t i = 0; i < count; ++i) {
    expect_type(op.operands[i], op.operand_types[i], operand_places_[i]);
  }
  if (op.regions.size() != static_cast<std::size_t>(row.regions)) {
    refuse(op, std::to_string(op.regions.size()) + " regions");
  }
  check_attributes(op);
  row.check(op);

  std::size_t named = 0;
  for (const Target& target : targets) named += target.count;
  if (named != op.results.size()) {
    refuse(op, std::to_string(op.results.size()) + " results, " +
                   std::to_string(named) + " named");
  }
  op.first_result = types_.size();
  std::size_t next = 0;
  for (const Target& target : targets) {
    const auto from = op.results.begin() + static_cast<std::ptrdiff_t>(next);
    define(target.name,
           {from, from + static_cast<std::ptrdiff_t>(target.count)});
    next += target.count;
  }
  ++program_.operation_count;
}

void FunctionParser::check_attributes(const Operation& op) const {
  for (const auto& [key, value] : op.attributes) {
    const auto found =
        std::ranges::find(op.row->attributes, key, &AttributeRow::name);
    if (found == op.row->attributes.end()) {
      fail(value.at, std::string(op.row->name) + ": no attribute is called " +
                         std::string(key));
    }
    // An empty list could be one of anything.
    const bool is_empty = value.kind == Attribute::Kind::integers &&
                          value.integers.empty() &&
                          found->kind == Attribute::Kind::list;
    if (value.kind != found->kind && !is_empty) {
      fail(value.at, std::string(op.row->name) + ": " + std::string(key) +
                         " is " + std::string(name(value.kind)) + ", not " +
                         std::string(name(found->kind)));
    }
  }
  for (const AttributeRow& row : op.row->attributes) {
    if (row.required && op.find(row.name) == nullptr) {
      refuse(op, "no " + std::string(row.name));
    }
  }
}

std::size_t FunctionParser::read_operand() {
  const Token name = cursor_.expect(TokenKind::value, "an operand");
  operand_places_.push_back(name.at);
  const auto at = names_.find(name.text);
  if (at == names_.end()) {
    fail(name.at, "%" + std::string(name.text) + " is not defined");
  }
  std::size_t position = 0;
  if (cursor_.accept("#")) {
    const std::int64_t asked = cursor_.integer();
    if (asked < 0 || static_cast<std::size_t>(asked) >= at->second.count) {
      fail(name.at, "%" + std::string(name.text) + " has " +
                        std::to_string(at->second.count) + " results");
    }
    position = static_cast<std::size_t>(asked);
  }
  return at->second.first + position;
}

std::size_t FunctionParser::define(const Token& name,
                                   std::vector<TensorType> types) {
  const Binding binding{types_.size(), types.size()};
  if (!names_.emplace(name.text, binding).second) {
    fail(name.at, "%" + std::string(name.text) + " is defined twice");
  }
  defined_.push_back(name.text);
  types_.insert(types_.end(), types.begin(), types.end());
  return binding.first;
}

void FunctionParser::expect_type(std::size_t value, const TensorType& type,
                                 Location at) const {
  if (types_[value] == type) return;
  fail(at,
       "the operand is " + types_[value].text() + ", declared " + type.text());
}

}  // namespace topos::stablehlo_text
