#include "stablehlo/parser.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "stablehlo/cursor.h"
#include "stablehlo/dialect.h"
#include "stablehlo/function_parser.h"

namespace topos::stablehlo_text {
namespace {

// Of calls in calls: every one is a frame on our own stack.
constexpr int greatest_call_depth = 64;

/// Finds the functions that operations name and compares their types.
class CallResolver {
 public:
  explicit CallResolver(Program& program)
      : program_(program), heights_(program.functions.size(), unknown) {
    for (std::size_t i = 0; i < program.functions.size(); ++i) {
      const Function& function = program.functions[i];
      if (!indices_.emplace(function.name, i).second) {
        fail(function.at, "@" + function.name + " is defined twice");
      }
    }
  }

  void resolve() {
    for (std::size_t i = 0; i < program_.functions.size(); ++i) height(i, 0);
  }

 private:
  static constexpr int unknown = -1;
  static constexpr int in_progress = -2;

  // How many calls deep the function goes; also refuses what calls itself.
  int height(std::size_t index, int depth) {
    Function& function = program_.functions[index];
    if (heights_[index] == in_progress) {
      fail(function.at, "@" + function.name + " calls itself");
    }
    if (heights_[index] == unknown) {
      if (depth > greatest_call_depth) fail(function.at, "calls nest too deep");
      heights_[index] = in_progress;
      const int result = height(function.body, depth);
      heights_[index] = result;
    }
    if (heights_[index] > greatest_call_depth) {
      fail(function.at, "calls nest too deep");
    }
    return heights_[index];
  }

  int height(Region& region, int depth) {
    int result = 0;
    for (Operation& op : region.operations) {
      for (Region& inner : op.regions) {
        result = std::max(result, height(inner, depth));
      }
      const Attribute* symbol = op.find("callee");
      if (symbol == nullptr) symbol = op.find("decomposition");
      if (symbol == nullptr) continue;
      const auto at = indices_.find(symbol->text);
      if (at == indices_.end()) {
        fail(symbol->at, "@" + symbol->text + " is not defined");
      }
      op.callee = at->second;
      check_types(op, program_.functions[op.callee]);
      result = std::max(result, 1 + height(op.callee, depth + 1));
    }
    return result;
  }

  static void check_types(const Operation& op, const Function& callee) {
    const auto same = [](const std::vector<TensorType>& types,
                         const std::vector<Function::Port>& ports) {
      return std::ranges::equal(types, ports, {}, {}, &Function::Port::type);
    };
    if (!same(op.operand_types, callee.arguments)) {
      refuse(op, "the operands do not fit @" + callee.name);
    }
    if (!same(op.results, callee.results)) {
      refuse(op, "the results do not fit @" + callee.name);
    }
  }

  Program& program_;
  std::unordered_map<std::string_view, std::size_t> indices_;
  std::vector<int> heights_;
};

// @main, or the only public function.
std::size_t find_entry(const Program& program, Location end) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const Function& function = program.functions[i];
    if (!function.is_public) continue;
    if (function.name == "main") return i;
    candidates.push_back(i);
  }
  if (candidates.size() != 1) {
    fail(end, "no @main, and " + std::to_string(candidates.size()) +
                  " other public functions");
  }
  return candidates[0];
}

// `@devices = <["device"=2]>`: the names of devices, of which we are one.
void read_mesh(Cursor& cursor) {
  cursor.expect(TokenKind::symbol, "the name of a mesh");
  cursor.expect("=");
  cursor.expect("<");
  cursor.expect("[");
  do {
    cursor.expect(TokenKind::string, "the name of an axis");
    cursor.expect("=");
    cursor.integer();
  } while (cursor.accept(","));
  cursor.expect("]");
  cursor.expect(">");
}

}  // namespace

Program parse_program(std::string_view text) {
  Cursor cursor(text);
  Program program;
  const bool wrapped = cursor.accept_word("module");
  if (wrapped) {
    if (cursor.is(TokenKind::symbol)) cursor.take();
    if (cursor.accept_word("attributes")) read_dictionary(cursor);
    cursor.expect("{");
  }
  if (wrapped && cursor.accept_word("sdy.mesh")) read_mesh(cursor);
  while (cursor.accept_word("func.func")) {
    program.functions.push_back(FunctionParser(cursor, program).parse());
  }
  if (wrapped) {
    if (!cursor.is_punctuation("}")) cursor.expected("func.func or }");
    cursor.take();
  }
  if (!cursor.is(TokenKind::end)) {
    cursor.expected(wrapped ? "the end of the text" : "func.func");
  }
  CallResolver(program).resolve();
  program.entry = find_entry(program, cursor.at());
  return program;
}

}  // namespace topos::stablehlo_text
