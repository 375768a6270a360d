#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/module.h"
#include "support/tensors.h"

namespace topos::stablehlo_text::test {

using topos::test::HasBitsOf;
using topos::test::tensors;

/// An operation, or a few: arguments %a, %b, ... and what %0 is then.
struct Row {
  std::string_view note;
  std::string body;
  std::string arguments;
  std::string expected;
  std::string_view returned = {};  // instead of %0
};

/// `tensor<2x3xf32>`.
inline std::string type_text(const Type& type) {
  std::string result = "tensor<";
  for (const std::int64_t extent : type.shape) {
    result += std::to_string(extent) + "x";
  }
  return result +
         (type.dtype == boolean ? "i1" : std::string(name(type.dtype))) + ">";
}

/// The module that runs a row; `behind` are functions that it calls.
inline std::string module_text(const Row& row, std::string_view behind = {}) {
  std::string arguments;
  char name = 'a';
  for (const Tensor& argument : tensors(row.arguments)) {
    if (!arguments.empty()) arguments += ", ";
    arguments += std::string("%") + name++ + ": " + type_text(argument.type());
  }
  const std::vector<Tensor> expected = tensors(row.expected);
  std::string types;
  std::string values;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i > 0) types += ", ";
    if (i > 0) values += ", ";
    types += type_text(expected[i].type());
    values += row.returned.empty() ? "%0" : std::string(row.returned);
    if (expected.size() > 1) values += "#" + std::to_string(i);
  }
  return "func.func public @main(" + arguments + ") -> (" + types + ") {\n" +
         row.body + "\nreturn " + values + " : " + types + "\n}\n" +
         std::string(behind);
}

/// Runs a row and compares the bits.
inline void check(const Row& row, std::string_view behind = {}) {
  SCOPED_TRACE(testing::Message() << row.note << ": " << row.body);
  const std::vector<Tensor> expected = tensors(row.expected);
  try {
    const std::vector<Tensor> found =
        Module::parse(module_text(row, behind)).run(tensors(row.arguments));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_THAT(found[i], HasBitsOf(expected[i]));
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.message();
  }
}

inline void check_all(std::span<const Row> rows) {
  for (const Row& row : rows) check(row);
}

/// What parsing `text` throws.
inline std::string error_of(std::string_view text) {
  try {
    Module::parse(text);
  } catch (const ModuleError& error) {
    return error.message();
  }
  return "nothing was thrown";
}

}  // namespace topos::stablehlo_text::test
