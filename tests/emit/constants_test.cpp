// Constants come back with their bits, in few words where they follow a
// pattern, and as arguments where they are large.

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "emit/modules.h"
#include "support/random.h"
#include "support/tensors.h"

namespace topos::test {
namespace {

/// A module that returns the constant, as recorded.
StablehloModule module_of(const Tensor& constant) {
  Tape tape;
  const Value y = tape.constant(constant);
  const Network network = tape.seal();
  return emit_stablehlo(network.lower(Entry().result(y)));
}

Tensor value_of(const StablehloModule& module) {
  return stablehlo_text::Module::parse(module.text)
      .run(arguments_of(module, {}, {}))
      .at(0);
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() &&
         (a.element_count() == 0 ||
          std::memcmp(a.contiguous().data(), b.contiguous().data(),
                      a.type().size_bytes()) == 0);
}

TEST(Constants, KeepTheirBits) {
  const auto f32_of = [](std::uint32_t bits) {
    return std::bit_cast<float>(bits);
  };
  const auto f64_of = [](std::uint64_t bits) {
    return std::bit_cast<double>(bits);
  };
  std::vector<Tensor> constants = tensors(
      "f32[]{-0} f32[2]{-0 0} f32[3]{inf -inf 1} f32[]{inf} "
      "f32[6]{0x1p-149 0x1.fffffep127 0x1p-126 1e-5 1e16 123456789} "
      "f64[4]{0x1p-1074 0x1.fffffffffffffp1023 0.1 1e22} "
      "i32[3]{-2147483648 2147483647 0} "
      "i64[3]{-9223372036854775808 9223372036854775807 9007199254740993} "
      "i64[]{-9223372036854775808} i32[]{7} "
      "boolean[]{1} boolean[]{0} boolean[3]{1 0 1} boolean[2, 1]{1 1} "
      "f32[0]{} f64[2, 0]{} i32[0, 3]{} boolean[0]{} f32[2, 2]{1 2 3 4} "
      "f32[1, 1, 1]{5} i64[2, 3]{0 1 2 0 1 2} i32[2, 2]{0 0 1 1}");
  constants.push_back(Tensor(
      {3}, {f32_of(0x7FC12345), f32_of(0xFFC00001), f32_of(0x7FC00000)}));
  constants.push_back(Tensor::scalar(f32_of(0xFFC54321)));
  constants.push_back(Tensor({2}, {f32_of(0x7FA00001), f32_of(0x7FA00001)}));
  constants.push_back(Tensor::scalar(f64_of(0x7FF0000000000123)));
  constants.push_back(Tensor({2}, {f64_of(0xFFF8000000000123), 0.0}));
  // BC-39 with the two short types, among others.
  for (const std::uint16_t bits :
       {0x7FC0, 0x7F80, 0xFF80, 0x7E00, 0x7C00, 0xFC00, 0x0001, 0x8000}) {
    constants.push_back(Tensor::scalar(BFloat16::from_bits(bits)));
    constants.push_back(Tensor::scalar(Float16::from_bits(bits)));
    constants.push_back(
        Tensor({2}, {Float16::from_bits(bits), Float16::from_bits(0x2E66)}));
    constants.push_back(
        Tensor({2}, {BFloat16::from_bits(bits), BFloat16::from_bits(0x3DCD)}));
  }
  for (const Tensor& constant : constants) {
    SCOPED_TRACE(text(constant));
    const StablehloModule module = module_of(constant);
    EXPECT_TRUE(module.arguments.empty());
    EXPECT_TRUE(same_bytes(value_of(module), constant)) << module.text;
  }
}

TEST(Constants, KeepTheBitsOfAnyNumber) {
  Random random(20250901);
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int i = 0; i < 1000; ++i) {
    floats.push_back(
        std::bit_cast<float>(static_cast<std::uint32_t>(random.bits() >> 32)));
  }
  for (int i = 0; i < 500; ++i) {
    doubles.push_back(std::bit_cast<double>(random.bits()));
  }
  // Decimals that MLIR, which reads them as f64 first, rounds twice to another
  // f32 are rare: near the middle of two of them.
  for (int i = 0; i < 100; ++i) {
    floats[static_cast<std::size_t>(i)] =
        static_cast<float>(0x1.000001p-10 * random.unit());
  }
  for (const Tensor& constant :
       {Tensor({1000}, floats), Tensor({500}, doubles)}) {
    const StablehloModule module = module_of(constant);
    EXPECT_TRUE(module.arguments.empty());
    EXPECT_TRUE(same_bytes(value_of(module), constant));
  }
}

TEST(Constants, OfAPatternAreShort) {
  std::vector<Tensor> constants = {
      Tensor::full({f32, {1000, 1000}}, 1.5),
      Tensor::full({boolean, {100000}}, true),
      Tensor::full({f32, {5000}}, std::numeric_limits<double>::quiet_NaN()),
      broadcast(Tensor::scalar(std::int64_t{-3}), {30, 40, 50})};
  std::vector<std::int32_t> counting;
  for (int i = 0; i < 30000; ++i) counting.push_back(i);
  constants.emplace_back(Shape{30000}, counting);
  constants.push_back(broadcast(
      Tensor({300},
             std::vector<float>(counting.begin(), counting.begin() + 300)),
      {20, 300, 10}, {1}));
  for (const Tensor& constant : constants) {
    const StablehloModule module = module_of(constant);
    SCOPED_TRACE(module.text.substr(0, 400));
    EXPECT_TRUE(module.arguments.empty());
    EXPECT_LT(module.text.size(), 400u);
    EXPECT_TRUE(same_bytes(value_of(module), constant));
  }
}

TEST(Constants, AlmostOfAPatternAreWritten) {
  for (const Tensor& constant :
       tensors("f32[3]{0 1 3} f32[2]{-0 1} f32[2]{0 -0} i32[3]{1 2 3} "
               "boolean[2]{0 1} i64[2, 2]{0 1 1 0} f32[1]{1}")) {
    SCOPED_TRACE(text(constant));
    EXPECT_TRUE(same_bytes(value_of(module_of(constant)), constant));
  }
}

TEST(Constants, BeyondFourKibibytesAreArguments) {
  Random random(20250902);
  const Tensor small = cast(random.tensor({1024}, -1, 1), f32);
  const Tensor large = cast(random.tensor({1025}, -1, 1), f32);
  EXPECT_TRUE(module_of(small).arguments.empty());
  const StablehloModule module = module_of(large);
  ASSERT_EQ(module.arguments.size(), 1u);
  const EmittedArgument& argument = module.arguments[0];
  EXPECT_EQ(argument.kind, EmittedArgument::Kind::constant);
  EXPECT_TRUE(same_bytes(argument.payload.value(), large));
  EXPECT_LT(module.text.size(), 300u);
  EXPECT_TRUE(same_bytes(value_of(module), large));
}

// The most that 4 KiB can take: booleans, and bits of f64 in hexadecimal.
TEST(Constants, StayBelow64KilobytesOfText) {
  Random random(20250903);
  const Tensor booleans = less(random.tensor({4096}, 0, 1), 0.5);
  const Tensor doubles = random.tensor({512, 1, 1, 1, 1, 1, 1, 1}, -1e-300, 1);
  for (const Tensor& constant : {booleans, doubles}) {
    const StablehloModule module = module_of(constant);
    EXPECT_TRUE(module.arguments.empty());
    EXPECT_LT(module.text.size(), 65536u);
    EXPECT_TRUE(same_bytes(value_of(module), constant));
  }
}

TEST(Constants, WithinCompositesAreTheirOwn) {
  Tape tape;
  const Value x = tape.input("x", f32, {3});
  const Value first = gelu(x);
  const Value again = gelu(x * 0.5f) + 0.5f * first;
  const Network network = tape.seal();
  const Tensor fed({3}, {-1.0f, 0.25f, 4.0f});
  Tally tally;
  const Plan plan = network.lower(Entry().result(again));
  EXPECT_EQ(difference(network, plan, std::vector<Feed>{{x, fed}},
                       {.composites = true}, "gelu", tally),
            "");
}

}  // namespace
}  // namespace topos::test
