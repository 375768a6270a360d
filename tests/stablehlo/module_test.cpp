#include "stablehlo/module.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "stablehlo/row.h"

namespace topos::stablehlo_text {
namespace {

using test::error_of;
using test::HasBitsOf;
using test::tensors;

constexpr const char* step = R"(
// A step: one parameter moves against its gradient.
module @step attributes {mhlo.num_partitions = 1 : i32,
                         mhlo.num_replicas = 1 : i32} {
  func.func public @main(
      %weights.0: tensor<2xf32> {tf.aliasing_output = 1 : i32,
                                 mhlo.sharding = "{replicated}"},
      %rate: tensor<f32>)
      -> (tensor<f32> {jax.result_info = "loss"},
          tensor<2xf32> {mhlo.sharding = "{replicated}"}) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>  // +0
    %0 = stablehlo.multiply %weights.0, %weights.0 : tensor<2xf32>
    %1 = "stablehlo.reduce"(%0, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %rate, dims = []
        : (tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.multiply %2, %weights.0 : tensor<2xf32>
    %4 = stablehlo.subtract %weights.0, %3 {mhlo.sharding = "{replicated}"}
        : tensor<2xf32>
    return %1, %4 : tensor<f32>, tensor<2xf32>
  }
}
)";

TEST(Module, ShowsItsEntry) {
  const Module module = Module::parse(step);
  ASSERT_EQ(module.arguments().size(), 2u);
  EXPECT_EQ(module.arguments()[0].name, "weights.0");
  EXPECT_EQ(module.arguments()[0].type, (Type{f32, {2}}));
  EXPECT_EQ(module.arguments()[0].aliases_result, 1u);
  EXPECT_EQ(module.arguments()[0].sharding, "{replicated}");
  EXPECT_EQ(module.arguments()[1].aliases_result, std::nullopt);
  ASSERT_EQ(module.results().size(), 2u);
  EXPECT_EQ(module.results()[0].info, "loss");
  EXPECT_EQ(module.results()[1].sharding, "{replicated}");
  EXPECT_EQ(module.operation_count(), 7u);
  EXPECT_EQ(module.operation_count("stablehlo.multiply"), 2u);
  EXPECT_EQ(module.operation_count("stablehlo.add"), 1u);
}

TEST(Module, ShowsHowItIsSplitOverDevices) {
  const Module module = Module::parse(R"(
module @split attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @devices = <["device"=2]>
  func.func public @main(
      %x: tensor<4x2xf32> {
          sdy.sharding = #sdy.sharding<@devices, [{"device"}, {}]>},
      %y: tensor<f32> {sdy.sharding = #sdy.sharding<@devices, []>})
      -> (tensor<4x2xf32> {
              sdy.sharding = #sdy.sharding<@devices, [{}, {}]>}) {
    return %x : tensor<4x2xf32>
  }
}
)");
  EXPECT_EQ(module.arguments()[0].sharding, "[{device}, {}]");
  EXPECT_EQ(module.arguments()[1].sharding, "[]");
  EXPECT_EQ(module.results()[0].sharding, "[{}, {}]");
}

TEST(Module, RunsAsOftenAsAsked) {
  const Module module = Module::parse(step);
  for (int i = 0; i < 2; ++i) {
    const auto results = module.run(tensors("f32[2]{3 4} f32[]{0.5}"));
    ASSERT_EQ(results.size(), 2u);
    EXPECT_THAT(results[0], HasBitsOf(tensors("f32[]{25}")[0]));
    EXPECT_THAT(results[1], HasBitsOf(tensors("f32[2]{1.5 2}")[0]));
  }
}

TEST(Module, TakesViews) {
  const Tensor reversed = tensors("f32[2]{4 3}")[0].reversed(0);
  const auto results =
      Module::parse(step).run(std::vector{reversed, Tensor::scalar(1.0f)});
  EXPECT_THAT(results[1], HasBitsOf(tensors("f32[2]{0 0}")[0]));
}

std::string error_of_run(std::string_view text, std::string_view arguments) {
  try {
    Module::parse(text).run(tensors(arguments));
  } catch (const ModuleError& error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST(Module, RefusesArgumentsThatDoNotFit) {
  EXPECT_EQ(error_of_run(step, "f32[2]{3 4}"), "1 arguments for 2");
  EXPECT_EQ(error_of_run(step, "f32[2]{3 4} f64[]{1}"),
            "argument 1, %rate, is f64[], declared f32[]");
}

// 1 + 2^-8 is halfway between two numbers of bf16.
TEST(Module, RoundsTheShortFloatsAtEachOperation) {
  constexpr const char* text =
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xbf16> {\n"
      "  %0 = stablehlo.constant dense<[1.0, 0x3F81]> : tensor<2xbf16>\n"
      "  %1 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xbf16>\n"
      "  %2 = stablehlo.add %0, %1 : tensor<2xbf16>\n"
      "  return %2 : tensor<2xbf16>\n}";
  const auto results =
      Module::parse(text).run(tensors("f32[2]{0x1p-8 0x1p-8}"));
  EXPECT_EQ(topos::test::text(results.at(0)), "bf16[2]{1 0x1.04p+0}");
}

// Names, types and calls must not cost more the more there are of them.
TEST(Module, OfManyOperationsIsReadAtOnce) {
  constexpr int count = 10'000;
  std::string text = "func.func @main(%v0: tensor<f32>) -> tensor<f32> {\n";
  for (int i = 1; i <= count; ++i) {
    text += "%v" + std::to_string(i) + " = stablehlo.add %v" +
            std::to_string(i - 1) + ", %v0 : tensor<f32>\n";
  }
  text += "return %v" + std::to_string(count) + " : tensor<f32>\n}\n";
  const auto start = std::chrono::steady_clock::now();
  const Module module = Module::parse(text);
  const auto results = module.run(tensors("f32[]{1}"));
  const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  EXPECT_EQ(module.operation_count(), static_cast<std::size_t>(count));
  EXPECT_EQ(results[0].item(), count + 1);
  // Some 20 ms; quadratic work would take many seconds.
  EXPECT_LT(passed.count(), 5.0);
}

TEST(Module, EntryIsMainOrTheOnlyPublicFunction) {
  const std::string f =
      "func.func @f() -> tensor<i32> {\n"
      "%0 = stablehlo.iota dim = 0 : tensor<1xi32>\n"
      "%1 = stablehlo.reshape %0 : (tensor<1xi32>) -> "
      "tensor<i32>\nreturn %1 : tensor<i32>\n}\n";
  EXPECT_EQ(Module::parse(f).results().size(), 1u);
  EXPECT_EQ(
      Module::parse(f + "func.func @main() {\nreturn\n}").results().size(), 0u);
  EXPECT_EQ(error_of(f + "func.func @g() {\nreturn\n}"),
            "8:2: no @main, and 2 other public functions");
  EXPECT_EQ(error_of(""), "1:1: no @main, and 0 other public functions");
  EXPECT_EQ(error_of("module {\n}"),
            "2:2: no @main, and 0 other public functions");
}

}  // namespace
}  // namespace topos::stablehlo_text
