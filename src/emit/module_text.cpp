#include "emit/module_text.h"

#include <fmt/format.h>

#include "stablehlo/writer.h"

namespace topos::emit {

namespace {

using stablehlo::quoted;
using stablehlo::text_of;

/// `{tf.aliasing_output = 1 : i32, ...}`; empty if there is nothing to say.
std::string in_braces(const std::vector<std::string>& attributes) {
  if (attributes.empty()) return "";
  return fmt::format(" {{{}}}", fmt::join(attributes, ", "));
}

/// Split along the first axis, or whole on each device.
std::string sharding(bool is_split, int rank) {
  std::string axes;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis > 0) axes += ", ";
    axes += is_split && axis == 0 ? "{\"device\"}" : "{}";
  }
  return fmt::format("sdy.sharding = #sdy.sharding<@devices, [{}]>", axes);
}

std::string argument_text(const EmittedArgument& argument,
                          const std::string& name, int partitions) {
  std::vector<std::string> attributes;
  if (partitions > 1) {
    attributes.push_back(
        sharding(argument.is_split, argument.type.shape.rank()));
  }
  if (argument.donated_to) {
    attributes.push_back(
        fmt::format("tf.aliasing_output = {} : i32", *argument.donated_to));
  }
  return fmt::format("      {}: {}{}", name, text_of(argument.type),
                     in_braces(attributes));
}

std::string result_text(const EmittedResult& result, int partitions) {
  std::vector<std::string> attributes = {
      fmt::format("jax.result_info = {}", quoted(result.name))};
  if (partitions > 1) {
    attributes.push_back(sharding(false, result.type.shape.rank()));
  }
  return fmt::format("      {}{}", text_of(result.type), in_braces(attributes));
}

}  // namespace

std::string module_text(const StablehloModule& module, const ModuleBody& body,
                        int partitions) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < module.arguments.size(); ++i) {
    arguments.push_back(
        argument_text(module.arguments[i], body.argument_names[i], partitions));
  }
  std::vector<std::string> results;
  std::vector<std::string> types;
  for (const EmittedResult& result : module.results) {
    results.push_back(result_text(result, partitions));
    types.push_back(text_of(result.type));
  }
  std::string attributes;
  std::string mesh;
  if (partitions > 1) {
    attributes = fmt::format(" attributes {{mhlo.num_partitions = {} : i32}}",
                             partitions);
    mesh = fmt::format("  sdy.mesh @devices = <[\"device\"={}]>\n", partitions);
  }
  return fmt::format(
      "module @topos{} {{\n"
      "{}"
      "  func.func public @main(\n{}) -> (\n{}) {{\n"
      "{}"
      "    return {} : {}\n"
      "  }}\n"
      "{}"
      "}}\n",
      attributes, mesh, fmt::join(arguments, ",\n"), fmt::join(results, ",\n"),
      body.main, fmt::join(body.result_names, ", "), fmt::join(types, ", "),
      body.functions);
}

}  // namespace topos::emit
