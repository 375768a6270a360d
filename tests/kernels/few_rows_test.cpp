#include "kernels/few_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "kernels/every_target.h"
#include "kernels/matrices.h"

namespace topos::kernels {
namespace {

using test::Buffer;
using test::expect_same_bits;
using test::Layout;
using test::matrix;
using test::on_every_target;
using test::Values;

template <class T>
void check(MatmulShape shape, Layout left, Layout right, Values kind) {
  TOPOS_SHOW_SEED();
  SCOPED_TRACE(testing::Message()
               << shape.m << " x " << shape.k << " x " << shape.n
               << ", layouts " << static_cast<int>(left) << ' '
               << static_cast<int>(right) << ", " << sizeof(T) << " bytes");
  std::mt19937 random(test::seed());
  const auto a = matrix<T>(random, shape.m, shape.k, left, kind);
  const auto b = matrix<T>(random, shape.k, shape.n, right, kind);
  const std::vector<T> expected = test::reference(a, b, shape);
  on_every_target([&] {
    Buffer<T> scratch(matmul_scratch_bytes);
    std::vector<T> c(shape.m * (shape.n + 2), T{-7});
    multiply_few_rows(a.data(), a.strides, b.data(), b.strides, c.data(),
                      static_cast<std::ptrdiff_t>(shape.n + 2), shape,
                      scratch.data());
    scratch.check();
    expect_same_bits(c, expected);
  });
}

/// The same of a right operand of 16 bits, against its elements as f32; packed
/// and unpacked.
template <class S>
void check_narrow(MatmulShape shape, Layout layout, Values kind) {
  TOPOS_SHOW_SEED();
  SCOPED_TRACE(testing::Message()
               << shape.m << " x " << shape.k << " x " << shape.n << ", layout "
               << static_cast<int>(layout));
  std::mt19937 random(test::seed());
  const auto a = matrix<float>(random, shape.m, shape.k, Layout::rows, kind);
  auto wide = matrix<float>(random, shape.k, shape.n, layout, kind);
  std::vector<S> b;
  for (float& x : wide.storage) {
    b.push_back(static_cast<S>(x));
    x = b.back();
  }
  const S* const from = b.data() + wide.origin;
  const std::vector<float> expected = test::reference(a, wide, shape);
  on_every_target([&] {
    Buffer<float> scratch(matmul_scratch_bytes);
    Buffer<float> packed(packed_right_bytes<float>(shape.k, shape.n));
    const auto c_row = static_cast<std::ptrdiff_t>(shape.n + 2);
    std::vector<float> c(shape.m * (shape.n + 2), -7.0f);
    pack_right(packed.data(), from, wide.strides, shape.k, shape.n,
               all_panels<float>(shape.n));
    matmul_packed(a.data(), a.strides, packed.data(), c.data(), c_row, shape,
                  {0, shape.m}, all_panels<float>(shape.n), scratch.data());
    expect_same_bits(c, expected);
    if (shape.m <= streamed_rows &&
        (wide.strides.row == 1 || wide.strides.column == 1)) {
      std::fill(c.begin(), c.end(), -7.0f);
      multiply_few_rows(a.data(), a.strides, from, wide.strides, c.data(),
                        c_row, shape, scratch.data());
      expect_same_bits(c, expected);
    }
    packed.check();
    scratch.check();
  });
}

/// The same by matmul_in_place, which reads contiguous rows.
template <class T>
void check_in_place(MatmulShape shape, Layout left, Layout right, Values kind) {
  TOPOS_SHOW_SEED();
  SCOPED_TRACE(testing::Message()
               << shape.m << " x " << shape.k << " x " << shape.n
               << ", layouts " << static_cast<int>(left) << ' '
               << static_cast<int>(right) << ", " << sizeof(T) << " bytes");
  std::mt19937 random(test::seed());
  const auto a = matrix<T>(random, shape.m, shape.k, left, kind);
  const auto b = matrix<T>(random, shape.k, shape.n, right, kind);
  ASSERT_EQ(b.strides.column, 1);
  const std::vector<T> expected = test::reference(a, b, shape);
  on_every_target([&] {
    Buffer<T> scratch(matmul_scratch_bytes);
    std::vector<T> c(shape.m * (shape.n + 2), T{-7});
    matmul_in_place(a.data(), a.strides, b.data(), b.strides.row, c.data(),
                    static_cast<std::ptrdiff_t>(shape.n + 2), shape,
                    scratch.data());
    scratch.check();
    expect_same_bits(c, expected);
  });
}

template <class T>
class FewRows : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FewRows, Types);

TYPED_TEST(FewRows, EveryHeightAndWidth) {
  for (std::size_t m = 0; m <= few_rows; ++m) {
    for (const std::size_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 70}) {
      if (m <= streamed_rows) {
        check<TypeParam>({m, n, 13}, Layout::rows, Layout::rows,
                         Values::special);
      }
      check<TypeParam>({m, n, 13}, Layout::rows, Layout::columns,
                       Values::special);
    }
  }
}

