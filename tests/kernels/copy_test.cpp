// Copies between layouts, element by element against their meaning.

#include "kernels/copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "kernels/every_target.h"

namespace topos::kernels {
namespace {

using test::on_every_target;

/// The elements' span in a layout: how far the last one lies from the first.
std::int64_t end_of(const Layout& layout) {
  std::int64_t end = layout.offset + 1;
  for (int i = 0; i < layout.shape.rank(); ++i) {
    if (layout.strides[i] > 0) {
      end += (layout.shape[i] - 1) * layout.strides[i];
    }
  }
  return end;
}

template <class T>
void expect_copied(const Layout& from, const Layout& to) {
  if (from.shape.element_count() == 0) return;
  std::vector<T> source(static_cast<std::size_t>(end_of(from)));
  std::iota(source.begin(), source.end(), T(1));
  std::vector<T> expected(static_cast<std::size_t>(end_of(to)) + 8, T(77));
  for (std::int64_t i = 0; i < from.shape.element_count(); ++i) {
    expected[static_cast<std::size_t>(position_of(to, i))] =
        source[static_cast<std::size_t>(position_of(from, i))];
  }
  const StridedCopy copy(from, to, sizeof(T));
  on_every_target([&] {
    for (const int parts : {1, 3}) {
      std::vector<T> out(expected.size(), T(77));
      for (int part = 0; part < parts; ++part) {
        copy.run(reinterpret_cast<const std::byte*>(source.data()),
                 reinterpret_cast<std::byte*>(out.data()), part, parts);
      }
      ASSERT_EQ(out, expected) << from.shape.text() << " in " << parts;
    }
  });
}

void expect_copied(const Layout& from, const Layout& to) {
  expect_copied<std::uint8_t>(from, to);
  expect_copied<std::uint16_t>(from, to);
  expect_copied<std::uint32_t>(from, to);
  expect_copied<std::uint64_t>(from, to);
}

void expect_copied(const Layout& from) {
  expect_copied(from, Layout::row_major(from.shape));
}

TEST(StridedCopy, TransposesAnySize) {
  for (const std::int64_t rows : {1, 2, 3, 4, 7, 8, 15, 16, 17, 33, 64, 130}) {
    for (const std::int64_t columns : {1, 2, 4, 5, 8, 16, 19, 31, 65, 129}) {
      expect_copied(Layout::row_major({rows, columns}).permuted({1, 0}));
    }
  }
}

TEST(StridedCopy, FillsPastTheCaches) {
  const std::int64_t many = (std::int64_t{8} << 20) / 4 + 5;
  const Layout one = Layout::row_major({}).broadcasted({many}, {});
  const Layout to = Layout::row_major({many + 9}).narrowed(0, 7, many);
  expect_copied<std::uint32_t>(one, to);
  expect_copied<std::uint64_t>(one, to);
}

TEST(StridedCopy, PermutesAxes) {
  const Layout x = Layout::row_major({3, 8, 5, 16});
  for (const Axes& axes :
       {Axes{0, 2, 1, 3}, Axes{0, 2, 3, 1}, Axes{3, 2, 1, 0}, Axes{1, 0, 3, 2},
        Axes{2, 3, 0, 1}, Axes{0, 1, 3, 2}}) {
    expect_copied(x.permuted(axes));
  }
}

TEST(StridedCopy, TakesSlicesRepetitionsAndReversals) {
  const Layout x = Layout::row_major({6, 9, 20});
  expect_copied(x);
  expect_copied(x.narrowed(1, 2, 3));
  expect_copied(x.narrowed(2, 5, 7));
  expect_copied(x.narrowed(2, 5, 7).permuted({2, 0, 1}));
  expect_copied(x.reversed({2}));
  expect_copied(x.reversed({0, 1}));
  expect_copied(
      Layout::row_major({6, 1, 20}).broadcasted({6, 9, 20}, {0, 1, 2}));
  expect_copied(Layout::row_major({6}).broadcasted({6, 9, 20}, {0}));
  expect_copied(Layout::row_major({20}).broadcasted({6, 20}, {1}));
  expect_copied(Layout::row_major({}).broadcasted({5, 7}, {}));
  expect_copied(Layout::row_major({}));
  expect_copied(Layout::row_major({1, 1}));
}

TEST(StridedCopy, WritesIntoALargerTensor) {
  const Layout whole = Layout::row_major({6, 9, 20});
  const Layout part = Layout::row_major({2, 3, 18});
  const Layout to =
      whole.narrowed(0, 3, 2).narrowed(1, 1, 3).narrowed(2, 2, 18);
  expect_copied(part, to);
  expect_copied(Layout::row_major({}).broadcasted(part.shape, {}), to);
  expect_copied(Layout::row_major({18, 3, 2}).permuted({2, 1, 0}), to);
  // Back from rows that were brought together.
  expect_copied(Layout::row_major({6, 20, 9}), whole.permuted({0, 2, 1}));
}

}  // namespace
}  // namespace topos::kernels
