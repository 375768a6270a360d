#include <array>
#include <string>
#include <string_view>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"

/// \file
/// Calls and composites, whose types are compared once all functions are read
/// (parser.cpp), and the barrier, which computes nothing.

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

constexpr std::array call_attributes = {
    AttributeRow{"callee", "", Kind::symbol, true}};

constexpr std::array composite_attributes = {
    AttributeRow{"name", "", Kind::string, true},
    AttributeRow{"decomposition", "", Kind::symbol, true},
    AttributeRow{"composite_attributes", "", Kind::dictionary, false},
    AttributeRow{"version", "", Kind::integer, false}};

void check_call(const Operation&) {}

// The name has a namespace, so that nobody else's composite is meant.
void check_composite(const Operation& op) {
  const std::string_view name = op.get("name").text;
  const std::size_t dot = name.find('.');
  if (dot == name.npos || dot == 0 || dot + 1 == name.size()) {
    refuse(op, "a name without a namespace: " + std::string(name));
  }
}

Arrays evaluate_call(Frame& frame, const Operation& op,
                     std::span<const Array> in) {
  const Program& program = frame.program();
  return run_function(program, program.functions[op.callee], in);
}

void check_barrier(const Operation& op) {
  if (op.results != op.operand_types) {
    refuse(op, "the results are not of the types of the operands");
  }
}

Arrays evaluate_barrier(Frame&, const Operation&, std::span<const Array> in) {
  return {in.begin(), in.end()};
}

// clang-format off
constexpr std::array rows = {
    OperationRow{"func.call", any, 0, Signature::functional, call_attributes, check_call, evaluate_call},
    OperationRow{"stablehlo.composite", any, 0, Signature::functional, composite_attributes, check_composite, evaluate_call},
    OperationRow{"stablehlo.optimization_barrier", some, 0, Signature::each, {}, check_barrier, evaluate_barrier},
};
// clang-format on

}  // namespace

std::span<const OperationRow> call_rows() { return rows; }

}  // namespace topos::stablehlo_text
