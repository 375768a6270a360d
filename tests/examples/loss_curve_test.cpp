#include "examples/loss_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace examples {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(WindowMeans, TheLastWindowIsWhatIsLeft) {
  const std::vector<float> losses = {1, 2, 3, 4, 10};
  EXPECT_EQ(window_means(losses, 2), (std::vector<double>{1.5, 3.5, 10}));
  EXPECT_EQ(window_means(losses, 5), (std::vector<double>{4}));
  EXPECT_TRUE(window_means({}, 5).empty());
}

TEST(LossCurve, HasATitleAxesAndBothCurves) {
  std::vector<float> losses;
  for (int i = 0; i < 5000; ++i) {
    losses.push_back(2.0f + std::exp(-static_cast<float>(i) / 700));
  }
  const std::string svg = LossCurve("A < B & C", "below", losses, 500).svg();
  EXPECT_THAT(svg, HasSubstr(">A &lt; B &amp; C</text>"));
  EXPECT_THAT(svg, HasSubstr(">below</text>"));
  EXPECT_THAT(svg, HasSubstr(">training step</text>"));
  EXPECT_THAT(svg, HasSubstr(">loss (nats a character)</text>"));
  EXPECT_THAT(svg, HasSubstr(">5000</text>"));
  EXPECT_THAT(svg, HasSubstr(">2.0</text>"));
  EXPECT_THAT(svg, HasSubstr(">3.0</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>steps 4500 to 4999: 2.00"));
  EXPECT_LT(svg.size(), 40'000u);
}

// As far as one can tell without a parser: all tags close.
void expect_balanced(const std::string& svg) {
  int depth = 0;
  for (std::size_t i = svg.find('<'); i != std::string::npos;
       i = svg.find('<', i + 1)) {
    const std::size_t end = svg.find('>', i);
    ASSERT_NE(end, std::string::npos);
    if (svg[i + 1] == '/') {
      --depth;
    } else if (svg[end - 1] != '/') {
      ++depth;
    }
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
}

TEST(LossCurve, DrawsWhateverARunGives) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& losses :
       std::vector<std::vector<float>>{{},
                                       {2.5f},
                                       {2.5f, 2.5f},
                                       {nan},
                                       {3.0f, infinity, nan, 2.0f},
                                       {0.0f, 1e30f},
                                       std::vector<float>(100'000, 1e-9f)}) {
    const std::string svg = LossCurve("t", "s", losses, 500).svg();
    expect_balanced(svg);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_LT(svg.size(), 60'000u);
  }
}

}  // namespace
}  // namespace examples
