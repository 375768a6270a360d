#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/module_error.h"
#include "topos/tensor.h"

/// \file
/// StableHLO text, read, checked and run, to prove what topos emits. It is an
/// implementation of its own after the specification: it shares no rule, value
/// or kernel with the library, only tensors.

namespace topos::stablehlo_text {

struct Program;

/// An argument of the entry function.
struct Argument {
  std::string name;  // without the %
  Type type;
  std::optional<std::size_t> aliases_result;  // tf.aliasing_output
  std::string sharding;                       // `[{device}, {}]`, or empty
};

/// A result of the entry function.
struct Result {
  Type type;
  std::string info;      // jax.result_info, or empty
  std::string sharding;  // `[{device}, {}]`, or empty
};

/// A module whose names, types and operations all fit. The entry is `@main`, or
/// the only public function. Copies share what was read; any number of threads
/// may run one module.
class Module {
 public:
  /// \throws ModuleError  `line:column: ` and the first thing that is wrong
  static Module parse(std::string_view text);

  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Result>& results() const { return results_; }
  /// Of all functions and regions; a return is none.
  std::size_t operation_count() const;
  /// How many operations of that name (`stablehlo.add`) there are.
  std::size_t operation_count(std::string_view name) const;

  /// Runs the entry. Sums are in ascending order in the elements' own type;
  /// functions of f32 are computed in f64 and rounded once.
  /// \throws ModuleError  the arguments do not fit
  std::vector<Tensor> run(std::span<const Tensor> arguments) const;

 private:
  Module() = default;

  std::shared_ptr<const Program> program_;
  std::vector<Argument> arguments_;
  std::vector<Result> results_;
};

}  // namespace topos::stablehlo_text
