// Row formulas against the formulas written out.

#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/every_target.h"
#include "math/elementary.h"
#include "ops/sum_reference.h"

namespace topos::kernels {
namespace {

using test::expect_same_bits;
using test::on_every_target;
using test::random_values;
using test::Values;

constexpr std::size_t extents[] = {1,   2,    3,    4,    5,   7,  8,
                                   9,   15,   16,   17,   31,  33, 64,
                                   100, 4095, 4096, 4097, 9000};

/// maximum or minimum of IEEE 754-2019, one step.
template <class T>
T extreme_of(T a, T b, bool greatest) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
    if (a == b) return std::signbit(a) == greatest ? b : a;
  }
  return (a > b) == greatest ? a : b;
}

template <class T>
T extreme_of(const std::vector<T>& x, bool greatest) {
  T best = x[0];
  for (const T v : x) best = extreme_of(best, v, greatest);
  return best;
}

template <class T>
struct Shifted {
  explicit Shifted(const std::vector<T>& x) : shift(extreme_of(x, true)) {
    if (shift == -std::numeric_limits<T>::infinity()) shift = 0;
    std::vector<T> y;
    for (const T v : x) y.push_back(math::exp(v - shift));
    sum = static_cast<T>(ops::sum_reference(y.data(), y.size()));
  }
  T shift;
  T sum = 0;
};

/// A formula for one row, which gives a row or an element.
template <class T>
using Formula = std::function<std::vector<T>(const std::vector<T>&)>;
template <class T, class R = T>
using Kernel = void (*)(const T*, R*, std::size_t, std::size_t);

template <class T>
std::vector<T> softmax(const std::vector<T>& x) {
  const Shifted<T> s(x);
  const T r = s.sum == 0 ? T(0) : 1 / s.sum;
  std::vector<T> y;
  for (const T v : x) y.push_back(math::exp(v - s.shift) * r);
  return y;
}

template <class T>
std::vector<T> log_softmax(const std::vector<T>& x) {
  const Shifted<T> s(x);
  std::vector<T> y;
  for (const T v : x) {
    y.push_back(s.sum == 0 ? -std::numeric_limits<T>::infinity()
                           : (v - s.shift) - math::ln(s.sum));
  }
  return y;
}

template <class T>
std::vector<T> logsumexp(const std::vector<T>& x) {
  const Shifted<T> s(x);
  return {s.sum == 0 ? -std::numeric_limits<T>::infinity()
                     : s.shift + math::ln(s.sum)};
}

template <class T>
std::vector<T> center(const std::vector<T>& x) {
  const double mean =
      ops::sum_reference(x.data(), x.size()) / static_cast<double>(x.size());
  std::vector<T> y;
  for (const T v : x) {
    y.push_back(static_cast<T>(static_cast<double>(v) - mean));
  }
  return y;
}

template <class T>
std::vector<T> sum(const std::vector<T>& x) {
  return {static_cast<T>(ops::sum_reference(x.data(), x.size()))};
}

template <class T>
std::vector<T> mean(const std::vector<T>& x) {
  return {static_cast<T>(ops::sum_reference(x.data(), x.size()) /
                         static_cast<double>(x.size()))};
}

template <class T>
std::vector<T> greatest(const std::vector<T>& x) {
  return {extreme_of(x, true)};
}

template <class T>
std::vector<T> least(const std::vector<T>& x) {
  return {extreme_of(x, false)};
}

/// Rows that formulas stumble over: all -inf, zeros of either sign, +inf, NaN.
template <class T>
void add_hard_rows(std::vector<T>& x, std::size_t columns) {
  const T infinity = std::numeric_limits<T>::infinity();
  const T fill[] = {-infinity, T(-0.0), infinity,
                    std::numeric_limits<T>::quiet_NaN(),
                    std::numeric_limits<T>::max()};
  for (const T value : fill) x.insert(x.end(), columns, value);
  // One element unlike the others, at the end of a row.
  x.insert(x.end(), columns, -infinity);
  x.back() = 3;
  x.insert(x.end(), columns, T(-0.0));
  x.back() = 0;
  x.insert(x.end(), columns, T(0.0));
  x.back() = T(-0.0);
  x.insert(x.end(), columns, T(1));
  x.back() = std::numeric_limits<T>::quiet_NaN();
}

