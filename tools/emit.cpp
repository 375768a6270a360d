#include "emit.h"

#include <topos/emit.h>
#include <topos/io.h>

#include <iostream>

#include "command.h"
#include "model.h"

namespace tools {

namespace {

using models::Model;
using models::Recorded;

void print_models() {
  for (const Model& model : models::models()) {
    std::cout << column(model.name, 17) << model.description << '\n';
  }
}

const char* text_of(topos::EmittedArgument::Kind kind) {
  switch (kind) {
    case topos::EmittedArgument::Kind::parameter:
      return "parameter";
    case topos::EmittedArgument::Kind::input:
      return "input";
    case topos::EmittedArgument::Kind::constant:
      return "constant";
  }
  return "";
}

void print_signature(const topos::StablehloModule& module) {
  const auto start = [](const char* what, std::size_t i, const char* kind,
                        const topos::Type& type) {
    std::cout << column(what + std::to_string(i), 14) << column(kind, 11)
              << column(type.text(), 20);
  };
  for (std::size_t i = 0; i < module.arguments.size(); ++i) {
    const topos::EmittedArgument& argument = module.arguments[i];
    start("argument ", i, text_of(argument.kind), argument.type);
    std::cout << argument.name;
    if (argument.donated_to) {
      std::cout << ", donated to result " << *argument.donated_to;
    }
    if (argument.is_split) std::cout << ", split";
    std::cout << '\n';
  }
  for (std::size_t i = 0; i < module.results.size(); ++i) {
    const topos::EmittedResult& result = module.results[i];
    start("result ", i, result.is_carry ? "carry" : "result", result.type);
    std::cout << result.name << '\n';
  }
  std::cout << module.operation_count << " operations, " << module.text.size()
            << " bytes\n";
}

}  // namespace

Emit::Emit(CLI::App& parent)
    : command_(parent.add_subcommand(
          "emit",
          "Writes a recorded model as StableHLO text; lists the models "
          "if none is named")) {
  command_->add_option("MODEL", model_, "Which one")->type_name("");
  command_
      ->add_option("--plan", plan_,
                   "Which of its programs, such as forward or train")
      ->type_name("NAME")
      ->capture_default_str();
  command_
      ->add_flag("--composites", composites_,
                 "Keep labelled formulas, such as gelu, as composites")
      ->disable_flag_override();
  command_
      ->add_option("--partitions", partitions_,
                   "Devices that the program is partitioned over")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command_
      ->add_option("-o,--output", output_,
                   "Write the text to this file, whole or not at all; "
                   "otherwise to standard output")
      ->type_name("FILE");
  command_
      ->add_flag("--list", list_,
                 "Print arguments and results, and the text only to a file")
      ->disable_flag_override();
}

void Emit::run() const {
  if (model_.empty()) return print_models();
  const Model& model = model_of(model_);
  if (!output_.empty()) refuse_unwritable(output_);
  const Recorded recorded = model.record();
  const topos::StablehloModule module = topos::emit_stablehlo(
      program_of(recorded, plan_).plan,
      {.composites = composites_, .partitions = partitions_});
  if (!output_.empty()) topos::write_file_atomically(output_, module.text);
  if (list_) {
    print_signature(module);
  } else if (output_.empty()) {
    std::cout << module.text;
  }
}

}  // namespace tools
