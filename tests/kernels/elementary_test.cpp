#include "kernels/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/every_target.h"
#include "math/elementary.h"

namespace topos::kernels {
namespace {

using test::expect_same_bits;
using test::on_every_target;

struct Function {
  const char* name;
  void (*kernel)(const float*, float*, std::size_t);
  float (*scalar)(float);
};

constexpr Function functions[] = {
    {"exp", exp, math::exp},    {"expm1", expm1, math::expm1},
    {"ln", ln, math::ln},       {"log1p", log1p, math::log1p},
    {"tanh", tanh, math::tanh}, {"logistic", logistic, math::logistic},
    {"erf", erf, math::erf},    {"rsqrt", rsqrt, math::rsqrt},
    {"sin", sin, math::sin},    {"cos", cos, math::cos},
};

// Every exponent and sign with the mantissas at both ends and some between;
// every float next to a place where a kernel changes its mind.
std::vector<float> inputs() {
  std::mt19937 random(test::seed());
  std::vector<float> x;
  for (std::uint32_t high = 0; high < 512; ++high) {
    for (std::uint32_t i = 0; i < 60; ++i) {
      const std::uint32_t mantissa = i == 0   ? 0
                                     : i == 1 ? 1
                                     : i == 2 ? 0x7fffff
                                              : random() & 0x7fffff;
      x.push_back(std::bit_cast<float>(high << 23 | mantissa));
    }
  }
  for (const float at : {0.5f, 0.70710677f, 1.0f, 1.4142135f, 3.9192059f, 3.93f,
                         8.65f, 9.0109129f, 10.0f, 16.635532f, 17.32868f, 87.0f,
                         87.33655f, 88.72284f, 103.97208f, 104.0f, 0x1p20f}) {
    auto bits = std::bit_cast<std::uint32_t>(at) - 20;
    for (int i = 0; i < 41; ++i, ++bits) {
      x.push_back(std::bit_cast<float>(bits));
      x.push_back(-x.back());
    }
  }
  std::shuffle(x.begin(), x.end(), random);
  return x;
}

std::vector<float> values(const Function& f, const std::vector<float>& x) {
  std::vector<float> y;
  for (const float each : x) y.push_back(f.scalar(each));
  return y;
}

TEST(Elementary, HasTheScalarFunctionsBits) {
  TOPOS_SHOW_SEED();
  const std::vector<float> x = inputs();
  for (const Function& f : functions) {
    SCOPED_TRACE(f.name);
    const std::vector<float> expected = values(f, x);
    on_every_target([&] {
      std::vector<float> y(x.size());
      f.kernel(x.data(), y.data(), x.size());
      expect_same_bits(y, expected);
    });
  }
}

TEST(Elementary, OfAnySizeInPlaceAndUnaligned) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const Function& f : functions) {
    SCOPED_TRACE(f.name);
    for (std::size_t n = 0; n <= 67; ++n) {
      SCOPED_TRACE(n);
      const auto x =
          test::random_values<float>(random, n + 1, test::Values::wild);
      std::vector<float> expected = values(f, x);
      expected.front() = x.front();
      expected.push_back(77);
      on_every_target([&] {
        std::vector<float> y = x;
        y.push_back(77);
        f.kernel(y.data() + 1, y.data() + 1, n);
        expect_same_bits(y, expected);
      });
    }
  }
}

}  // namespace
}  // namespace topos::kernels
