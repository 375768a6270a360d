// Lowerings that are formulas, where formulas go wrong: how many ulps erf is
// off, and what becomes of ties, NaN, infinities, zeros and divisions by zero.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "emit/modules.h"
#include "engine/builds.h"
#include "math/elementary.h"
#include "support/random.h"
#include "support/tensors.h"

namespace topos::test {
namespace {

/// The text of f, run on the operands.
using Formula = std::function<Value(const std::vector<Value>&)>;

Tensor emitted(const Formula& f, const std::vector<Tensor>& operands) {
  Tape tape;
  std::vector<Value> inputs;
  std::vector<Feed> feeds;
  for (const Tensor& x : operands) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(tape.input(name, x.dtype(), x.shape()));
    feeds.emplace_back(inputs.back(), x);
  }
  const Value y = f(inputs);
  const Network network = tape.seal();
  return run(network, Entry().result(y), feeds).at(0);
}

Tensor emitted(const Formula& f, std::string_view operands) {
  return emitted(f, tensors(operands));
}

/// The greatest distance to math::erf, by exponent; says where it is.
template <class T>
double greatest_error(const std::vector<T>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor y =
      emitted([](const auto& in) { return erf(in[0]); }, {Tensor(Shape{n}, x)});
  std::vector<T> expected;
  for (T each : x) expected.push_back(math::erf(each));
  const Tensor right(Shape{n}, expected);
  std::int64_t greatest = 0;
  std::int64_t where = 0;
  for (std::int64_t i = 0; i < n; i += 256) {
    const std::int64_t count = std::min<std::int64_t>(256, n - i);
    const std::int64_t ulps =
        ulps_between(y.narrowed(0, i, count), right.narrowed(0, i, count));
    if (ulps > greatest) {
      greatest = ulps;
      where = i;
    }
  }
  std::printf("erf: %ld ulp near %g\n", static_cast<long>(greatest),
              static_cast<double>(x[static_cast<std::size_t>(where)]));
  return static_cast<double>(greatest);
}

TEST(Erf, OfF32IsWithinUlpsAtAllExponents) {
  std::vector<float> x;
  Random random(20250904);
  // All exponents, and many more where erf is neither x nor 1.
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    const bool bends = exponent >= 115 && exponent <= 129;
    const int count = (bends ? 16384 : 256) / slowness;
    for (int i = 0; i < count; ++i) {
      const auto fraction = static_cast<std::uint32_t>(random.bits() >> 41);
      for (const std::uint32_t sign : {0u, 1u}) {
        x.push_back(
            std::bit_cast<float>(sign << 31 | exponent << 23 | fraction));
      }
    }
  }
  EXPECT_LE(greatest_error(x), 8);
}

TEST(Erf, OfF64IsWithinUlpsAtAllExponents) {
  std::vector<double> x;
  Random random(20250905);
  for (std::uint64_t exponent = 0; exponent < 2047; ++exponent) {
    const bool bends = exponent >= 1000 && exponent <= 1026;
    const int count = (bends ? 4096 : 16) / slowness;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t fraction = random.bits() >> 12;
      for (const std::uint64_t sign : {0u, 1u}) {
        x.push_back(
            std::bit_cast<double>(sign << 63 | exponent << 52 | fraction));
      }
    }
  }
  EXPECT_LE(greatest_error(x), 8);
}

TEST(Erf, KeepsZerosInfinitiesAndNaN) {
  for (const char* type : {"f32", "f64"}) {
    const std::string ends = std::string(type) + "[5]{0 -0 inf -inf nan}";
    EXPECT_THAT(emitted([](const auto& x) { return erf(x[0]); }, ends),
                HasBitsOf(tensor(std::string(type) + "[5]{0 -0 1 -1 nan}")));
  }
}

TEST(ArgMax, TakesTheFirstNaNElseTheLowest) {
  const auto best = [](const auto& x) { return argmax(x[0], 1); };
  EXPECT_THAT(emitted(best,
                      "f32[8, 3]{1 1 1  1 2 2  nan 9 nan  9 nan nan  -inf -inf "
                      "-inf  -0 0 -0  nan nan nan  inf nan inf}"),
              HasBitsOf(tensor("i32[8]{0 1 0 1 0 0 0 1}")));
  EXPECT_THAT(emitted(best,
                      "i64[2, 2]{-9223372036854775808 "
                      "-9223372036854775808 5 5}"),
              HasBitsOf(tensor("i32[2]{0 0}")));
}

