#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <unordered_map>

#include "emit/index_checks.h"
#include "emit/module_text.h"
#include "engine/lowered_plan.h"
#include "ops/call.h"
#include "stablehlo/writer.h"
#include "topos/emit.h"
#include "topos/error.h"

namespace topos {

namespace {

using engines::Program;
using graph::Kind;
using stablehlo::quoted;
using stablehlo::text_of;
using stablehlo::Writer;

/// In the text, a constant costs two characters a byte and more, and a
/// compiler folds it; as an argument it crosses once.
constexpr std::size_t most_constant_bytes = 4096;

/// The program as functions of one module.
class Emission {
 public:
  Emission(const Program& program, const Program& recorded, EmitOptions options)
      : program_(program),
        recorded_(recorded),
        list_(program.list),
        options_(std::move(options)),
        values_(program.size()),
        inner_values_(options_.composites ? program.size() : 0),
        is_inner_(inner_values_.size()) {
    for (std::size_t i = 0; i < program_.carries.size(); ++i) {
      carry_of_[program_.carries[i].input] = i;
    }
  }

  StablehloModule module() {
    declare_arguments();
    if (options_.composites) find_outermost_labels();
    write_nodes();
    for (std::size_t i = 0; i < program_.results.size(); ++i) {
      declare_result(program_.results[i], recorded_.results[i], false);
    }
    for (std::size_t i = 0; i < program_.carries.size(); ++i) {
      declare_result(program_.carries[i].next, recorded_.carries[i].input,
                     true);
    }
    if (options_.check_indices) check_indices();
    result_.operation_count = main_.operation_count() + inner_operations_;
    result_.text = text();
    return std::move(result_);
  }

 private:
  // ---- Arguments and results ----------------------------------------------

  void declare_arguments() {
    for (const Kind kind : {Kind::parameter, Kind::input}) {
      for (std::uint32_t i = 0; i < list_.size(); ++i) {
        if (list_.nodes[i].kind == kind) declare_leaf(i);
      }
    }
    for (std::uint32_t i = 0; i < list_.size(); ++i) {
      if (list_.nodes[i].kind == Kind::constant && !fits_text(i)) {
        EmittedArgument argument;
        argument.kind = EmittedArgument::Kind::constant;
        argument.name = fmt::format("constant.{}", i);
        argument.type = list_.nodes[i].type;
        argument.payload = list_.payloads.at(i);
        declare(i, std::move(argument));
      }
    }
  }

  void declare_leaf(std::uint32_t node) {
    EmittedArgument argument;
    argument.kind = list_.nodes[node].kind == Kind::parameter
                        ? EmittedArgument::Kind::parameter
                        : EmittedArgument::Kind::input;
    argument.symbol = {list_.tape, program_.origin[node]};
    argument.name = list_.name_of(node);
    argument.type = list_.nodes[node].type;
    if (const auto carry = carry_of_.find(node); carry != carry_of_.end()) {
      argument.donated_to = program_.results.size() + carry->second;
    }
    const Shape& shape = argument.type.shape;
    argument.is_split = options_.partitions > 1 && !argument.donated_to &&
                        !is_held(argument.symbol) &&
                        argument.kind == EmittedArgument::Kind::input &&
                        shape.rank() > 0 && shape[0] > 0 &&
                        shape[0] % options_.partitions == 0;
    declare(node, std::move(argument));
  }

  bool is_held(Symbol symbol) const {
    return std::ranges::find(options_.held, symbol) != options_.held.end();
  }

  void declare(std::uint32_t node, EmittedArgument argument) {
    values_[node] = main_.argument(argument.name, argument.type);
    result_.arguments.push_back(std::move(argument));
    argument_nodes_.push_back(node);
  }

  /// `asked` is the node as the entry named it, before any rewrite.
  void declare_result(std::uint32_t value, std::uint32_t asked, bool is_carry) {
    EmittedResult result;
    result.symbol = {list_.tape, recorded_.origin[asked]};
    result.name = recorded_.list.name_of(asked);
    if (result.name.empty()) {
      result.name = fmt::format("%{}", result.symbol.node);
    }
    result.type = list_.nodes[value].type;
    result.is_carry = is_carry;
    result_.results.push_back(std::move(result));
    result_values_.push_back(values_[value]);
  }

