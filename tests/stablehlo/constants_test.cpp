#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stablehlo/row.h"

namespace topos::stablehlo_text {
namespace {

using test::check_all;
using test::error_of;
using test::Row;

Row constant(const char* literal, const char* type, const char* expected) {
  return {
      literal,
      "%0 = stablehlo.constant dense<" + std::string(literal) + "> : " + type,
      "", expected};
}

TEST(Constants, AreReadInEveryForm) {
  const std::vector<Row> rows = {
      constant("1.0", "tensor<f32>", "f32[]{1}"),
      constant("-1.500000e+00", "tensor<f32>", "f32[]{-1.5}"),
      constant("0.000000e+00", "tensor<2x2xf64>", "f64[2, 2]{0 0 0 0}"),
      constant("[1.0, 2.5]", "tensor<2xf32>", "f32[2]{1 2.5}"),
      constant("[[1, 2], [3, -4]]", "tensor<2x2xi32>", "i32[2, 2]{1 2 3 -4}"),
      constant("0x7F800000", "tensor<f32>", "f32[]{inf}"),
      constant("0x80000000", "tensor<2xf32>", "f32[2]{-0 -0}"),
      constant("[0x7FC00000, 1.0]", "tensor<2xf32>", "f32[2]{nan 1}"),
      constant("0xFFF0000000000000", "tensor<f64>", "f64[]{-inf}"),
      constant("0x10", "tensor<i32>", "i32[]{16}"),
      constant("true", "tensor<2xi1>", "boolean[2]{1 1}"),
      constant("[true, false, 1]", "tensor<3xi1>", "boolean[3]{1 0 1}"),
      constant("", "tensor<0x3xf32>", "f32[0, 3]{}"),
      constant("[]", "tensor<0xi32>", "i32[0]{}"),
      constant("[[], []]", "tensor<2x0xf32>", "f32[2, 0]{}"),
      constant("-9223372036854775808", "tensor<i64>",
               "i64[]{-9223372036854775808}"),
      // The sign is in the eye of the reader.
      constant("4294967295", "tensor<i32>", "i32[]{-1}"),
      constant("\"0x0000803F000000C0\"", "tensor<2xf32>", "f32[2]{1 -2}"),
      constant("\"0x0000803f\"", "tensor<3xf32>", "f32[3]{1 1 1}"),
      constant("\"0x0100000000000000FFFFFFFFFFFFFFFF\"", "tensor<2xi64>",
               "i64[2]{1 -1}"),
  };
  check_all(rows);
}

TEST(Constants, OfTheGenericFormAreTheSame) {
  test::check({"generic",
               "%0 = \"stablehlo.constant\"() <{value = dense<[1.0, 2.0]> : "
               "tensor<2xf32>}> : () -> tensor<2xf32>",
               "", "f32[2]{1 2}"});
}

// Where the dense literal stands in the modules below: line 2.
std::string error_of_constant(const std::string& literal) {
  return error_of("func.func @main() {\n%0 = stablehlo.constant dense<" +
                  literal + "\nreturn\n}");
}

TEST(Constants, ThatDoNotFitAreRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"1> : tensor<f32>", "2:31: 1 is no f32"},
      {"1.0> : tensor<i32>", "2:31: 1.0 is no i32"},
      {"4294967296> : tensor<i32>", "2:31: 4294967296 is no i32"},
      {"-2147483649> : tensor<i32>", "2:31: -2147483649 is no i32"},
      {"-1> : tensor<ui32>", "2:31: -1 is no ui32"},
      {"300> : tensor<ui8>", "2:31: 300 is no ui8"},
      {"2> : tensor<i1>", "2:31: 2 is no i1"},
      {"true> : tensor<i32>", "2:31: true is no i32"},
      {"0x1FFFFFFFF> : tensor<f32>", "2:31: 0x1FFFFFFFF is no f32"},
      {"1.0e999> : tensor<f64>", "2:31: 1.0e999 is no f64"},
      {"[1, 2]> : tensor<3xi32>",
       "2:25: elements of shape [2] for tensor<3xi32>"},
      {"[[1, 2], [3]]> : tensor<2x2xi32>",
       "2:40: brackets of 1 after ones of 2"},
      {"[1, [2]]> : tensor<2xi32>", "2:35: the brackets differ in depth"},
      {"[[1], 2]> : tensor<2xi32>", "2:37: the brackets differ in depth"},
      {"> : tensor<f32>", "2:25: elements of shape [] for tensor<f32>"},
      {"\"0x00\"> : tensor<f32>", "2:31: 1 bytes for tensor<f32>"},
      {"\"0x000\"> : tensor<f32>", "2:31: not a string of hex digits"},
      {"\"0x0000803G\"> : tensor<f32>", "2:31: not a string of hex digits"},
      {"\"0x01\"> : tensor<i1>",
       "2:31: i1 has no hex form that all versions read alike"},
      {"%0> : tensor<f32>", "2:31: expected a number, found %0"},
  };
  for (const auto& [literal, expected] : rows) {
    EXPECT_EQ(error_of_constant(literal), expected) << literal;
  }
}

}  // namespace
}  // namespace topos::stablehlo_text
