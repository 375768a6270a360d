#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/row.h"

/// \file
/// What is refused, where, and in which words.

namespace topos::stablehlo_text {
namespace {

using test::error_of;

struct ErrorRow {
  std::string_view line;  // the second of the module
  std::string_view expected;
};

void check_errors(std::string_view arguments,
                  const std::vector<ErrorRow>& rows) {
  for (const auto& [line, expected] : rows) {
    EXPECT_EQ(error_of("func.func @main(" + std::string(arguments) + ") {\n" +
                       std::string(line) + "\nreturn\n}"),
              expected)
        << line;
  }
}

// clang-format off

TEST(Errors, OfWords) {
  check_errors("%a: tensor<f32>", {
      {"%0 = stablehlo.frobnicate %a : tensor<f32>", "2:6: stablehlo.frobnicate is no operation that is read"},
      {"%0 = stablehlo.tanh %b : tensor<f32>", "2:21: %b is not defined"},
      {"%a = stablehlo.tanh %a : tensor<f32>", "2:1: %a is defined twice"},
      {"%0 = stablehlo.tanh %a tensor<f32>", "2:24: expected :, found tensor<f32>"},
      {"%0 = stablehlo.tanh %a : f32", "2:26: expected a tensor type, found f32"},
      {"%0 = stablehlo.tanh %a : tensor<2x>", "2:26: tensor<2x> is no type that is read"},
      {"%0 = stablehlo.tanh %a : tensor<f8>", "2:26: tensor<f8> is no type that is read"},
      {"%0 = stablehlo.tanh %a : tensor<9999999x9999999xf32>", "2:26: tensor<9999999x9999999xf32> is too large"},
      {"%0 = stablehlo.tanh %a : tensor<1x1x1x1x1x1x1x1x1xf32>", "2:26: more than 8 axes"},
      {"%0 = stablehlo.tanh %a : tensor<f32", "2:36: expected > after tensor<"},
      {"%0 = \"stablehlo.tanh(%a)", "2:6: the string does not end"},
      {"%0 = stablehlo.tanh %a ! tensor<f32>", "2:24: an unexpected character"},
      {"%0 = stablehlo.tanh % : tensor<f32>", "2:21: expected a name after %"},
      {"%0 stablehlo.tanh %a : tensor<f32>", "2:4: expected =, found stablehlo.tanh"},
      {"%0 = 7", "2:6: expected an operation, found 7"},
      {"%0 = return", "2:6: a return has no results"},
      {"%0 = stablehlo.tanh %a#1 : tensor<f32>", "2:21: %a has 1 results"},
      {"%0:2 = stablehlo.tanh %a : tensor<f32>", "2:8: stablehlo.tanh: 1 results, 2 named"},
      {"stablehlo.tanh %a : tensor<f32>", "2:1: stablehlo.tanh: 1 results, 0 named"},
  });
  EXPECT_EQ(error_of("func.func @main() {\n"), "2:1: expected an operation, found the end of the text");
  EXPECT_EQ(error_of("func.func @main() {\nreturn\n}\nmore"), "4:1: expected func.func, found more");
  EXPECT_EQ(error_of("module {\nmore"), "2:1: expected func.func or }, found more");
  EXPECT_EQ(error_of("func.func @main(%a: tensor<f32>, %a: tensor<f32>) {"), "1:34: %a is defined twice");
}

TEST(Errors, OfOperandsAndAttributes) {
  check_errors("%a: tensor<f32>, %b: tensor<2xf32>", {
      {"%0 = stablehlo.tanh %b : tensor<f32>", "2:21: the operand is tensor<2xf32>, declared tensor<f32>"},
      {"%0 = stablehlo.add %a : tensor<f32>", "2:6: stablehlo.add: 1 operands"},
      {"%0 = stablehlo.add %a, %b : (tensor<f32>) -> tensor<f32>", "2:6: stablehlo.add: 2 operands with 1 types"},
      {"%0 = \"stablehlo.add\"() : () -> tensor<f32>", "2:6: stablehlo.add: 0 operands"},
      {"%0 = stablehlo.transpose %b : (tensor<2xf32>) -> tensor<2xf32>", "2:6: stablehlo.transpose: no permutation"},
      {"%0 = stablehlo.transpose %b, dims = [0] : tensor<2xf32>", "2:43: expected (, found tensor<2xf32>"},
      {"%0 = stablehlo.transpose %b, dims = 0 : (tensor<2xf32>) -> tensor<2xf32>", "2:37: stablehlo.transpose: permutation is an integer, not integers"},
      {"%0 = stablehlo.transpose %b, axes = [0] : (tensor<2xf32>) -> tensor<2xf32>", "2:30: stablehlo.transpose: no attribute is called axes"},
      {"%0 = \"stablehlo.tanh\"(%a) <{fast}> : (tensor<f32>) -> tensor<f32>", "2:29: stablehlo.tanh: no attribute is called fast"},
      {"%0 = \"stablehlo.iota\"() <{iota_dimension = 0, iota_dimension = 1}> : () -> tensor<1xi32>", "2:47: iota_dimension is given twice"},
      {"%0 = stablehlo.iota dim = 0, dim = 0 : tensor<1xi32>", "2:36: stablehlo.iota: iota_dimension is given twice"},
      {"%0 = stablehlo.tanh fast, %a : tensor<f32>", "2:21: stablehlo.tanh: an unexpected fast"},
      {"%0 = stablehlo.tanh %b [0:1] : tensor<2xf32>", "2:24: stablehlo.tanh: no attribute is called start_indices"},
      {"%0 = stablehlo.tanh %b, format = e8m7 : tensor<2xf32>", "2:34: stablehlo.tanh: no attribute is called exponent_bits"},
      {"%0 = stablehlo.tanh %b, contracting_dims = [0] x [0] : tensor<2xf32>", "2:25: stablehlo.tanh: no attribute is called dot_dimension_numbers"},
      {"%0 = stablehlo.concatenate %b, dim = 0, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>", "2:41: expected an attribute, found %b"},
      {"%0 = stablehlo.compare %b, %b, LT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>", "2:32: stablehlo.compare: an unexpected LT"},
      {"%0 = stablehlo.compare LT, FLOAT, %b, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>", "2:28: stablehlo.compare: an unexpected FLOAT"},
      {"%0 = stablehlo.pad %b, %a, high = [0], low = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>", "2:40: stablehlo.pad: low comes too late"},
      {"%0 = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0], batching_dims = [] x [] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>", "2:66: stablehlo.dot_general: batching_dims comes too late"},
      {"%0 = stablehlo.dot_general %b, %b, precision = [DEFAULT, DEFAULT], contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>", "2:68: stablehlo.dot_general: contracting_dims comes too late"},
      {"%0 = stablehlo.reduce %a : tensor<f32>", "2:23: expected the generic form, found %a"},
      {"%0 = \"stablehlo.reduce\"(%b, %a) <{dimensions = array<i64: 0>}> : (tensor<2xf32>, tensor<f32>) -> tensor<f32>", "2:6: stablehlo.reduce: 0 regions"},
  });
}

TEST(Errors, OfElementwiseOperations) {
  check_errors("%f: tensor<2xf32>, %g: tensor<3xf32>, %i: tensor<2xi32>, %p: tensor<2xi1>", {
      {"%0 = stablehlo.tanh %i : tensor<2xi32>", "2:6: stablehlo.tanh: it does not take i32"},
      {"%0 = stablehlo.subtract %p, %p : tensor<2xi1>", "2:6: stablehlo.subtract: it does not take i1"},
      {"%0 = stablehlo.and %f, %f : tensor<2xf32>", "2:6: stablehlo.and: it does not take f32"},
      {"%0 = stablehlo.add %f, %g : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>", "2:6: stablehlo.add: operands of tensor<2xf32> and tensor<3xf32>"},
      {"%0 = stablehlo.tanh %f : (tensor<2xf32>) -> tensor<3xf32>", "2:6: stablehlo.tanh: the result is tensor<2xf32>, not tensor<3xf32>"},
      {"%0 = stablehlo.compare LT, %f, %f : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>", "2:6: stablehlo.compare: the result is tensor<2xi1>, not tensor<2xf32>"},
      {"%0 = stablehlo.compare LESS, %f, %f : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>", "2:6: stablehlo.compare: no direction is called LESS"},
      {"%0 = stablehlo.compare LT, %f, %f, SIGNED : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>", "2:6: stablehlo.compare: SIGNED of f32"},
      {"%0 = stablehlo.select %f, %f, %f : tensor<2xf32>, tensor<2xf32>", "2:6: stablehlo.select: a predicate of tensor<2xf32>"},
      {"%0 = stablehlo.select %p, %g, %g : tensor<2xi1>, tensor<3xf32>", "2:6: stablehlo.select: a predicate of tensor<2xi1> for tensor<3xf32>"},
      {"%0 = stablehlo.clamp %g, %f, %g : (tensor<3xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>", "2:6: stablehlo.clamp: a bound of tensor<3xf32> for tensor<2xf32>"},
      {"%0 = stablehlo.convert %f : (tensor<2xf32>) -> tensor<3xi32>", "2:6: stablehlo.convert: the result is tensor<2xi32>, not tensor<3xi32>"},
      {"%0 = stablehlo.is_finite %i : (tensor<2xi32>) -> tensor<2xi1>", "2:6: stablehlo.is_finite: it does not take i32"},
      {"%0 = stablehlo.bitcast_convert %f : (tensor<2xf32>) -> tensor<2xf64>", "2:6: stablehlo.bitcast_convert: tensor<2xf32> to tensor<2xf64>"},
      {"%0 = stablehlo.reduce_precision %f, format = e0m7 : tensor<2xf32>", "2:6: stablehlo.reduce_precision: e0m7"},
      {"%0 = stablehlo.reduce_precision %f, format = m7 : tensor<2xf32>", "2:46: expected e8m7"},
  });
}

TEST(Errors, OfLayouts) {
  check_errors("%a: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i32>", {
      {"%0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.broadcast_in_dim: dims [0] are not 2"},
      {"%0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.broadcast_in_dim: dims [0, 2] of rank 2"},
      {"%0 = stablehlo.broadcast_in_dim %a, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.broadcast_in_dim: dims [1, 1] name an axis twice"},
      {"%0 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.broadcast_in_dim: axis 0 of tensor<2x3xf32> to axis 1 of tensor<2x3xf32>"},
      {"%0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>", "2:6: stablehlo.reshape: tensor<2x3xf32> to tensor<5xf32>"},
      {"%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.transpose: the result is tensor<3x2xf32>, not tensor<2x3xf32>"},
      {"%0 = stablehlo.reverse %a, dims = [2] : tensor<2x3xf32>", "2:6: stablehlo.reverse: dims [2] of rank 2"},
      {"%0 = stablehlo.slice %a [0:2] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.slice: starts [0] are not 2"},
      {"%0 = stablehlo.slice %a [0:2, 1:4] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.slice: 1:4:1 of axis 1 of tensor<2x3xf32>"},
      {"%0 = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>", "2:6: stablehlo.slice: the result is tensor<2x2xf32>, not tensor<2x1xf32>"},
      {"%0 = stablehlo.concatenate %a, %s, dim = 0 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>", "2:6: stablehlo.concatenate: tensor<2x3xf32> with tensor<f32> along axis 0"},
      {"%0 = stablehlo.concatenate %a, %a, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>", "2:6: stablehlo.concatenate: the result is tensor<2x6xf32>, not tensor<4x3xf32>"},
      {"%0 = stablehlo.pad %a, %s, low = [0, 0], high = [0, -4], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x0xf32>", "2:6: stablehlo.pad: nothing is left of axis 1 of tensor<2x3xf32>"},
      {"%0 = stablehlo.pad %a, %i, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>", "2:6: stablehlo.pad: a padding of tensor<i32> for tensor<2x3xf32>"},
      {"%0 = stablehlo.pad %a, %s, low = [0, 9223372036854775807], high = [0, 9223372036854775807], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>", "2:6: stablehlo.pad: paddings out of range along axis 1"},
      {"%0 = stablehlo.iota dim = 0 : tensor<i32>", "2:6: stablehlo.iota: dimensions [0] of rank 0"},
      {"%0 = stablehlo.dynamic_slice %a, %i, sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x1xf32>", "2:6: stablehlo.dynamic_slice: 1 start indices for tensor<2x3xf32>"},
      {"%0 = stablehlo.dynamic_slice %a, %i, %s, sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>, tensor<f32>) -> tensor<1x1xf32>", "2:6: stablehlo.dynamic_slice: a start index of tensor<f32>"},
      {"%0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 4] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>", "2:6: stablehlo.dynamic_slice: sizes [1, 4] of tensor<2x3xf32>"},
      {"%0 = stablehlo.dynamic_update_slice %s, %a : (tensor<f32>, tensor<2x3xf32>) -> tensor<f32>", "2:6: stablehlo.dynamic_update_slice: an update of tensor<2x3xf32> for tensor<f32>"},
  });
}

TEST(Errors, OfProductsAndWindows) {
  check_errors("%a: tensor<2x3xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>", {
      {"%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.dot_general: contracting dims [1] x [0] have extents 3 and 2"},
      {"%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.dot_general: contracting dims [1] x []"},
      {"%0 = stablehlo.dot_general %a, %a, batching_dims = [1] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.dot_general: batching and contracting dims [1, 1] name an axis twice"},
      {"%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.dot_general: the result is tensor<2x2xf32>, not tensor<2x3xf32>"},
      {"%0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1], precision = [BEST, BEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>", "2:6: stablehlo.dot_general: no precision is called BEST"},
      {"%0 = stablehlo.dot_general %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>", "2:6: stablehlo.dot_general: no dot_dimension_numbers"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:6: stablehlo.gather: window dims [1], collapsed [] and batching [] of tensor<2x3xf32>"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.scatter<offset_dims = [1]>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:55: stablehlo.gather: a record #stablehlo.scatter, not #stablehlo.gather"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dim = [1]>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:86: stablehlo.gather: no field is called offset_dim"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:6: stablehlo.gather: the result is tensor<4x3x1xf32>, not tensor<4x3xf32>"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:6: stablehlo.gather: indices of 4 components for axes [0]"},
      {"%0 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>", "2:6: stablehlo.gather: slice_sizes [2, 3] of tensor<2x3xf32>"},
      {"%0 = \"stablehlo.gather\"(%a, %u) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>", "2:6: stablehlo.gather: indices of tensor<4x3xf32>"},
      {"%0 = \"stablehlo.scatter\"(%a, %i, %a) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ stablehlo.return }) : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.scatter: updates of tensor<2x3xf32> for indices of tensor<4x1xi32>"},
      {"%0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ stablehlo.return }) : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<2x3xf32>", "2:6: stablehlo.scatter: the region's arguments are not two scalars of each operand"},
      {"%0 = \"stablehlo.scatter\"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x : tensor<f32> }) : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<4x3xf32>", "2:6: stablehlo.scatter: the results are not of the types of the inputs"},
  });
}

TEST(Errors, OfRegions) {
  check_errors("%a: tensor<2xf32>, %s: tensor<f32>, %i: tensor<i32>", {
      {"%0 = \"stablehlo.reduce\"(%a, %i) <{dimensions = array<i64: 0>}> ({ stablehlo.return }) : (tensor<2xf32>, tensor<i32>) -> tensor<f32>", "2:6: stablehlo.reduce: an initial value of tensor<i32> for tensor<2xf32>"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 1>}> ({ stablehlo.return }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>", "2:6: stablehlo.reduce: dimensions [1] of rank 1"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): return %x : tensor<f32> }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>", "2:107: a region ends with stablehlo.return"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x, %y : tensor<f32>, tensor<f32> }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>", "2:6: stablehlo.reduce: the region does not return a scalar of each operand"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x : tensor<f32> }) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>", "2:6: stablehlo.reduce: the result is tensor<f32>, not tensor<2xf32>"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%a: tensor<f32>, %y: tensor<f32>): stablehlo.return %y : tensor<f32> }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>", "2:72: %a is defined twice"},
      {"%0 = \"stablehlo.reduce\"(%a, %s) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): stablehlo.return %x : tensor<f32> }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>\n%1 = stablehlo.tanh %x : tensor<f32>", "3:21: %x is not defined"},
  });
}

TEST(Errors, OfFunctions) {
  check_errors("%a: tensor<f32>", {
      {"%0 = call @f(%a) : (tensor<f32>) -> tensor<f32>", "2:11: @f is not defined"},
      {"%0 = call @main(%a) : (tensor<f32>) -> tensor<f32>", "2:6: func.call: the results do not fit @main"},
      {"call @main(%a) : (tensor<f32>) -> ()", "1:11: @main calls itself"},
      {"call @main() : () -> ()", "2:1: func.call: the operands do not fit @main"},
      {"%0 = stablehlo.composite \"x\" %a : (tensor<f32>) -> tensor<f32>", "2:6: stablehlo.composite: no decomposition"},
      {"%0 = stablehlo.composite \"x\" %a {decomposition = @main} : (tensor<f32>) -> tensor<f32>", "2:6: stablehlo.composite: a name without a namespace: x"},
  });
  EXPECT_EQ(error_of("func.func @f() {\nreturn\n}\nfunc.func @f() {\nreturn\n}"), "4:11: @f is defined twice");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<f32>) -> tensor<f32> {\nreturn\n}"), "2:1: returns 0 values, @f has 1");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<f32>) -> tensor<2xf32> {\nreturn %a : tensor<f32>\n}"), "2:1: result 0 is tensor<f32>, declared tensor<2xf32>");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<f32>) -> tensor<f32> {\nreturn %a : tensor<f64>\n}"), "2:8: the operand is tensor<f32>, declared tensor<f64>");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<ui8>) {\nreturn\n}"), "1:14: tensor<ui8> is no type of topos");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<f32> {tf.aliasing_output = 1 : i32}) -> tensor<f32> {\nreturn %a : tensor<f32>\n}"), "1:52: no result 1");
  EXPECT_EQ(error_of("func.func @f(%a: tensor<f32> {mhlo.sharding = 1}) {\nreturn\n}"), "1:47: mhlo.sharding is an integer, not a string");
}

// clang-format on

}  // namespace
}  // namespace topos::stablehlo_text
