#include <gtest/gtest.h>

#include "stablehlo/row.h"

/// \file
/// A row for every operation and every edge of it. Expected numbers are closed
/// forms, doubles of another C library rounded once, or the examples of the
/// specification, as the row says.

namespace topos::stablehlo_text {
namespace {

using test::check_all;
using test::Row;

// clang-format off

// The f32 values are f64 ones, by Python's math module, rounded once.
const Row functions[] = {
    {"abs", "%0 = stablehlo.abs %a : tensor<4xf32>", "f32[4]{-1.5 -0 nan -inf}", "f32[4]{1.5 0 nan inf}"},
    {"abs wraps", "%0 = stablehlo.abs %a : tensor<2xi32>", "i32[2]{-3 -2147483648}", "i32[2]{3 -2147483648}"},
    {"cbrt", "%0 = stablehlo.cbrt %a : tensor<2xf32>", "f32[2]{2 -8}", "f32[2]{0x1.428a3p+0 -2}"},
    {"ceil", "%0 = stablehlo.ceil %a : tensor<3xf32>", "f32[3]{1.5 -0.5 -inf}", "f32[3]{2 -0 -inf}"},
    {"cosine", "%0 = stablehlo.cosine %a : tensor<3xf32>", "f32[3]{1 -2 inf}", "f32[3]{0x1.14a28p-1 -0x1.aa2266p-2 nan}"},
    {"exponential", "%0 = stablehlo.exponential %a : tensor<4xf32>", "f32[4]{1 -2 -inf 100}", "f32[4]{0x1.5bf0a8p+1 0x1.152aaap-3 0 inf}"},
    {"exponential f64", "%0 = stablehlo.exponential %a : tensor<f64>", "f64[]{0}", "f64[]{1}"},
    {"exponential minus one", "%0 = stablehlo.exponential_minus_one %a : tensor<2xf32>", "f32[2]{1 -0}", "f32[2]{0x1.b7e152p+0 -0}"},
    {"floor", "%0 = stablehlo.floor %a : tensor<2xf32>", "f32[2]{1.5 -0.5}", "f32[2]{1 -1}"},
    {"log", "%0 = stablehlo.log %a : tensor<4xf32>", "f32[4]{2 10 0 -1}", "f32[4]{0x1.62e43p-1 0x1.26bb1cp+1 -inf nan}"},
    {"log plus one", "%0 = stablehlo.log_plus_one %a : tensor<3xf32>", "f32[3]{1 -0 -1}", "f32[3]{0x1.62e43p-1 -0 -inf}"},
    {"logistic", "%0 = stablehlo.logistic %a : tensor<4xf32>", "f32[4]{1 -2 0 -200}", "f32[4]{0x1.764d5p-1 0x1.e84152p-4 0.5 0}"},
    {"negate", "%0 = stablehlo.negate %a : tensor<3xf32>", "f32[3]{0 -2 inf}", "f32[3]{-0 2 -inf}"},
    {"negate wraps", "%0 = stablehlo.negate %a : tensor<2xi64>", "i64[2]{5 -9223372036854775808}", "i64[2]{-5 -9223372036854775808}"},
    {"not", "%0 = stablehlo.not %a : tensor<2xi1>", "boolean[2]{0 1}", "boolean[2]{1 0}"},
    {"not of integers", "%0 = stablehlo.not %a : tensor<2xi32>", "i32[2]{0 5}", "i32[2]{-1 -6}"},
    {"round", "%0 = stablehlo.round_nearest_even %a : tensor<5xf32>", "f32[5]{0.5 1.5 2.5 -0.5 -1.75}", "f32[5]{0 2 2 -0 -2}"},
    {"rsqrt", "%0 = stablehlo.rsqrt %a : tensor<3xf32>", "f32[3]{2 0 -1}", "f32[3]{0x1.6a09e6p-1 inf nan}"},
    {"sign", "%0 = stablehlo.sign %a : tensor<5xf32>", "f32[5]{3 -3 0 -0 nan}", "f32[5]{1 -1 0 -0 nan}"},
    {"sign of integers", "%0 = stablehlo.sign %a : tensor<3xi32>", "i32[3]{7 0 -7}", "i32[3]{1 0 -1}"},
    {"sine", "%0 = stablehlo.sine %a : tensor<3xf32>", "f32[3]{1 -2 -0}", "f32[3]{0x1.aed548p-1 -0x1.d18f6ep-1 -0}"},
    {"sqrt", "%0 = stablehlo.sqrt %a : tensor<3xf32>", "f32[3]{2 -0 -1}", "f32[3]{0x1.6a09e6p+0 -0 nan}"},
    {"tanh", "%0 = stablehlo.tanh %a : tensor<3xf32>", "f32[3]{0.5 -2 inf}", "f32[3]{0x1.d9353ep-2 -0x1.ed9506p-1 1}"},
    {"no elements", "%0 = stablehlo.tanh %a : tensor<0x3xf32>", "f32[0, 3]{}", "f32[0, 3]{}"},
    {"functional signature", "%0 = stablehlo.negate %a : (tensor<f32>) -> tensor<f32>", "f32[]{2}", "f32[]{-2}"},
    {"generic", "%0 = \"stablehlo.negate\"(%a) : (tensor<f32>) -> tensor<f32>", "f32[]{2}", "f32[]{-2}"},
};

const Row arithmetic[] = {
    {"add", "%0 = stablehlo.add %a, %b : tensor<2xf32>", "f32[2]{1 -0} f32[2]{0x1p-24 -0}", "f32[2]{1 -0}"},
    {"add wraps", "%0 = stablehlo.add %a, %b : tensor<i32>", "i32[]{2147483647} i32[]{1}", "i32[]{-2147483648}"},
    {"add of booleans", "%0 = stablehlo.add %a, %b : tensor<3xi1>", "boolean[3]{0 0 1} boolean[3]{0 1 1}", "boolean[3]{0 1 1}"},
    {"subtract", "%0 = stablehlo.subtract %a, %b : tensor<2xf64>", "f64[2]{1 0} f64[2]{0.75 0}", "f64[2]{0.25 0}"},
    {"subtract wraps", "%0 = stablehlo.subtract %a, %b : tensor<i64>", "i64[]{-9223372036854775808} i64[]{1}", "i64[]{9223372036854775807}"},
    {"multiply", "%0 = stablehlo.multiply %a, %b : tensor<3xf32>", "f32[3]{3 0 -0} f32[3]{-2 inf 5}", "f32[3]{-6 nan -0}"},
    {"multiply wraps", "%0 = stablehlo.multiply %a, %b : tensor<i32>", "i32[]{65537} i32[]{65537}", "i32[]{131073}"},
    {"multiply of booleans", "%0 = stablehlo.multiply %a, %b : tensor<2xi1>", "boolean[2]{1 1} boolean[2]{0 1}", "boolean[2]{0 1}"},
    {"divide", "%0 = stablehlo.divide %a, %b : tensor<3xf32>", "f32[3]{1 -1 0} f32[3]{3 0 0}", "f32[3]{0x1.555556p-2 -inf nan}"},
    {"divide integers", "%0 = stablehlo.divide %a, %b : tensor<4xi32>", "i32[4]{-7 7 5 -2147483648} i32[4]{2 -2 0 -1}", "i32[4]{-3 -3 -1 -2147483648}"},
    {"remainder", "%0 = stablehlo.remainder %a, %b : tensor<4xf32>", "f32[4]{7 -7 -2 1} f32[4]{3 3 2 0}", "f32[4]{1 -1 -0 nan}"},
    {"remainder of integers", "%0 = stablehlo.remainder %a, %b : tensor<4xi32>", "i32[4]{-7 7 5 -2147483648} i32[4]{2 -2 0 -1}", "i32[4]{-1 1 5 0}"},
    {"power", "%0 = stablehlo.power %a, %b : tensor<4xf32>", "f32[4]{2 -2 0 1} f32[4]{1.5 3 0 nan}", "f32[4]{0x1.6a09e6p+1 -8 1 1}"},
    {"power of integers", "%0 = stablehlo.power %a, %b : tensor<5xi32>", "i32[5]{3 -2 2 -1 2} i32[5]{4 3 -1 -3 33}", "i32[5]{81 -8 0 -1 0}"},
    {"maximum", "%0 = stablehlo.maximum %a, %b : tensor<4xf32>", "f32[4]{1 -0 nan 2} f32[4]{2 0 1 nan}", "f32[4]{2 0 nan nan}"},
    {"maximum of zeros", "%0 = stablehlo.maximum %a, %b : tensor<2xf32>", "f32[2]{0 -0} f32[2]{-0 -0}", "f32[2]{0 -0}"},
    {"minimum", "%0 = stablehlo.minimum %a, %b : tensor<4xf32>", "f32[4]{1 0 nan 2} f32[4]{2 -0 1 nan}", "f32[4]{1 -0 nan nan}"},
    {"minimum of integers", "%0 = stablehlo.minimum %a, %b : tensor<2xi64>", "i64[2]{-1 3} i64[2]{1 2}", "i64[2]{-1 2}"},
    {"and", "%0 = stablehlo.and %a, %b : tensor<i32>", "i32[]{12} i32[]{10}", "i32[]{8}"},
    {"or", "%0 = stablehlo.or %a, %b : tensor<2xi1>", "boolean[2]{0 1} boolean[2]{0 0}", "boolean[2]{0 1}"},
    {"xor", "%0 = stablehlo.xor %a, %b : tensor<i32>", "i32[]{12} i32[]{-1}", "i32[]{-13}"},
    {"shift left", "%0 = stablehlo.shift_left %a, %b : tensor<4xi32>", "i32[4]{1 -1 1 1} i32[4]{31 4 32 -1}", "i32[4]{-2147483648 -16 0 0}"},
    {"shift right", "%0 = stablehlo.shift_right_logical %a, %b : tensor<3xi32>", "i32[3]{-1 -16 5} i32[3]{28 32 1}", "i32[3]{15 0 2}"},
    {"shift right arithmetic", "%0 = stablehlo.shift_right_arithmetic %a, %b : tensor<3xi32>", "i32[3]{-16 -1 5} i32[3]{2 32 99}", "i32[3]{-4 -1 0}"},
    {"compare floats", "%0 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>", "f32[4]{1 2 nan -0} f32[4]{2 1 1 0}", "boolean[4]{1 0 0 0}"},
    {"compare NE", "%0 = stablehlo.compare NE, %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>", "f32[2]{nan -0} f32[2]{nan 0}", "boolean[2]{1 0}"},
    {"compare total order", "%0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>", "f32[3]{-0 inf 1} f32[3]{0 nan -1}", "boolean[3]{1 1 0}"},
    {"compare GE", "%0 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>", "i32[3]{-1 1 2} i32[3]{1 1 1}", "boolean[3]{0 1 1}"},
    {"compare booleans", "%0 = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>", "boolean[2]{0 1} boolean[2]{0 0}", "boolean[2]{1 0}"},
    {"compare generic", "%0 = \"stablehlo.compare\"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>", "i32[]{3} i32[]{2}", "boolean[]{1}"},
    {"select", "%0 = stablehlo.select %a, %b, %c : tensor<2xi1>, tensor<2xf32>", "boolean[2]{1 0} f32[2]{1 2} f32[2]{3 4}", "f32[2]{1 4}"},
    {"select by a scalar", "%0 = stablehlo.select %a, %b, %c : tensor<i1>, tensor<2xf32>", "boolean[]{0} f32[2]{1 2} f32[2]{3 4}", "f32[2]{3 4}"},
    {"clamp", "%0 = stablehlo.clamp %a, %b, %c : tensor<3xf32>", "f32[3]{0 0 0} f32[3]{-1 0.5 nan} f32[3]{1 1 1}", "f32[3]{0 0.5 nan}"},
    {"clamp by scalars", "%0 = stablehlo.clamp %a, %b, %c : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>", "i32[]{0} i32[3]{-1 1 9} i32[]{5}", "i32[3]{0 1 5}"},
};

const Row conversions[] = {
    {"f32 to i32", "%0 = stablehlo.convert %a : (tensor<6xf32>) -> tensor<6xi32>", "f32[6]{1.9 -1.9 nan 3e9 -3e9 inf}", "i32[6]{1 -1 0 2147483647 -2147483648 2147483647}"},
    {"f64 to i64", "%0 = stablehlo.convert %a : (tensor<3xf64>) -> tensor<3xi64>", "f64[3]{9223372036854775808 -9223372036854775808 -0.5}", "i64[3]{9223372036854775807 -9223372036854775808 0}"},
    {"i64 to f32", "%0 = stablehlo.convert %a : (tensor<2xi64>) -> tensor<2xf32>", "i64[2]{16777217 -3}", "f32[2]{16777216 -3}"},
    {"f64 to f32", "%0 = stablehlo.convert %a : (tensor<2xf64>) -> tensor<2xf32>", "f64[2]{0x1.000001p+0 1e300}", "f32[2]{1 inf}"},
    {"f32 to i1", "%0 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xi1>", "f32[3]{0 -0.5 nan}", "boolean[3]{0 1 1}"},
    {"i1 to f32", "%0 = stablehlo.convert %a : (tensor<2xi1>) -> tensor<2xf32>", "boolean[2]{0 1}", "f32[2]{0 1}"},
    {"i64 to i32", "%0 = stablehlo.convert %a : (tensor<2xi64>) -> tensor<2xi32>", "i64[2]{4294967297 -1}", "i32[2]{1 -1}"},
    {"through ui32", "%0 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xui32>\n%1 = stablehlo.convert %0 : (tensor<3xui32>) -> tensor<3xi64>\n%2 = stablehlo.add %1, %1 : tensor<3xi64>", "f32[3]{-1 3e9 9e9}", "i64[3]{0 6000000000 8589934590}", "%2"},
    {"bits of a float", "%0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>", "f32[2]{1 -0}", "i32[2]{1065353216 -2147483648}"},
    {"halves of an i64", "%0 = stablehlo.bitcast_convert %a : (tensor<1xi64>) -> tensor<1x2xi32>", "i64[1]{4294967298}", "i32[1, 2]{2 1}"},
    {"halves to an i64", "%0 = stablehlo.bitcast_convert %a : (tensor<2xi32>) -> tensor<i64>", "i32[2]{2 1}", "i64[]{4294967298}"},
    {"is finite", "%0 = stablehlo.is_finite %a : (tensor<4xf32>) -> tensor<4xi1>", "f32[4]{1 inf nan -0}", "boolean[4]{1 0 0 1}"},
    // bf16: ties to even, and the greatest f32 rounds up to infinity.
    {"reduce precision", "%0 = stablehlo.reduce_precision %a, format = e8m7 : tensor<5xf32>", "f32[5]{0x1.01p+0 0x1.03p+0 0x1.fffffep+127 nan -0x1.0101p+0}", "f32[5]{1 0x1.04p+0 inf nan -0x1.02p+0}"},
    // f16 without subnormals: 65520 is the first that rounds to infinity.
    {"reduce precision to f16", "%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>", "f32[4]{65519 65520 0x1p-14 -0x1p-15}", "f32[4]{65504 inf 0x1p-14 -0}"},
    {"reduce precision generic", "%0 = \"stablehlo.reduce_precision\"(%a) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<f32>) -> tensor<f32>", "f32[]{0x1.01p+0}", "f32[]{1}"},
};

const Row layouts[] = {
    {"broadcast", "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>", "f32[2]{1 2}", "f32[3, 2]{1 2 1 2 1 2}"},
    {"broadcast across", "%0 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<1x2xi32>) -> tensor<2x3xi32>", "i32[1, 2]{1 2}", "i32[2, 3]{1 1 1 2 2 2}"},
    {"broadcast a scalar", "%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<i1>) -> tensor<2xi1>", "boolean[]{1}", "boolean[2]{1 1}"},
    {"broadcast to nothing", "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<1xf32>) -> tensor<2x0xf32>", "f32[1]{1}", "f32[2, 0]{}"},
    {"broadcast generic", "%0 = \"stablehlo.broadcast_in_dim\"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x2xf32>", "f32[2]{1 2}", "f32[2, 2]{1 1 2 2}"},
    {"reshape", "%0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<3x2xf32>", "f32[2, 3]{1 2 3 4 5 6}", "f32[3, 2]{1 2 3 4 5 6}"},
    {"transpose", "%0 = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<2x1x3xi64>) -> tensor<1x3x2xi64>", "i64[2, 1, 3]{1 2 3 4 5 6}", "i64[1, 3, 2]{1 4 2 5 3 6}"},
    {"transpose a scalar", "%0 = \"stablehlo.transpose\"(%a) <{permutation = array<i64>}> : (tensor<f32>) -> tensor<f32>", "f32[]{4}", "f32[]{4}"},
    {"reverse", "%0 = stablehlo.reverse %a, dims = [1] : tensor<2x3xf32>", "f32[2, 3]{1 2 3 4 5 6}", "f32[2, 3]{3 2 1 6 5 4}"},
    {"reverse nothing", "%0 = stablehlo.reverse %a, dims = [0] : tensor<0xf32>", "f32[0]{}", "f32[0]{}"},
    {"slice", "%0 = stablehlo.slice %a [0:2, 1:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>", "f32[3, 4]{0 1 2 3 4 5 6 7 8 9 10 11}", "f32[2, 2]{1 3 5 7}"},
    {"slice of nothing", "%0 = stablehlo.slice %a [2:2] : (tensor<3xf32>) -> tensor<0xf32>", "f32[3]{0 1 2}", "f32[0]{}"},
    {"slice generic", "%0 = \"stablehlo.slice\"(%a) <{start_indices = array<i64: 1>, limit_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2xf32>", "f32[3]{0 1 2}", "f32[2]{1 2}"},
    {"concatenate", "%0 = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<2x1xf32>, tensor<2x0xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>", "f32[2, 1]{1 2} f32[2, 0]{} f32[2, 2]{3 4 5 6}", "f32[2, 3]{1 3 4 2 5 6}"},
    {"pad", "%0 = stablehlo.pad %a, %b, low = [1], high = [2], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<6xf32>", "f32[2]{1 2} f32[]{9}", "f32[6]{9 1 9 2 9 9}"},
    {"pad by less", "%0 = stablehlo.pad %a, %b, low = [-1], high = [-2], interior = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<2xi32>", "i32[5]{1 2 3 4 5} i32[]{0}", "i32[2]{2 3}"},
    // 1 . . 2 . . 3 without its first two and last one: . 2 . .
    {"pad by less inside", "%0 = stablehlo.pad %a, %b, low = [-2], high = [-1], interior = [2] : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>", "i32[3]{1 2 3} i32[]{0}", "i32[4]{0 2 0 0}"},
    {"pad nothing", "%0 = stablehlo.pad %a, %b, low = [1], high = [1], interior = [3] : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>", "f32[0]{} f32[]{7}", "f32[2]{7 7}"},
    {"pad by more than all", "%0 = stablehlo.pad %a, %b, low = [-3], high = [3], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>", "f32[2]{1 2} f32[]{7}", "f32[2]{7 7}"},
    {"iota", "%0 = stablehlo.iota dim = 0 : tensor<3x2xi32>", "", "i32[3, 2]{0 0 1 1 2 2}"},
    {"iota of floats", "%0 = stablehlo.iota dim = 1 : tensor<1x3xf32>", "", "f32[1, 3]{0 1 2}"},
    {"dynamic slice", "%0 = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>", "f32[2, 3]{1 2 3 4 5 6} i32[]{1} i32[]{1}", "f32[1, 2]{5 6}"},
    {"dynamic slice clamps", "%0 = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2xf32>", "f32[2, 3]{1 2 3 4 5 6} i64[]{-5} i64[]{9}", "f32[1, 2]{2 3}"},
    {"dynamic update", "%0 = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>", "f32[4]{1 2 3 4} f32[2]{8 9} i32[]{1}", "f32[4]{1 8 9 4}"},
    {"dynamic update clamps", "%0 = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>", "f32[4]{1 2 3 4} f32[2]{8 9} i32[]{7}", "f32[4]{1 2 8 9}"},
    {"barrier", "%0:2 = stablehlo.optimization_barrier %a, %b : tensor<f32>, tensor<i1>", "f32[]{1} boolean[]{1}", "f32[]{1} boolean[]{1}"},
};

const Row products[] = {
    {"product", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>", "f32[2, 3]{1 2 3 4 5 6} f32[3, 2]{1 0 0 1 1 1}", "f32[2, 2]{4 5 10 11}"},
    {"transposed product", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<1x2xf64>", "f64[2, 1]{1 10} f64[2, 2]{1 2 3 4}", "f64[1, 2]{21 43}"},
    {"batched product", "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2x1xf32>) -> tensor<2x1xf32>", "f32[2, 2]{1 2 3 4} f32[2, 2, 1]{1 10 100 1000}", "f32[2, 1]{201 4030}"},
    {"two contracted axes", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [1, 0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<i32>", "i32[2, 2]{1 2 3 4} i32[2, 2]{1 10 100 1000}", "i32[]{4231}"},
    {"outer product", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>", "f32[2]{1 2} f32[2]{3 4}", "f32[2, 2]{3 4 6 8}"},
    {"product of no terms", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x0xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>", "f32[1, 0]{} f32[0, 2]{}", "f32[1, 2]{0 0}"},
    // 2^24 + 1 + 1 is 2^24 in ascending order, 2^24 + 2 in the other one.
    {"product in f32", "%0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>", "f32[3]{16777216 1 1} f32[3]{1 1 1}", "f32[]{16777216}"},
    {"product generic", "%0 = \"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>", "f32[2]{1 2} f32[2]{3 4}", "f32[]{11}"},
};

// clang-format on

TEST(Operations, OnOneElementAtATime) { check_all(functions); }
TEST(Operations, OfArithmetic) { check_all(arithmetic); }
TEST(Operations, ThatConvert) { check_all(conversions); }
TEST(Operations, ThatMoveElements) { check_all(layouts); }
TEST(Operations, ThatMultiplyMatrices) { check_all(products); }

}  // namespace
}  // namespace topos::stablehlo_text
