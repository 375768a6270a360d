#include "topos/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/message.h"
#include "topos/topos.h"

namespace topos {
namespace {

TEST(SplitMix, IsThePublishedSequence) {
  // From state 0, of the C code that goes with the paper.
  SplitMix random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(random.next(), 0x06C45D188009454Fu);
  EXPECT_EQ(random.next(), 0xF88BB8A8724C81ECu);
}

TEST(SplitMix, UnitIsTheTop53Bits) {
  SplitMix random(0);
  EXPECT_EQ(random.unit(), static_cast<double>(0xE220A8397B1DCDAFu >> 11) /
                               9007199254740992.0);
}

TEST(SplitMix, GoesOnFromItsState) {
  SplitMix random(7);
  random.next();
  SplitMix other(random.state());
  EXPECT_EQ(random.next(), other.next());
}

static_assert(SplitMix(0).next() == 0xE220A8397B1DCDAFu,
              "usable at compile time");

// Expected numbers: the formulas to fifty digits (mpmath) on the draws of the
// published sequence, rounded once.

TEST(Normal, HasItsFirstValues) {
  const Tensor x = normal({2, 2}, 1.0, 8);
  EXPECT_EQ(x.to_vector<float>(),
            (std::vector<float>{-0x1.0f0bd6p+0f, -0x1.7d3fecp+0f,
                                -0x1.06be7ap-2f, -0x1.8b9718p+0f}));
}

TEST(Normal, IsRoundedFromF64) {
  const Tensor exact = normal({2, 2}, 1.0, 8, f64);
  EXPECT_NEAR(exact.at<double>({0, 0}), -1.0587743180551334, 4e-16);
  EXPECT_NEAR(exact.at<double>({1, 1}), -1.5452743045094917, 4e-16);
  EXPECT_TRUE(bits_equal(cast(exact, f32), normal({2, 2}, 1.0, 8)));
}

TEST(Normal, HasItsMoments) {
  const Tensor x = normal({100, 1000}, 3.0, 1, f64);
  EXPECT_NEAR(mean(x).item(), 0.0, 0.03);
  EXPECT_NEAR(variance(x).item(), 9.0, 0.15);
}

TEST(Uniform, HasItsFirstValues) {
  const Tensor x = uniform({2}, 0.5, 7, f64);
  EXPECT_EQ(x.at<double>({0}), -0.11017025160872851);
  EXPECT_EQ(x.at<double>({1}), -0.4832117054718439);
}

TEST(Uniform, StaysBetweenItsBoundsAndFillsThem) {
  const Tensor x = uniform({100, 1000}, 2.0, 1);
  EXPECT_GE(reduce_min(x).item(), -2.0);
  EXPECT_LE(reduce_max(x).item(), 2.0);
  EXPECT_NEAR(reduce_min(x).item(), -2.0, 1e-3);
  EXPECT_NEAR(reduce_max(x).item(), 2.0, 1e-3);
  EXPECT_NEAR(mean(x).item(), 0.0, 0.02);
}

TEST(Xavier, OneGeneratorServesAllLayers) {
  SplitMix random(7);
  const Tensor hidden = xavier({30, 100}, random);
  const Tensor hidden_bias = xavier({100}, random);
  const Tensor output = xavier({100, 27}, random);
  EXPECT_EQ(hidden.at<float>({0, 0}), -0x1.83c854p-5f);
  EXPECT_EQ(hidden.at<float>({0, 1}), -0x1.a9353ap-3f);
  EXPECT_TRUE(bits_equal(hidden_bias, Tensor::zeros({f32, {100}})));
  EXPECT_EQ(output.at<float>({0, 0}), -0x1.666330p-5f) << "no draws for a bias";
  EXPECT_EQ(output.at<float>({0, 1}), -0x1.5480e6p-3f);
  const double bound = std::sqrt(6.0 / 130.0);
  EXPECT_LE(reduce_max(abs(hidden)).item(), bound);
  EXPECT_GT(reduce_max(abs(hidden)).item(), 0.99 * bound);
}

TEST(Kaiming, HasItsFirstValues) {
  SplitMix random(5);
  const Tensor x = kaiming({50, 1}, random);
  EXPECT_EQ(x.at<float>({0, 0}), 0x1.77c6dap-9f);
  EXPECT_EQ(x.at<float>({1, 0}), 0x1.e3d632p-4f);
  EXPECT_EQ(x.at<float>({2, 0}), -0x1.82bc6cp-4f);
}

TEST(Initializers, DrawInOrder) {
  SplitMix at_once(3);
  SplitMix in_parts(3);
  const Tensor both = normal({2, 5}, 1.0, at_once);
  const Tensor first = normal({5}, 1.0, in_parts);
  const Tensor second = normal({5}, 1.0, in_parts);
  EXPECT_TRUE(bits_equal(both.reshaped({10}), concat({first, second}, 0)));
  EXPECT_EQ(at_once.state(), in_parts.state());
}

TEST(Initializers, MayBeEmptyOrScalar) {
  SplitMix random(1);
  EXPECT_EQ(normal({0, 3}, 1.0, random).shape(), Shape({0, 3}));
  EXPECT_EQ(xavier({0, 0}, random).element_count(), 0);
  EXPECT_EQ(kaiming({0, 4}, random).element_count(), 0);
  EXPECT_EQ(random.state(), 1u) << "and then draw nothing";
  EXPECT_EQ(uniform({}, 1.0, random).rank(), 0);
}

TEST(Initializers, RefuseWhatTheyCannotFill) {
  SplitMix random(1);
  EXPECT_EQ(message_of<ShapeError>([&] {
              xavier({2, 3, 4}, random);
            }),
            "xavier: [2, 3, 4] is neither a weight [in, out] nor a bias [out]");
  EXPECT_EQ(message_of<ShapeError>([&] { kaiming({}, random); }),
            "kaiming: [] is neither a weight [in, out] nor a bias [out]");
  EXPECT_EQ(message_of<DTypeError>([&] { normal({2}, 1.0, random, i32); }),
            "normal: i32 is not a floating type");
  EXPECT_EQ(message_of<DTypeError>([&] { xavier({2}, random, boolean); }),
            "xavier: boolean is not a floating type");
  EXPECT_THROW(uniform({-1}, 1.0, random), ShapeError);
  EXPECT_EQ(random.state(), 1u) << "nothing was drawn";
}

}  // namespace
}  // namespace topos