template <class T>
void check(Kernel<T> kernel, const Formula<T>& formula) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const Values kind : {Values::ordinary, Values::special, Values::wild}) {
    for (const std::size_t columns : extents) {
      SCOPED_TRACE(columns);
      std::vector<T> x = random_values<T>(random,
                                          (columns > 1000 ? 2
                                           : columns < 8  ? 600
                                                          : 9) *
                                              columns,
                                          kind);
      if (kind == Values::wild) add_hard_rows(x, columns);
      const std::size_t rows = x.size() / columns;
      std::vector<T> expected;
      for (std::size_t r = 0; r < rows; ++r) {
        const auto* const row = x.data() + r * columns;
        const auto y = formula(std::vector<T>(row, row + columns));
        expected.insert(expected.end(), y.begin(), y.end());
      }
      expected.push_back(77);
      on_every_target([&] {
        std::vector<T> y(expected.size(), 77);
        kernel(x.data(), y.data(), rows, columns);
        expect_same_bits(y, expected);
        if (y.size() == x.size() + 1) {
          y = x;
          y.push_back(77);
          kernel(y.data(), y.data(), rows, columns);
          expect_same_bits(y, expected);
        }
      });
    }
  }
}

template <class T>
class Rows : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Rows, Types);

TYPED_TEST(Rows, SoftmaxIsItsFormula) {
  check<TypeParam>(softmax_rows<TypeParam>, softmax<TypeParam>);
}
TYPED_TEST(Rows, LogSoftmaxIsItsFormula) {
  check<TypeParam>(log_softmax_rows<TypeParam>, log_softmax<TypeParam>);
}
TYPED_TEST(Rows, LogSumExpIsItsFormula) {
  check<TypeParam>(logsumexp_of_rows<TypeParam>, logsumexp<TypeParam>);
}
TYPED_TEST(Rows, CenterIsItsFormula) {
  check<TypeParam>(center_rows<TypeParam>, center<TypeParam>);
}
TYPED_TEST(Rows, SumIsItsFormula) {
  check<TypeParam>(sum_of_rows<TypeParam>, sum<TypeParam>);
}
TYPED_TEST(Rows, MeanIsItsFormula) {
  check<TypeParam>(mean_of_rows<TypeParam>, mean<TypeParam>);
}
TYPED_TEST(Rows, MaximumIsItsFormula) {
  check<TypeParam>(max_of_rows<TypeParam>, greatest<TypeParam>);
}
TYPED_TEST(Rows, MinimumIsItsFormula) {
  check<TypeParam>(min_of_rows<TypeParam>, least<TypeParam>);
}

/// The definition of argmax, an element at a time.
template <class T>
std::int32_t position_of_greatest(const T* x, std::size_t n) {
  T best = x[0];
  std::size_t where = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool first_nan = x[i] != x[i] && best == best;
    if (first_nan || x[i] > best) {
      best = x[i];
      where = i;
    }
  }
  return static_cast<std::int32_t>(where);
}

template <class T>
void check_argmax(const std::vector<T>& x, std::size_t columns) {
  const std::size_t rows = x.size() / columns;
  std::vector<std::int32_t> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    expected.push_back(position_of_greatest(x.data() + r * columns, columns));
  }
  on_every_target([&] {
    std::vector<std::int32_t> y(rows);
    argmax_of_rows(x.data(), y.data(), rows, columns);
    EXPECT_EQ(y, expected);
  });
}

TYPED_TEST(Rows, ArgmaxIsItsFormula) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const std::size_t columns : extents) {
    SCOPED_TRACE(columns);
    auto x = random_values<TypeParam>(random, 5 * columns, Values::wild);
    add_hard_rows(x, columns);
    check_argmax(x, columns);
  }
}

template <class T>
void check_integers() {
  TOPOS_SHOW_SEED();
  std::mt19937_64 random(test::seed());
  for (const std::size_t columns : extents) {
    SCOPED_TRACE(columns);
    constexpr std::size_t rows = 4;
    std::vector<T> x(rows * columns);
    for (T& v : x) v = static_cast<T>(random());
    // A row of few values, whose ties have a first.
    for (std::size_t i = 0; i < columns; ++i) x[i] = static_cast<T>(x[i] % 3);
    x[columns] = std::numeric_limits<T>::lowest();
    x[2 * columns] = std::numeric_limits<T>::max();
    check_argmax(x, columns);
    on_every_target([&] {
      std::vector<T> most(rows), fewest(rows);
      max_of_rows(x.data(), most.data(), rows, columns);
      min_of_rows(x.data(), fewest.data(), rows, columns);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto [low, high] = std::minmax_element(
            x.data() + r * columns, x.data() + (r + 1) * columns);
        EXPECT_EQ(fewest[r], *low);
        EXPECT_EQ(most[r], *high);
      }
    });
  }
}

TEST(IntegerRows, ExtremesAreThose) {
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
}

}  // namespace
}  // namespace topos::kernels