  bool fits_text(std::uint32_t node) const {
    return stablehlo::is_patterned(list_.payloads.at(node)) ||
           list_.nodes[node].type.size_bytes() <= most_constant_bytes;
  }

  // ---- Nodes --------------------------------------------------------------

  void write(std::uint32_t node, Writer& out,
             std::vector<stablehlo::Value>& values) const {
    const graph::Node& what = list_.nodes[node];
    if (what.kind == Kind::constant && fits_text(node)) {
      values[node] = out.constant(list_.payloads.at(node));
    }
    if (what.kind != Kind::operation) return;
    std::vector<stablehlo::Value> operands;
    for (std::uint32_t operand : list_.operands(node)) {
      operands.push_back(values[operand]);
    }
    values[node] = std::visit(
        [&](const auto& op) {
          return op.lower(out, {operands, what.type});
        },
        what.op);
  }

  void write_nodes() {
    const std::vector<bool> wanted = wanted_nodes();
    for (std::uint32_t i = 0; i < list_.size(); ++i) {
      if (const auto label = label_of_.find(i); label != label_of_.end()) {
        write_composite(list_.labels[label->second]);
      } else if (wanted[i]) {
        write(i, main_, values_);
      }
    }
  }

  /// The nodes that @main has to compute: all, but for those that only a
  /// composite needs.
  std::vector<bool> wanted_nodes() const {
    if (label_of_.empty()) return std::vector<bool>(list_.size(), true);
    std::vector<bool> wanted(list_.size());
    for (std::uint32_t node : program_.results) wanted[node] = true;
    for (const Program::Carry& carry : program_.carries) {
      wanted[carry.next] = true;
    }
    for (std::uint32_t i = list_.size(); i-- > 0;) {
      if (!wanted[i]) continue;
      const auto label = label_of_.find(i);
      const auto needed = label == label_of_.end()
                              ? list_.operands(i)
                              : std::span<const std::uint32_t>(
                                    list_.labels[label->second].operands);
      for (std::uint32_t operand : needed) wanted[operand] = true;
    }
    return wanted;
  }

  // ---- Labelled formulas --------------------------------------------------

  /// A label within another one is part of that one's formula.
  void find_outermost_labels() {
    std::uint32_t covered = list_.size();
    for (std::size_t i = list_.labels.size(); i-- > 0;) {
      const graph::Label& label = list_.labels[i];
      if (label.end <= covered) {
        label_of_[label.result] = i;
        covered = label.begin;
      }
    }
  }

  /// The numbers of a formula may have been recorded before it, by others: it
  /// gets its own.
  void write_inner(std::uint32_t node, Writer& inner,
                   std::vector<std::uint32_t>& written) {
    if (is_inner_[node]) return;
    for (std::uint32_t operand : list_.operands(node)) {
      write_inner(operand, inner, written);
    }
    write(node, inner, inner_values_);
    is_inner_[node] = true;
    written.push_back(node);
  }

  void write_composite(const graph::Label& label) {
    Writer inner;
    std::vector<stablehlo::Value>& values = inner_values_;
    std::vector<std::uint32_t> written;
    std::string parameters;
    std::vector<stablehlo::Value> operands;
    for (std::size_t i = 0; i < label.operands.size(); ++i) {
      const std::uint32_t operand = label.operands[i];
      const stablehlo::Value parameter =
          inner.argument(fmt::format("x{}", i), list_.nodes[operand].type);
      values[operand] = parameter;
      is_inner_[operand] = true;
      written.push_back(operand);
      operands.push_back(values_[operand]);
      parameters +=
          fmt::format("{}{}: {}", i == 0 ? "" : ", ", inner.name_of(parameter),
                      text_of(parameter.type));
    }
    for (std::uint32_t i = label.begin; i < label.end; ++i) {
      write_inner(i, inner, written);
    }
    for (std::uint32_t node : written) is_inner_[node] = false;
    const std::string type = text_of(list_.nodes[label.result].type);
    const std::string function = fmt::format("{}_{}", label.name, label.result);
    functions_ += fmt::format(
        "\n  func.func private @{}({}) -> {} {{\n{}    return {} : {}\n  }}\n",
        function, parameters, type, inner.body(),
        inner.name_of(values[label.result]), type);
    inner_operations_ += inner.operation_count();
    std::string attributes;
    if (!label.fields.empty()) {
      attributes = fmt::format("composite_attributes = {{fields = {}}}, ",
                               quoted(label.fields.substr(1)));
    }
    values_[label.result] =
        main_.composite("topos." + label.name, attributes, function, operands,
                        list_.nodes[label.result].type);
  }

