// The training step of a transformer, as text: linear in its layers, without
// large constants.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "models/gpt.h"
#include "topos/emit.h"

namespace topos {
namespace {

StablehloModule training_step(int layers, bool composites = false) {
  models::GptOptions options;  // GPT-2's own, declared by type alone
  options.layers = layers;
  return emit_stablehlo(models::record_gpt(options).programs.at(1).plan,
                        {.composites = composites});
}

/// The size of a text whose numbers are all one digit: names such as %99 and
/// %100 differ in length, and that is not what a layer costs.
std::size_t size_without_digits(std::string_view text) {
  const auto is_digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  };
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    size += i == 0 || !is_digit(text[i]) || !is_digit(text[i - 1]);
  }
  return size;
}

TEST(GptEmission, IsLinearInTheLayers) {
  for (const bool composites : {false, true}) {
    SCOPED_TRACE(composites);
    const StablehloModule three = training_step(3, composites);
    const StablehloModule six = training_step(6, composites);
    const StablehloModule twelve = training_step(12, composites);
    const auto is_affine = [&](auto&& size_of) {
      const auto a = size_of(three);
      const auto b = size_of(six);
      const auto c = size_of(twelve);
      EXPECT_GT(b, a);
      EXPECT_EQ(c - b, 2 * (b - a));
    };
    is_affine([](const auto& module) { return module.operation_count; });
    is_affine([](const auto& module) { return module.arguments.size(); });
    is_affine([](const auto& module) { return module.results.size(); });
    is_affine(
        [](const auto& module) { return size_without_digits(module.text); });
    // The digits add a little.
    EXPECT_LT(twelve.text.size() - six.text.size(),
              (six.text.size() - three.text.size()) * 21 / 10);
  }
}

TEST(GptEmission, WritesNoLargeConstant) {
  const StablehloModule module = training_step(12);
  EXPECT_LT(module.text.size(), 1'000'000u);
  std::string_view rest = module.text;
  std::size_t longest = 0;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    longest = std::max(longest, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  EXPECT_LT(longest, 65'536u);
  // Nor is one left to be an argument: masks are made of iotas.
  for (const EmittedArgument& argument : module.arguments) {
    EXPECT_NE(argument.kind, EmittedArgument::Kind::constant) << argument.name;
  }
}

TEST(GptEmission, DonatesEveryParameter) {
  const StablehloModule module = training_step(12);
  std::size_t parameters = 0;
  for (const EmittedArgument& argument : module.arguments) {
    if (argument.kind != EmittedArgument::Kind::parameter) continue;
    ++parameters;
    ASSERT_TRUE(argument.donated_to) << argument.name;
    EXPECT_EQ(module.results.at(*argument.donated_to).name, argument.name);
  }
  EXPECT_EQ(parameters, 4u + 12 * 12);
}

}  // namespace
}  // namespace topos
