#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "stablehlo/row.h"

/// \file
/// Operations with regions, windows and calls.

namespace topos::stablehlo_text {
namespace {

using test::check;
using test::Row;

// A region of one operation on two scalars.
std::string region(const std::string& name, const std::string& scalar) {
  return "({\n^bb0(%x: " + scalar + ", %y: " + scalar + "):\n%z = stablehlo." +
         name + " %x, %y : " + scalar + "\nstablehlo.return %z : " + scalar +
         "\n})";
}

TEST(Reduce, StartsFromTheInitialValueAndAscends) {
  const std::string body =
      "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = "
      "array<i64: 1>}> " +
      region("add", "tensor<f32>") +
      " : (tensor<2x3xf32>, tensor<f32>) -> "
      "tensor<2xf32>";
  check({"sum", body, "f32[2, 3]{1 2 3 4 5 6} f32[]{10}", "f32[2]{16 25}"});
  // In f32: 2^24 + 1 rounds down, twice; from the other end it would not.
  check({"precision", body, "f32[2, 3]{16777216 1 1 1 1 16777216} f32[]{0}",
         "f32[2]{16777216 16777218}"});
}

TEST(Reduce, KeepsTheOrderOfTheOperands) {
  check({"difference",
         "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = array<i64: 0>}> " +
             region("subtract", "tensor<i32>") +
             " : (tensor<3xi32>, tensor<i32>) -> tensor<i32>",
         "i32[3]{1 2 4} i32[]{100}", "i32[]{93}"});
  // body(x, y) = y - x: 1 - 100, then 2 + 99, then 4 - 101.
  check({"the other way round",
         "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = array<i64: 0>}> ({\n"
         "^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
         "%z = stablehlo.subtract %y, %x : tensor<i32>\n"
         "stablehlo.return %z : tensor<i32>\n})"
         " : (tensor<3xi32>, tensor<i32>) -> tensor<i32>",
         "i32[3]{1 2 4} i32[]{100}", "i32[]{-97}"});
}

TEST(Reduce, OfNothingIsTheInitialValue) {
  check(
      {"none",
       "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = array<i64: 0, 1>}> " +
           region("maximum", "tensor<f32>") +
           " : (tensor<0x2xf32>, tensor<f32>) -> tensor<f32>",
       "f32[0, 2]{} f32[]{-inf}", "f32[]{-inf}"});
  check({"no axes",
         "%0 = \"stablehlo.reduce\"(%a, %b) <{dimensions = array<i64>}> " +
             region("add", "tensor<f32>") +
             " : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>",
         "f32[2]{1 2} f32[]{10}", "f32[2]{11 12}"});
}

// Value and index together, the lower index of equal values: an argmax, whose
// region also reads a value from around it.
TEST(Reduce, TakesSeveralOperandsAndAnyRegion) {
  check({"argmax",
         "%i = stablehlo.iota dim = 1 : tensor<2x3xi32>\n"
         "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
         "%zero = stablehlo.constant dense<0> : tensor<i32>\n"
         "%0:2 = \"stablehlo.reduce\"(%a, %i, %low, %zero) "
         "<{dimensions = array<i64: 1>}> ({\n"
         "^bb0(%x: tensor<f32>, %m: tensor<i32>, %y: tensor<f32>, %n: "
         "tensor<i32>):\n"
         "  %above = stablehlo.compare GT, %y, %x, FLOAT : (tensor<f32>, "
         "tensor<f32>) -> tensor<i1>\n"
         "  %v = stablehlo.select %above, %y, %x : tensor<i1>, tensor<f32>\n"
         "  %k = stablehlo.select %above, %n, %m : tensor<i1>, tensor<i32>\n"
         "  %l = stablehlo.add %k, %zero : tensor<i32>\n"
         "  \"stablehlo.return\"(%v, %l) : (tensor<f32>, tensor<i32>) -> ()\n"
         "}) : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> "
         "(tensor<2xf32>, tensor<2xi32>)",
         "f32[2, 3]{1 7 7 5 -1 2}", "f32[2]{7 5} i32[2]{1 0}"});
}

std::string gather(const std::string& numbers, const std::string& sizes,
                   const std::string& types) {
  return "%0 = \"stablehlo.gather\"(%a, %b) <{dimension_numbers = "
         "#stablehlo.gather<" +
         numbers +
         ">, indices_are_sorted = false, slice_sizes = array<i64: " + sizes +
         ">}> : " + types;
}

TEST(Gather, TakesRowsAndClampsTheirIndices) {
  const std::string rows =
      "offset_dims = [1], collapsed_slice_dims = [0], "
      "operand_batching_dims = [], "
      "start_indices_batching_dims = [], "
      "start_index_map = [0], index_vector_dim = 1";
  check({"rows",
         gather(rows, "1, 2",
                "(tensor<3x2xf32>, tensor<4x1xi32>) -> tensor<4x2xf32>"),
         "f32[3, 2]{1 2 3 4 5 6} i32[4, 1]{2 0 -1 7}",
         "f32[4, 2]{5 6 1 2 1 2 5 6}"});
  // The components of an index need no axis of their own.
  check({"rows without an axis of components",
         gather(rows, "1, 2",
                "(tensor<3x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>"),
         "f32[3, 2]{1 2 3 4 5 6} i64[2]{1 0}", "f32[2, 2]{3 4 1 2}"});
  check({"one element of each row",
         gather("collapsed_slice_dims = [1], operand_batching_dims = [0], "
                "start_indices_batching_dims = [0], start_index_map = [1], "
                "index_vector_dim = 1",
                "1, 1", "(tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>"),
         "f32[2, 3]{1 2 3 4 5 6} i32[2, 1]{2 0}", "f32[2]{3 4}"});
}

// 1 to 48, the operand of the examples that follow.
std::string counted(const std::string& type) {
  std::string result = type + "{1";
  for (int i = 2; i <= 48; ++i) result += " " + std::to_string(i);
  return result + "}";
}

constexpr const char* example_indices =
    " i64[2, 2, 3, 2]{0 0 1 0 2 1 0 1 1 1 0 9 0 0 2 1 2 2 1 2 0 1 1 0}";

// All numbers of the specification's examples of gather and scatter, which use
// every dimension number.
TEST(Gather, GivesTheExampleOfTheSpecification) {
  check({"example",
         gather("offset_dims = [3, 4], collapsed_slice_dims = [1], "
                "operand_batching_dims = [0], start_indices_batching_dims = "
                "[1], start_index_map = [2, 1], index_vector_dim = 3",
                "1, 1, 2, 2",
                "(tensor<2x3x4x2xi32>, tensor<2x2x3x2xi64>) -> "
                "tensor<2x2x3x2x2xi32>"),
         counted("i32[2, 3, 4, 2]") + example_indices,
         "i32[2, 2, 3, 2, 2]{1 2 3 4 3 4 5 6 13 14 15 16 "
         "33 34 35 36 35 36 37 38 41 42 43 44 "
         "1 2 3 4 13 14 15 16 21 22 23 24 "
         "43 44 45 46 33 34 35 36 27 28 29 30}"});
}

TEST(Scatter, GivesTheExampleOfTheSpecification) {
  std::string updates = " i32[2, 2, 3, 2, 2]{1";
  for (int i = 1; i < 48; ++i) updates += " 1";
  check({"example",
         "%0 = \"stablehlo.scatter\"(%a, %b, %c) <{scatter_dimension_numbers = "
         "#stablehlo.scatter<update_window_dims = [3, 4], inserted_window_dims "
         "= [1], input_batching_dims = [0], scatter_indices_batching_dims = "
         "[1], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 3>, "
         "unique_indices = false}> " +
             region("add", "tensor<i32>") +
             " : (tensor<2x3x4x2xi32>, tensor<2x2x3x2xi64>, "
             "tensor<2x2x3x2x2xi32>) -> tensor<2x3x4x2xi32>",
         counted("i32[2, 3, 4, 2]") + example_indices + updates + "}",
         "i32[2, 3, 4, 2]{3 4 6 7 6 7 7 8 9 10 11 12 15 16 17 18 17 18 19 20 "
         "22 23 24 25 25 26 28 29 30 31 31 32 35 36 38 39 38 39 39 40 41 42 44 "
         "45 46 47 47 48}"});
}

TEST(Scatter, AddsInOrderAndDropsWhatIsOutside) {
  const std::string body =
      "%0 = \"stablehlo.scatter\"(%a, %b, %c) <{scatter_dimension_numbers = "
      "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = "
      "[0], input_batching_dims = [], scatter_indices_batching_dims = [], "
      "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
      "unique_indices = false}> ";
  const std::string types =
      " : (tensor<3x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> "
      "tensor<3x2xf32>";
  check({"add", body + region("add", "tensor<f32>") + types,
         "f32[3, 2]{0 0 1 1 -0 5} i32[4, 1]{1 -1 1 3} "
         "f32[4, 2]{1 2 9 9 10 20 9 9}",
         "f32[3, 2]{0 0 12 23 -0 5}"});
  check({"replace",
         body +
             "({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
             "stablehlo.return %y : tensor<f32>\n})" +
             types,
         "f32[3, 2]{0 0 1 1 -0 5} i32[4, 1]{1 -1 1 3} "
         "f32[4, 2]{1 2 9 9 10 20 9 9}",
         "f32[3, 2]{0 0 10 20 -0 5}"});
}

TEST(AllReduce, OfOneReplicaIsItsOperand) {
  check({"all_reduce",
         "%0 = \"stablehlo.all_reduce\"(%a) <{channel_handle = "
         "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = "
         "dense<0> : tensor<1x1xi64>, use_global_device_ids}> " +
             region("add", "tensor<f32>") +
             " : (tensor<2xf32>) -> tensor<2xf32>",
         "f32[2]{1 2}", "f32[2]{1 2}"});
}

constexpr const char* helpers = R"(
  func.func private @square(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @both(%x: tensor<2xf32>)
      -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = call @square(%x) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.negate %0 : tensor<2xf32>
    func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @nine() -> tensor<f32> {
    %0 = stablehlo.constant dense<9.0> : tensor<f32>
    return %0 : tensor<f32>
  }
)";

TEST(Calls, RunFunctionsAndDecompositions) {
  const std::vector<Row> rows = {
      {"call", "%0 = call @square(%a) : (tensor<2xf32>) -> tensor<2xf32>",
       "f32[2]{2 -3}", "f32[2]{4 9}"},
      {"func.call",
       "%0:2 = func.call @both(%a) : (tensor<2xf32>) -> (tensor<2xf32>, "
       "tensor<2xf32>)",
       "f32[2]{2 -3}", "f32[2]{4 9} f32[2]{-4 -9}"},
      {"two names for two results",
       "%p, %q = func.call @both(%a) : (tensor<2xf32>) -> (tensor<2xf32>, "
       "tensor<2xf32>)\n%0 = stablehlo.subtract %q, %p : tensor<2xf32>",
       "f32[2]{2 -3}", "f32[2]{-8 -18}"},
      {"no arguments", "%0 = call @nine() : () -> tensor<f32>", "", "f32[]{9}"},
      {"composite",
       "%0 = stablehlo.composite \"topos.square\" %a {composite_attributes = "
       "{form = \"plain\", power = 2 : i64}, decomposition = @square, version "
       "= 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>",
       "f32[2]{2 -3}", "f32[2]{4 9}"},
      {"composite generic",
       "%0 = \"stablehlo.composite\"(%a) <{decomposition = @square, name = "
       "\"topos.square\"}> : (tensor<2xf32>) -> tensor<2xf32>",
       "f32[2]{2 -3}", "f32[2]{4 9}"},
  };
  for (const Row& row : rows) check(row, helpers);
}

}  // namespace
}  // namespace topos::stablehlo_text