TYPED_TEST(FewRows, BlocksOfTheInnerExtent) {
  for (const std::size_t k : {0, 1, 7, 8, 9, 31, 511, 512, 513, 1025}) {
    for (const std::size_t m : {1, 4}) {
      check<TypeParam>({m, 37, k}, Layout::rows, Layout::rows,
                       Values::ordinary);
    }
    for (const std::size_t m : {1, 5, 16}) {
      check<TypeParam>({m, 37, k}, Layout::rows, Layout::columns,
                       Values::ordinary);
    }
  }
}

TEST(NarrowWeights, AreWidened) {
  for (const Layout layout :
       {Layout::rows, Layout::columns, Layout::padded, Layout::spread,
        Layout::reversed, Layout::same_row, Layout::same_column}) {
    for (const std::size_t m : {1, 2, 4, 7}) {
      for (const std::size_t n : {1, 16, 17, 64, 70}) {
        for (const std::size_t k : {0, 1, 5, 8, 33, 70}) {
          check_narrow<BFloat16>({m, n, k}, layout, Values::special);
          check_narrow<Float16>({m, n, k}, layout, Values::special);
        }
      }
    }
    check_narrow<BFloat16>({3, 40, 1100}, layout, Values::ordinary);
    check_narrow<Float16>({4, 40, 1100}, layout, Values::wild);
  }
}

TYPED_TEST(FewRows, InPlaceOfEveryHeightAndWidth) {
  for (const std::size_t m : {0, 1, 2, 5, 6, 7, 8, 13, 16, 64, 95, 96}) {
    for (const std::size_t n : {0, 1, 16, 31, 32, 33, 63, 64, 65, 130, 192}) {
      check_in_place<TypeParam>({m, n, 9}, Layout::rows, Layout::rows,
                                Values::special);
    }
  }
}

TYPED_TEST(FewRows, InPlaceOfEveryLayoutAndBlock) {
  for (const Layout left :
       {Layout::rows, Layout::columns, Layout::padded, Layout::spread,
        Layout::reversed, Layout::same_row, Layout::same_column}) {
    for (const std::size_t k : {0, 1, 511, 512, 513, 1025}) {
      check_in_place<TypeParam>({13, 75, k}, left, Layout::padded,
                                Values::ordinary);
    }
    check_in_place<TypeParam>({7, 75, 11}, left, Layout::same_row,
                              Values::wild);
    check_in_place<TypeParam>({16, 139, 513}, left, Layout::padded,
                              Values::ordinary);
  }
}

TYPED_TEST(FewRows, MoreColumnsThanCachesHold) {
  check<TypeParam>({3, 4100, 9}, Layout::rows, Layout::rows, Values::ordinary);
  check<TypeParam>({4, 2049, 515}, Layout::rows, Layout::padded,
                   Values::ordinary);
}

TYPED_TEST(FewRows, EveryLayout) {
  for (const Layout left :
       {Layout::rows, Layout::columns, Layout::padded, Layout::spread,
        Layout::reversed, Layout::same_row, Layout::same_column}) {
    for (const Layout right : {Layout::rows, Layout::padded, Layout::same_row,
                               Layout::columns, Layout::same_column}) {
      const bool streams =
          right != Layout::columns && right != Layout::same_column;
      check<TypeParam>({streams ? 3u : 7u, 45, 11}, left, right,
                       Values::special);
      check<TypeParam>({streams ? 4u : 13u, 35, 33}, left, right, Values::wild);
    }
  }
}

}  // namespace
}  // namespace topos::kernels
