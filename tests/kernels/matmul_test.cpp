#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <thread>
#include <vector>

#include "kernels/every_target.h"
#include "kernels/matrices.h"

namespace topos::kernels {
namespace {

using test::Buffer;
using test::expect_same_bits;
using test::Layout;
using test::matrix;
using test::Matrix;
using test::on_every_target;
using test::reference;
using test::Values;

// The product as the engine runs it, in one piece. c has two columns more than
// the product, which must keep what they hold.
template <class T>
std::vector<T> product(const Matrix<T>& a, const Matrix<T>& b,
                       MatmulShape shape) {
  Buffer<T> packed(packed_right_bytes<T>(shape.k, shape.n));
  Buffer<T> scratch(matmul_scratch_bytes);
  std::vector<T> c(shape.m * (shape.n + 2), T{-7});
  pack_right(packed.data(), b.data(), b.strides, shape.k, shape.n,
             all_panels<T>(shape.n));
  matmul_packed(a.data(), a.strides, packed.data(), c.data(),
                static_cast<std::ptrdiff_t>(shape.n + 2), shape, {0, shape.m},
                all_panels<T>(shape.n), scratch.data());
  packed.check();
  scratch.check();
  return c;
}

template <class T>
void check(MatmulShape shape, Layout left, Layout right, Values kind) {
  TOPOS_SHOW_SEED();
  SCOPED_TRACE(testing::Message()
               << shape.m << " x " << shape.k << " x " << shape.n
               << ", layouts " << static_cast<int>(left) << ' '
               << static_cast<int>(right) << ", values "
               << static_cast<int>(kind) << ", " << sizeof(T) << " bytes");
  std::mt19937 random(test::seed());
  const auto a = matrix<T>(random, shape.m, shape.k, left, kind);
  const auto b = matrix<T>(random, shape.k, shape.n, right, kind);
  const std::vector<T> expected = reference(a, b, shape);
  on_every_target([&] { expect_same_bits(product(a, b, shape), expected); });
}

template <class T>
class Matmul : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Matmul, Types);

TYPED_TEST(Matmul, ReferenceAddsWholeBlocks) {
  // 1 + 2^-30 repeated: a chain of 1024 that is not cut would lose other bits.
  const std::size_t k = 1025;
  std::vector<TypeParam> a(k, TypeParam(1) / 3);
  const TypeParam* x = a.data();
  const TypeParam first = ops::dot_reference(x, 1, x, 1, 512);
  const TypeParam second = ops::dot_reference(x, 1, x, 1, 512);
  const TypeParam third = ops::dot_reference(x, 1, x, 1, 1);
  EXPECT_EQ(ops::dot_reference(x, 1, x, 1, k), first + second + third);
  EXPECT_FALSE(std::signbit(ops::dot_reference(x, 1, x, 1, 0)));
  const TypeParam minus[] = {-TypeParam(0)};
  // From +0: even a single product of -0 becomes +0.
  EXPECT_FALSE(std::signbit(ops::dot_reference(minus, 1, x, 1, 1)));
}

TYPED_TEST(Matmul, EveryWidth) {
  for (std::size_t n = 0; n <= 140; ++n) {
    check<TypeParam>({3, n, 5}, Layout::rows, Layout::rows, Values::special);
  }
  check<TypeParam>({2, 300, 9}, Layout::rows, Layout::rows, Values::special);
}

TYPED_TEST(Matmul, EveryHeight) {
  for (std::size_t m = 0; m <= 40; ++m) {
    check<TypeParam>({m, 21, 6}, Layout::rows, Layout::rows, Values::special);
  }
}

TYPED_TEST(Matmul, BlocksOfTheInnerExtent) {
  for (const std::size_t k :
       std::initializer_list<std::size_t>{0, 1, 2, 511, 512, 513, 1024, 1025}) {
    check<TypeParam>({5, 37, k}, Layout::rows, Layout::rows, Values::ordinary);
    check<TypeParam>({1, 17, k}, Layout::rows, Layout::columns,
                     Values::ordinary);
    // Wide enough that the left operand is copied.
    check<TypeParam>({14, 70, k}, Layout::padded, Layout::rows,
                     Values::ordinary);
    check<TypeParam>({14, 70, k}, Layout::columns, Layout::rows,
                     Values::ordinary);
    check<TypeParam>({14, 70, k}, Layout::spread, Layout::rows,
                     Values::ordinary);
  }
}

TYPED_TEST(Matmul, EveryLayout) {
  const Layout layouts[] = {
      Layout::rows,     Layout::columns,  Layout::padded,     Layout::spread,
      Layout::reversed, Layout::same_row, Layout::same_column};
  for (const Layout left : layouts) {
    for (const Layout right : layouts) {
      check<TypeParam>({7, 45, 11}, left, right, Values::special);
      check<TypeParam>({13, 35, 33}, left, right, Values::wild);
    }
  }
}

TYPED_TEST(Matmul, WildValues) {
  for (const std::size_t k :
       std::initializer_list<std::size_t>{1, 3, 30, 600}) {
    check<TypeParam>({9, 40, k}, Layout::rows, Layout::rows, Values::wild);
    check<TypeParam>({9, 40, k}, Layout::rows, Layout::rows, Values::special);
  }
}

// Any cut of the rectangle into pieces, in any order, is the whole.
TYPED_TEST(Matmul, PiecesAreTheWhole) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  const MatmulShape shape{29, 150, 700};
  const auto a = matrix<TypeParam>(random, shape.m, shape.k, Layout::rows,
                                   Values::ordinary);
  const auto b = matrix<TypeParam>(random, shape.k, shape.n, Layout::columns,
                                   Values::ordinary);
  const auto expected = reference(a, b, shape);
  on_every_target([&] {
    const std::size_t panels = panel_count<TypeParam>(shape.n);
    Buffer<TypeParam> packed(packed_right_bytes<TypeParam>(shape.k, shape.n));
    for (std::size_t p = panels; p-- > 0;) {
      pack_right(packed.data(), b.data(), b.strides, shape.k, shape.n,
                 {p, p + 1});
    }
    packed.check();
    for (std::size_t workers = 1; workers <= 7; ++workers) {
      std::vector<TypeParam> c(shape.m * (shape.n + 2), TypeParam{-7});
      std::vector<std::thread> threads;
      for (std::size_t w = 0; w < workers; ++w) {
        threads.emplace_back([&, w] {
          Buffer<TypeParam> scratch(matmul_scratch_bytes);
          const Range rows{shape.m * w / workers, shape.m * (w + 1) / workers};
          for (std::size_t p = 0; p < panels; p += w + 1) {
            matmul_packed(a.data(), a.strides, packed.data(), c.data(),
                          static_cast<std::ptrdiff_t>(shape.n + 2), shape, rows,
                          {p, std::min(p + w + 1, panels)}, scratch.data());
          }
          scratch.check();
        });
      }
      for (std::thread& thread : threads) thread.join();
      expect_same_bits(c, expected);
    }
  });
}

