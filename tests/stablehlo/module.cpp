#include "stablehlo/module.h"

#include <utility>

#include "stablehlo/dialect.h"
#include "stablehlo/evaluator.h"
#include "stablehlo/parser.h"

namespace topos::stablehlo_text {
namespace {

using Kind = Attribute::Kind;

const Attribute* find(const Attribute& attributes, std::string_view name,
                      Kind kind) {
  const Attribute* found = attributes.find(name);
  if (found != nullptr && found->kind != kind) {
    fail(found->at, std::string(name) + " is " +
                        std::string(stablehlo_text::name(found->kind)) +
                        ", not " + std::string(stablehlo_text::name(kind)));
  }
  return found;
}

std::string string_of(const Attribute& attributes, std::string_view name) {
  const Attribute* found = find(attributes, name, Kind::string);
  return found == nullptr ? std::string() : found->text;
}

// As Shardy writes it, or as GSPMD did before it.
std::string sharding_of(const Attribute& attributes) {
  const std::string shardy = string_of(attributes, "sdy.sharding");
  return shardy.empty() ? string_of(attributes, "mhlo.sharding") : shardy;
}

// The result whose memory is the argument's.
std::optional<std::size_t> aliased(const Function& entry,
                                   const Function::Port& argument) {
  const Attribute* found =
      find(argument.attributes, "tf.aliasing_output", Kind::integer);
  if (found == nullptr) return std::nullopt;
  if (found->integer < 0 ||
      found->integer >= static_cast<std::int64_t>(entry.results.size())) {
    fail(found->at, "no result " + std::to_string(found->integer));
  }
  const auto result = static_cast<std::size_t>(found->integer);
  if (entry.results[result].type != argument.type) {
    fail(found->at, argument.type.text() + " aliases " +
                        entry.results[result].type.text());
  }
  return result;
}

std::size_t count_operations(const Region& region, std::string_view name) {
  std::size_t count = 0;
  for (const Operation& op : region.operations) {
    if (op.row->name == name) ++count;
    for (const Region& inner : op.regions) {
      count += count_operations(inner, name);
    }
  }
  return count;
}

}  // namespace

Module Module::parse(std::string_view text) {
  Module module;
  auto program = std::make_shared<const Program>(parse_program(text));
  const Function& entry = program->functions[program->entry];
  std::vector<bool> taken(entry.results.size());
  for (const Function::Port& port : entry.arguments) {
    Argument argument{port.name, to_topos(port.type, port.at),
                      aliased(entry, port), sharding_of(port.attributes)};
    if (argument.aliases_result) {
      if (taken[*argument.aliases_result]) {
        fail(port.at, "two arguments alias result " +
                          std::to_string(*argument.aliases_result));
      }
      taken[*argument.aliases_result] = true;
    }
    module.arguments_.push_back(std::move(argument));
  }
  for (const Function::Port& port : entry.results) {
    module.results_.push_back({to_topos(port.type, port.at),
                               string_of(port.attributes, "jax.result_info"),
                               sharding_of(port.attributes)});
  }
  module.program_ = std::move(program);
  return module;
}

std::size_t Module::operation_count() const {
  return program_->operation_count;
}

std::size_t Module::operation_count(std::string_view name) const {
  std::size_t count = 0;
  for (const Function& function : program_->functions) {
    count += count_operations(function.body, name);
  }
  return count;
}

std::vector<Tensor> Module::run(std::span<const Tensor> arguments) const {
  if (arguments.size() != arguments_.size()) {
    throw ModuleError(std::to_string(arguments.size()) + " arguments for " +
                      std::to_string(arguments_.size()));
  }
  Arrays values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].type() != arguments_[i].type) {
      throw ModuleError("argument " + std::to_string(i) + ", %" +
                        arguments_[i].name + ", is " +
                        arguments[i].type().text() + ", declared " +
                        arguments_[i].type.text());
    }
    values.push_back(Array::from(arguments[i]));
  }
  std::vector<Tensor> results;
  for (const Array& value :
       run_function(*program_, program_->functions[program_->entry], values)) {
    results.push_back(value.to_tensor());
  }
  return results;
}

}  // namespace topos::stablehlo_text