  // ---- Indices ------------------------------------------------------------

  void check_indices() {
    const auto checks =
        emit::unchecked_indices(program_, recorded_, options_.held);
    if (checks.empty()) return;
    for (const emit::UncheckedIndex& check : checks) {
      result_.index_checks.push_back({list_.origin(check.node), check.extent});
    }
    const stablehlo::Value faults =
        emit::write_index_faults(main_, checks, values_);
    EmittedResult result;
    result.name = "index faults";
    result.type = faults.type;
    result_.results.push_back(std::move(result));
    result_values_.push_back(faults);
  }

  std::string text() {
    emit::ModuleBody body;
    for (std::uint32_t node : argument_nodes_) {
      body.argument_names.emplace_back(main_.name_of(values_[node]));
    }
    for (const stablehlo::Value& value : result_values_) {
      body.result_names.emplace_back(main_.name_of(value));
    }
    body.main = main_.body();
    body.functions = std::move(functions_);
    return emit::module_text(result_, body, options_.partitions);
  }

  const Program& program_;
  const Program& recorded_;
  const graph::Graph& list_;
  EmitOptions options_;
  Writer main_;
  std::vector<stablehlo::Value> values_;        // of nodes, in @main
  std::vector<stablehlo::Value> inner_values_;  // in the current composite
  std::vector<bool> is_inner_;                  // those that it has
  std::unordered_map<std::uint32_t, std::size_t> carry_of_;  // by leaf
  std::vector<std::uint32_t> argument_nodes_;
  std::vector<stablehlo::Value> result_values_;
  std::unordered_map<std::uint32_t, std::size_t> label_of_;  // by result
  std::string functions_;
  std::size_t inner_operations_ = 0;
  StablehloModule result_;
};

bool is_input(const Program& program, Symbol symbol) {
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (program.list.nodes[i].kind == Kind::input &&
        Symbol{program.list.tape, program.origin[i]} == symbol) {
      return true;
    }
  }
  return false;
}

}  // namespace

StablehloModule emit_stablehlo(const Plan& plan, EmitOptions options,
                               Site site) {
  if (options.partitions < 1) {
    throw UsageError(fmt::format("{}emit_stablehlo: {} partitions are too few",
                                 ops::where(site), options.partitions));
  }
  if (options.check_indices && options.composites) {
    throw UsageError(
        fmt::format("{}emit_stablehlo: indices are not checked in composites",
                    ops::where(site)));
  }
  const engines::LoweredPlan& lowered = *plan.lowered();
  for (const Symbol& symbol : options.held) {
    if (!is_input(lowered.recorded, symbol)) {
      throw UsageError(fmt::format(
          "{}emit_stablehlo: %{} of tape {} is held, but no input of the plan",
          ops::where(site), symbol.node, symbol.tape));
    }
  }
  const engines::Program* program = &lowered.simplified;
  if (options.composites) {
    program = &lowered.recorded;
  } else if (lowered.narrow) {
    program = &*lowered.narrow;
  }
  // Not in f64, which not every device has.
  std::optional<engines::Program> widened;
  if (engines::has_halves(*program)) {
    program = &widened.emplace(widen(*program, {.sums = f32}));
  }
  return Emission(*program, lowered.recorded, std::move(options)).module();
}

std::ostream& operator<<(std::ostream& out, const StablehloModule& module) {
  return out << module.text;
}

}  // namespace topos