TYPED_TEST(Matmul, EmptyRangesTouchNothing) {
  const TypeParam x[] = {1};
  TypeParam c[] = {5};
  matmul_packed(x, {1, 1}, x, c, 1, {1, 1, 1}, {0, 0}, {0, 1}, nullptr);
  matmul_packed(x, {1, 1}, x, c, 1, {1, 1, 1}, {0, 1}, {1, 1}, nullptr);
  EXPECT_EQ(c[0], 5);
}

// c + (1 + x)(1 - x) u, where u is half an ulp of c: a tie of f32 but for -x^2
// u, which falls on both sides of half an ulp of the double sum. This is what
// an emulated fused multiply-add gets wrong first.
TEST(MatmulF32, NearTiesOfOneMultiplyAdd) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (int round = 0; round < 200; ++round) {
    const MatmulShape shape{2, 32, 2};
    Matrix<float> a{std::vector<float>(4), 0, {2, 1}};
    Matrix<float> b{std::vector<float>(64), 0, {32, 1}};
    const float x = std::ldexp(static_cast<float>(random() % 1024), -23);
    a.storage = {1.0f, 1.0f + x, 1.0f, 1.0f};
    for (std::size_t j = 0; j < 32; ++j) {
      const int e = static_cast<int>(random() % 60) - 30;
      const float last_bits = static_cast<float>(random() % 4);
      b.storage[j] = std::ldexp(1.0f + std::ldexp(last_bits, -23), e);
      const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
      b.storage[32 + j] = sign * std::ldexp(1.0f - x, e - 24);
    }
    const auto expected = reference(a, b, shape);
    on_every_target([&] { expect_same_bits(product(a, b, shape), expected); });
  }
}

}  // namespace
}  // namespace topos::kernels
