#include "kernels/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "kernels/every_target.h"
#include "ops/sum_reference.h"

namespace topos::kernels {
namespace {

using test::expect_same_bits;
using test::on_every_target;
using test::random_values;
using test::Values;

constexpr std::size_t extents[] = {0,  1,   2,    15,   16,   17,   31,   33,
                                   64, 100, 4095, 4096, 4097, 8192, 10000};

template <class T>
class Sum : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Sum, Types);

TEST(SumReference, IsTheContractWrittenOut) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const std::size_t n : extents) {
    const auto x = random_values<double>(random, n, Values::ordinary);
    double total = 0;
    for (std::size_t block = 0; block < n; block += 4096) {
      double s[16] = {};
      for (std::size_t i = block; i < std::min(n, block + 4096); ++i) {
        s[(i - block) % 16] += x[i];
      }
      const double sum = (((s[0] + s[8]) + (s[4] + s[12])) +
                          ((s[2] + s[10]) + (s[6] + s[14]))) +
                         (((s[1] + s[9]) + (s[5] + s[13])) +
                          ((s[3] + s[11]) + (s[7] + s[15])));
      total = block == 0 ? sum : total + sum;
    }
    EXPECT_TRUE(test::same_bits(ops::sum_reference(x.data(), n), total)) << n;
  }
  const double minus[] = {-0.0};
  EXPECT_FALSE(std::signbit(ops::sum_reference(minus, 1)));
  EXPECT_FALSE(std::signbit(ops::sum_reference(minus, 0)));
}

TYPED_TEST(Sum, RowsHaveTheReferencesBits) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const Values kind : {Values::ordinary, Values::special, Values::wild}) {
    for (const std::size_t columns : extents) {
      SCOPED_TRACE(columns);
      const std::size_t rows = columns > 1000 ? 2 : 5;
      const std::size_t stride = columns + 3;
      const auto x = random_values<TypeParam>(random, rows * stride, kind);
      std::vector<double> expected;
      for (std::size_t r = 0; r < rows; ++r) {
        expected.push_back(ops::sum_reference(x.data() + r * stride, columns));
      }
      on_every_target([&] {
        std::vector<double> sums(rows);
        sum_rows(x.data(), static_cast<std::ptrdiff_t>(stride), rows, columns,
                 sums.data());
        expect_same_bits(sums, expected);
      });
    }
  }
}

TEST(SumOfProducts, RowsHaveTheBitsOfTheRoundedProducts) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const Values kind : {Values::ordinary, Values::special, Values::wild}) {
    for (const std::size_t columns : extents) {
      SCOPED_TRACE(columns);
      const std::size_t rows = columns > 1000 ? 2 : 5;
      const auto a = random_values<float>(random, rows * columns, kind);
      const auto b = random_values<float>(random, rows * columns, kind);
      std::vector<float> products;
      for (std::size_t i = 0; i < a.size(); ++i) {
        products.push_back(a[i] * b[i]);
      }
      std::vector<double> expected;
      for (std::size_t r = 0; r < rows; ++r) {
        expected.push_back(
            ops::sum_reference(products.data() + r * columns, columns));
      }
      on_every_target([&] {
        std::vector<double> sums(rows);
        sum_rows_of_products(a.data(), b.data(), rows, columns, sums.data());
        expect_same_bits(sums, expected);
      });
    }
  }
}

TYPED_TEST(Sum, ColumnsHaveTheReferencesBits) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const Values kind : {Values::ordinary, Values::wild}) {
    for (const std::size_t rows : extents) {
      for (const std::size_t columns :
           std::initializer_list<std::size_t>{1, 3, 8, 15, 31, 64, 67, 133}) {
        if (rows > 1000 && columns > 31) continue;
        SCOPED_TRACE(testing::Message() << rows << " x " << columns);
        const std::size_t stride = columns + 3;
        const auto x =
            random_values<TypeParam>(random, rows * stride + 1, kind);
        std::vector<double> expected;
        for (std::size_t c = 0; c < columns; ++c) {
          expected.push_back(ops::sum_reference(
              x.data() + c, rows, static_cast<std::ptrdiff_t>(stride)));
        }
        expected.push_back(77);
        on_every_target([&] {
          std::vector<double> sums(columns + 1, 77);
          sum_columns(x.data(), static_cast<std::ptrdiff_t>(stride), rows,
                      columns, sums.data());
          expect_same_bits(sums, expected);
        });
      }
    }
  }
}

}  // namespace
}  // namespace topos::kernels
