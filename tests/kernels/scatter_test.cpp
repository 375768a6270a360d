#include "kernels/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "kernels/every_target.h"

namespace topos::kernels {
namespace {

using test::expect_same_bits;
using test::on_every_target;
using test::random_values;
using test::Values;

std::vector<ScatterEntry> random_entries(std::mt19937& random,
                                         std::size_t count, std::int64_t n) {
  std::vector<ScatterEntry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    entries.push_back({static_cast<std::int64_t>(random() % n),
                       static_cast<std::int64_t>(i)});
  }
  return entries;
}

TEST(SortEntries, IsStable) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (const std::size_t count : {0, 1, 2, 15, 16, 17, 100, 3000}) {
    for (const std::int64_t n : {1, 2, 3, 27, 64, 2048, 2049, 50257, 1 << 30}) {
      SCOPED_TRACE(testing::Message() << count << " below " << n);
      auto entries = random_entries(random, count, n);
      auto expected = entries;
      std::stable_sort(
          expected.begin(), expected.end(),
          [](const auto& a, const auto& b) { return a.to < b.to; });
      std::vector<ScatterEntry> scratch(count);
      sort_entries(entries.data(), scratch.data(), count, n);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(entries[i].to, expected[i].to);
        ASSERT_EQ(entries[i].from, expected[i].from);
      }
    }
  }
}

template <class T>
class ScatterAdd : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ScatterAdd, Types);

TYPED_TEST(ScatterAdd, IsAChainOfDoublesRoundedOnce) {
  using T = TypeParam;
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  constexpr std::int64_t n = 5;
  for (const Values kind : {Values::ordinary, Values::special, Values::wild}) {
    for (const std::size_t columns : std::initializer_list<std::size_t>{
             1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 100}) {
      for (const std::size_t count : {1, 2, 40}) {
        SCOPED_TRACE(testing::Message() << count << " x " << columns);
        auto entries = random_entries(random, count, n);
        std::vector<ScatterEntry> scratch(count);
        sort_entries(entries.data(), scratch.data(), count, n);
        const auto base = random_values<T>(random, n * columns, kind);
        const auto updates = random_values<T>(random, count * columns, kind);
        std::vector<T> expected = base;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          auto total = static_cast<double>(base[i]);
          for (const ScatterEntry& entry : entries) {
            if (entry.to != static_cast<std::int64_t>(i / columns)) continue;
            const auto at =
                static_cast<std::size_t>(entry.from) * columns + i % columns;
            total += static_cast<double>(updates[at]);
          }
          expected[i] = static_cast<T>(total);
        }
        on_every_target([&] {
          std::vector<T> rows = base;
          scatter_add_rows(rows.data(), updates.data(), columns, entries.data(),
                           count);
          expect_same_bits(rows, expected);
        });
      }
    }
  }
}

}  // namespace
}  // namespace topos::kernels