TEST(Softmax, OfAMaskedRowIsZerosAndItsLogarithmMinusInfinity) {
  const char* rows = "f32[4, 2]{-inf -inf  -inf 3  nan 0  inf 0}";
  EXPECT_THAT(emitted([](const auto& x) { return softmax(x[0]); }, rows),
              HasBitsOf(tensor("f32[4, 2]{0 0  0 1  nan nan  nan nan}")));
  EXPECT_THAT(emitted([](const auto& x) { return log_softmax(x[0]); },
                      "f32[3, 2]{-inf -inf  -inf 3  nan 0}"),
              HasBitsOf(tensor("f32[3, 2]{-inf -inf  -inf 0  nan nan}")));
  EXPECT_THAT(emitted([](const auto& x) { return logsumexp(x[0], -1); },
                      "f64[3, 2]{-inf -inf  -inf 3  nan 0}"),
              HasBitsOf(tensor("f64[3]{-inf 3 nan}")));
}

TEST(Relu, OfMinusZeroIsZero) {
  EXPECT_THAT(emitted([](const auto& x) { return relu(x[0]); },
                      "f32[4]{-0 0 nan -inf}"),
              HasBitsOf(tensor("f32[4]{0 0 nan 0}")));
}

TEST(Div, OfIntegersByZeroIsMinusOne) {
  const auto quotient = [](const auto& x) { return x[0] / x[1]; };
  EXPECT_THAT(emitted(quotient, "i32[4]{7 0 -2147483648 -7} i32[4]{0 0 -1 2}"),
              HasBitsOf(tensor("i32[4]{-1 -1 -2147483648 -3}")));
  EXPECT_THAT(emitted(quotient, "i64[2]{-9223372036854775808 5} i64[2]{-1 0}"),
              HasBitsOf(tensor("i64[2]{-9223372036854775808 -1}")));
}

TEST(Cast, SaturatesTruncatesAndWraps) {
  const auto to = [](DType dtype) {
    return [dtype](const auto& x) { return cast(x[0], dtype); };
  };
  const char* floats = "{nan inf -inf 1.9 -1.9 3e9 -3e9 1e19 -1e19 -0 0.5}";
  for (const char* type : {"f32", "f64"}) {
    const std::string x = std::string(type) + "[11]" + floats;
    EXPECT_THAT(emitted(to(i32), x),
                HasBitsOf(tensor("i32[11]{0 2147483647 -2147483648 1 -1 "
                                 "2147483647 -2147483648 2147483647 "
                                 "-2147483648 0 0}")));
    EXPECT_THAT(
        emitted(to(i64), x),
        HasBitsOf(tensor("i64[11]{0 9223372036854775807 -9223372036854775808 "
                         "1 -1 3000000000 -3000000000 9223372036854775807 "
                         "-9223372036854775808 0 0}")));
    EXPECT_THAT(emitted(to(boolean), x),
                HasBitsOf(tensor("boolean[11]{1 1 1 1 1 1 1 1 1 0 1}")));
  }
  EXPECT_THAT(emitted(to(i32), "i64[2]{4294967297 -4294967298}"),
              HasBitsOf(tensor("i32[2]{1 -2}")));
  EXPECT_THAT(emitted(to(f32),
                      "f64[4]{0x1p128 0x1.fffffefp127 0x1p-150 "
                      "0x1.8p-149}"),
              HasBitsOf(tensor("f32[4]{inf 0x1.fffffep127 0 0x1p-148}")));
  EXPECT_THAT(emitted(to(f32), "i64[2]{16777217 9223372036854775807}"),
              HasBitsOf(tensor("f32[2]{16777216 0x1p63}")));
  EXPECT_THAT(emitted(to(boolean), "i64[2]{0 -9223372036854775808}"),
              HasBitsOf(tensor("boolean[2]{0 1}")));
}

TEST(MaskedProduct, IsZeroWhereAFactorIs) {
  // By the gradient of pow at base 0, which is where they are recorded.
  Tape tape;
  const Value x = tape.input("x", f32, {3});
  const Value n = tape.input("n", f32, {3});
  const Value by =
      tape.vjp(pow(x, n), {n}, tape.constant(Tensor::full({f32, {3}}, 1)))[0];
  const Network network = tape.seal();
  const std::vector<Feed> feeds = {{x, Tensor({3}, {0.0f, 0.0f, 1.0f})},
                                   {n, Tensor({3}, {2.0f, 0.5f, 9.0f})}};
  EXPECT_THAT(run(network, Entry().result(by), feeds)[0],
              HasBitsOf(tensor("f32[3]{0 0 0}")));
}

}  // namespace
}  // namespace topos::test
