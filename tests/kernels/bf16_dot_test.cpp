#include "kernels/bf16_dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/matrices.h"

namespace topos::kernels {
namespace {

using test::Buffer;
using test::Layout;
using test::matrix;
using test::Values;

std::vector<BFloat16> narrowed(std::vector<float>& values) {
  std::vector<BFloat16> result;
  for (float& x : values) {
    result.push_back(static_cast<BFloat16>(x));
    x = result.back();
  }
  return result;
}

// Products of two bf16 are exact in f32: what differs from the exact sum is the
// rounding of k additions, in any order [Higham 2002, 3.1].
void check(MatmulShape shape, Layout left, Layout right) {
  TOPOS_SHOW_SEED();
  SCOPED_TRACE(testing::Message()
               << shape.m << " x " << shape.k << " x " << shape.n
               << ", layouts " << static_cast<int>(left) << ' '
               << static_cast<int>(right));
  std::mt19937 random(test::seed());
  auto a = matrix<float>(random, shape.m, shape.k, left, Values::ordinary);
  auto b = matrix<float>(random, shape.k, shape.n, right, Values::ordinary);
  const std::vector<BFloat16> narrow_a = narrowed(a.storage);
  const std::vector<BFloat16> narrow_b = narrowed(b.storage);
  Buffer<std::uint32_t> packed(
      packed_right_bytes<float>(pair_rows(shape.k), shape.n));
  Buffer<float> scratch(matmul_scratch_bytes);
  const std::size_t row = shape.n + 2;
  std::vector<float> c(shape.m * row, -7.0f);
  pack_pairs(packed.data(), narrow_b.data() + b.origin, b.strides, shape.k,
             shape.n, all_panels<float>(shape.n));
  matmul_pairs(narrow_a.data() + a.origin, a.strides, packed.data(), c.data(),
               static_cast<std::ptrdiff_t>(row), shape, {0, shape.m},
               all_panels<float>(shape.n), scratch.data());
  packed.check();
  scratch.check();
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      double exact = 0;
      double sizes = 0;
      for (std::size_t k = 0; k < shape.k; ++k) {
        const double term =
            double{
                a.data()[static_cast<std::ptrdiff_t>(i) * a.strides.row +
                         static_cast<std::ptrdiff_t>(k) * a.strides.column]} *
            double{b.data()[static_cast<std::ptrdiff_t>(k) * b.strides.row +
                            static_cast<std::ptrdiff_t>(j) * b.strides.column]};
        exact += term;
        sizes += std::abs(term);
      }
      const double bound = static_cast<double>(shape.k + 2) * 0x1p-24 * sizes;
      ASSERT_NEAR(c[i * row + j], exact, bound) << i << ", " << j;
    }
    ASSERT_EQ(c[i * row + shape.n], -7.0f);
    ASSERT_EQ(c[i * row + shape.n + 1], -7.0f);
  }
}

TEST(Bf16Dot, IsInsideItsBound) {
  if (!bf16_dot_pays()) {
    GTEST_SKIP() << "this CPU has no such instruction, or it does not pay";
  }
  for (const Layout left : {Layout::rows, Layout::columns, Layout::padded,
                            Layout::spread, Layout::reversed}) {
    for (const Layout right : {Layout::rows, Layout::columns, Layout::padded,
                               Layout::spread, Layout::reversed}) {
      check({13, 70, 33}, left, right);
    }
  }
  for (const std::size_t m : {1, 5, 6, 7, 193}) {
    for (const std::size_t n : {1, 15, 16, 17, 64, 65}) {
      for (const std::size_t k : {1, 2, 3, 511, 512, 513, 1025}) {
        check({m, n, k}, Layout::rows, Layout::rows);
      }
    }
  }
}

TEST(Bf16Dot, PairsOfAnOddExtentEndWithZero) {
  const BFloat16 b[] = {static_cast<BFloat16>(1.0f),
                        static_cast<BFloat16>(2.0f),
                        static_cast<BFloat16>(3.0f)};
  std::vector<std::uint32_t> packed(2 * panel_columns<float>, 9u);
  pack_pairs(packed.data(), b, {1, 1}, 3, 1, {0, 1});
  EXPECT_EQ(packed[0], 0x40003f80u);
  EXPECT_EQ(packed[1], 0u);
  EXPECT_EQ(packed[panel_columns<float>], 0x00004040u);
}

}  // namespace
}  // namespace topos::kernels
