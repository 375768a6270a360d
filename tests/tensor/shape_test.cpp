#include "topos/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "topos/error.h"
#include "topos/tensor.h"

namespace topos {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::int64_t two_to(int power) { return std::int64_t{1} << power; }

template <class F>
std::string text_or_error(F&& f) {
  try {
    return f();
  } catch (const ShapeError& error) {
    return error.message();
  }
}

TEST(Shape, HoldsExtentsInline) {
  static_assert(std::is_trivially_copyable_v<Shape>);
  static_assert(std::is_trivially_copyable_v<Axes>);
  static_assert(std::is_trivially_copyable_v<Type>);
  const Shape shape = {2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.leading(-2).text(), "[2]");
  EXPECT_EQ(shape.leading(2).text(), "[2, 3]");
  EXPECT_EQ(shape.with(-1, 7).text(), "[2, 3, 7]");
  EXPECT_EQ(shape.without({0, 2}).text(), "[3]");
  EXPECT_EQ(Shape{}.text(), "[]");
  EXPECT_EQ((Type{boolean, {2, 0}}).text(), "boolean[2, 0]");
  EXPECT_EQ((Type{f64, {}}).text(), "f64[]");
  EXPECT_TRUE((Shape{2, 3} == Shape{2, 3}));
  EXPECT_FALSE((Shape{2, 3} == Shape{2, 3, 0}));
  EXPECT_FALSE(Shape{} == Shape{0});
  EXPECT_FALSE((Type{f32, {2}} == Type{i32, {2}}));
}

TEST(Shape, HasAtMostEightAxes) {
  EXPECT_EQ((Shape{1, 1, 1, 1, 1, 1, 1, 1}).rank(), 8);
  EXPECT_THAT(
      ([] { return Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }),
      ThrowsMessage<ShapeError>(StrEq("9 axes, but a tensor has at most 8")));
  Shape full = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THROW(full.push_back(9), ShapeError);
  EXPECT_EQ(full.text(), "[1, 2, 3, 4, 5, 6, 7, 8]");
}

struct CountRow {
  const char* note;
  Shape shape;
  const char* expected;
};

// clang-format off
const CountRow count_rows[] = {
    {"scalar", {}, "1"},
    {"matrix", {2, 3}, "6"},
    {"zero", {2, 0, 3}, "0"},
    {"greatest", {two_to(62)}, "4611686018427387904"},
    {"negative", {2, -1}, "the shape [2, -1] has a negative extent"},
    {"negative beside zero", {0, -1}, "the shape [0, -1] has a negative extent"},
    {"BC-22 2^32 squared", {two_to(32), two_to(32)}, "the element count of the shape [4294967296, 4294967296] overflows"},
    {"BC-22 2^62 by 4", {two_to(62), 4}, "the element count of the shape [4611686018427387904, 4] overflows"},
    {"BC-22 zero last", {two_to(40), two_to(40), 0}, "the element count of the shape [1099511627776, 1099511627776, 0] overflows"},
    {"BC-22 zero after 2^64", {2, 2, two_to(62), 0}, "the element count of the shape [2, 2, 4611686018427387904, 0] overflows"},
    {"zero first", {0, two_to(40), two_to(40)}, "the element count of the shape [0, 1099511627776, 1099511627776] overflows"},
    {"zero beside what fits", {0, two_to(62)}, "0"},
};
// clang-format on

TEST(Shape, CountsElementsOrRefuses) {
  for (const CountRow& row : count_rows) {
    EXPECT_EQ(text_or_error(
                  [&] { return std::to_string(row.shape.element_count()); }),
              row.expected)
        << row.note;
  }
}

TEST(Shape, NoOverflowingTypeReachesMemory) {  // BC-22
  for (const CountRow& row : count_rows) {
    if (std::string(row.expected).find(' ') == std::string::npos) continue;
    SCOPED_TRACE(row.note);
    const Type type{f32, row.shape};
    EXPECT_THROW(type.size_bytes(), ShapeError);
    EXPECT_THROW(Tensor::zeros(type), ShapeError);
    EXPECT_THROW(Tensor::full(type, 1), ShapeError);
    EXPECT_THROW(Tensor::scalar(1.0f).broadcasted(row.shape), ShapeError);
    std::byte* data = nullptr;
    EXPECT_THROW(Tensor::uninitialized(type, data), ShapeError);
    EXPECT_EQ(data, nullptr);
  }
}

TEST(Type, CountsBytesOrRefuses) {
  EXPECT_EQ((Type{f64, {3, 5}}).size_bytes(), 120u);
  EXPECT_EQ((Type{boolean, {3}}).size_bytes(), 3u);
  EXPECT_EQ((Type{i64, {0, two_to(62)}}).size_bytes(), 0u);
  EXPECT_EQ((Type{boolean, {two_to(62)}}).size_bytes(),
            static_cast<std::size_t>(two_to(62)));
  EXPECT_THAT(([] {
                return Type{f32, {two_to(61)}}.size_bytes();
              }),
              ThrowsMessage<ShapeError>(StrEq(
                  "the size of f32[2305843009213693952] in bytes overflows")));
}

TEST(Axes, CountFromEitherEnd) {
  EXPECT_EQ(normalize_axis(-1, 3), 2);
  EXPECT_EQ(normalize_axis(-3, 3), 0);
  EXPECT_EQ(normalize_axis(2, 3), 2);
  EXPECT_EQ(normalize_axes({}, 3).text(), "[0, 1, 2]");
  EXPECT_EQ(normalize_axes({}, 0).text(), "[]");
  EXPECT_EQ(normalize_axes({-1, 0}, 3).text(), "[0, 2]");
  EXPECT_EQ(normalize_axes(1, 3).text(), "[1]");
}

TEST(Axes, OutOfRangeOrTwiceIsRefused) {  // BC-21
  EXPECT_THAT(([] { return normalize_axis(-3, 2); }),
              ThrowsMessage<ShapeError>(
                  StrEq("the axis -3 is not in a tensor of rank 2")));
  EXPECT_THAT(([] { return normalize_axis(0, 0); }),
              ThrowsMessage<ShapeError>(
                  StrEq("the axis 0 is not in a tensor of rank 0")));
  EXPECT_THAT(
      ([] {
        return normalize_axes({0, -2}, 2);
      }),
      ThrowsMessage<ShapeError>(StrEq("the axis 0 is named twice in [0, -2]")));
  EXPECT_THROW(normalize_axes({0, 2}, 2), ShapeError);
  // Too large for the eight bits that an axis takes: refused, not wrapped.
  EXPECT_THROW(normalize_axis(Axes(256)[0], 2), ShapeError);
  EXPECT_THROW(normalize_axis(Axes(-257)[0], 2), ShapeError);
}

struct BroadcastRow {
  const char* note;
  Shape left, right;
  const char* expected;
};

// The results are NumPy's.
// clang-format off
const BroadcastRow broadcast_rows[] = {
    {"equal", {2, 3}, {2, 3}, "[2, 3]"},
    {"scalar", {2, 3}, {}, "[2, 3]"},
    {"right-aligned", {3}, {2, 3}, "[2, 3]"},
    {"stretched", {3, 1}, {3}, "[3, 3]"},
    {"both", {4, 1, 3}, {5, 1}, "[4, 5, 3]"},
    {"one and none", {2, 1}, {0}, "[2, 0]"},
    {"none and many", {0}, {2}, "the shapes [0] and [2] do not broadcast: the extents 0 and 2 of axis -1 differ and neither is 1"},
    {"apart", {2, 3}, {2}, "the shapes [2, 3] and [2] do not broadcast: the extents 3 and 2 of axis -1 differ and neither is 1"},
    {"batch apart", {4, 2, 3}, {5, 2, 3}, "the shapes [4, 2, 3] and [5, 2, 3] do not broadcast: the extents 4 and 5 of axis -3 differ and neither is 1"},
};
// clang-format on

TEST(Shape, BroadcastsAsNumPyOrRefuses) {
  for (const BroadcastRow& row : broadcast_rows) {
    SCOPED_TRACE(row.note);
    EXPECT_EQ(text_or_error(
                  [&] { return broadcast_shapes(row.left, row.right).text(); }),
              row.expected);
  }
}

}  // namespace
}  // namespace topos
