#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stablehlo/row.h"

/// \file
/// Whatever the text, there is a module or a ModuleError: nothing else.

namespace topos::stablehlo_text {
namespace {

// A word of everything that the parser knows.
constexpr const char* sample = R"(module @m attributes {mhlo.n = 1 : i32} {
  func.func public @main(%a: tensor<2x3xf32> {tf.aliasing_output = 0 : i32},
      %b: tensor<2xi32>) -> (tensor<2x3xf32> {jax.result_info = "x"}) {
    %c = stablehlo.constant dense<[[1.0, -2.5e-1, 0x7FC00000],
                                   [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
    %h = stablehlo.constant dense<"0x0000803F"> : tensor<f32>
    %d = stablehlo.compare LT, %a, %c, FLOAT
        : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %e = stablehlo.select %d, %a, %c : tensor<2x3xi1>, tensor<2x3xf32>
    %f = stablehlo.slice %e [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
    %g = stablehlo.dot_general %f, %e, contracting_dims = [1] x [0],
        precision = [HIGHEST, HIGHEST]
        : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %p = stablehlo.pad %g, %h, low = [1, -1], high = [0, 0], interior = [0, 1]
        : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x4xf32>
    %i = stablehlo.reshape %b : (tensor<2xi32>) -> tensor<2x1xi32>
    %r = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<
        offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
        index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}>
        : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
    %s = "stablehlo.scatter"(%r, %i, %e) <{scatter_dimension_numbers =
        #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %z = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %t = stablehlo.reduce_precision %s, format = e8m7 : tensor<2x3xf32>
    %u:2 = call @f(%t) : (tensor<2x3xf32>)
        -> (tensor<2x3xf32>, tensor<2x3xf32>)
    %v = stablehlo.composite "t.f" %u#1 {decomposition = @g}
        : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %v : tensor<2x3xf32>
  }
  func.func private @f(%a: tensor<2x3xf32>)
      -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %0 = call @g(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0, %a : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.func private @g(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.transpose %a, dims = [0, 1]
        : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
)";

// Parses; runs what is still a module of the same arguments.
bool survives(const std::string& text) {
  try {
    const Module module = Module::parse(text);
    module.run(test::tensors("f32[2, 3]{1 2 3 4 5 6} i32[2]{0 7}"));
    return true;
  } catch (const ModuleError&) {
    return false;
  }
}

TEST(Garbled, TheSampleIsAModule) {
  ASSERT_NO_THROW(Module::parse(sample));
  EXPECT_TRUE(survives(sample));
}

TEST(Garbled, NoTextThatEndsEarlyIsAModule) {
  const std::string text = sample;
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 1; length <= end; ++length) {
    EXPECT_FALSE(survives(text.substr(0, length))) << length;
  }
}

TEST(Garbled, EveryByteMayBeAnother) {
  constexpr char others[] = {'\0', '\n', '"', '%', '9', '<', '}', '\xff'};
  const std::string text = sample;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    for (const char other : others) {
      changed[at] = other;
      survives(changed);
    }
    changed.erase(at, 1);
    survives(changed);
  }
}

TEST(Garbled, PiecesMayStandAnywhere) {
  const std::string text = sample;
  std::mt19937 random(11);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int i = 0; i < 5000; ++i) {
    std::string changed = text;
    for (std::size_t n = 1 + below(3); n > 0; --n) {
      const std::size_t length = 1 + below(40);
      const std::string piece = text.substr(below(text.size()), length);
      changed.replace(below(changed.size()), below(40), piece);
    }
    survives(changed);
  }
}

// Every operation with the operands and attributes of every other.
TEST(Garbled, NamesOfOperationsMayBeOthers) {
  const std::string text = sample;
  const auto names = [&] {
    std::vector<std::pair<std::size_t, std::string>> result;
    for (std::size_t at = text.find("stablehlo."); at != text.npos;
         at = text.find("stablehlo.", at + 1)) {
      const std::size_t end = text.find_first_of("\" <(", at);
      result.emplace_back(at, text.substr(at, end - at));
    }
    return result;
  }();
  for (const auto& [at, name] : names) {
    for (const auto& [elsewhere, other] : names) {
      if (other == name) continue;
      std::string changed = text;
      EXPECT_FALSE(survives(changed.replace(at, name.size(), other)))
          << other << " for " << name;
    }
  }
}

// Depth is bounded by the parser, not by the stack.
TEST(Garbled, WhatNestsForEverIsRefused) {
  constexpr int depth = 100'000;
  const auto repeated = [](std::string_view part) {
    std::string result;
    for (int i = 0; i < depth; ++i) result += part;
    return result;
  };
  const std::string begin = "func.func @main() {\n";
  EXPECT_EQ(test::error_of("module attributes {a = " + repeated("[")),
            "1:56: attributes nest too deep");
  EXPECT_EQ(test::error_of("module attributes {a = " + repeated("{a = ")),
            "1:184: attributes nest too deep");
  EXPECT_EQ(
      test::error_of(begin + "%0 = stablehlo.constant dense<" + repeated("[")),
      "2:39: brackets nest too deep");
  EXPECT_EQ(test::error_of(begin + repeated("\"stablehlo.all_reduce\"() ({ ")),
            "2:449: regions nest too deep");
}

}  // namespace
}  // namespace topos::stablehlo_text
