#include "topos/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tensor/visit.h"
#include "topos/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TOPOS_TEST_UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOPOS_TEST_UNDER_ASAN
#endif
#endif

// A refused allocation is then an error of ours, as without the sanitizer.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace topos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StrEq;
using testing::ThrowsMessage;

constexpr std::int64_t two_to(int power) { return std::int64_t{1} << power; }

Tensor counted(const Shape& shape) {
  std::vector<std::int32_t> elements;
  for (std::int32_t i = 0; i < shape.element_count(); ++i) {
    elements.push_back(i);
  }
  return Tensor(shape, elements);
}

TEST(Tensor, ByDefaultIsAScalarZero) {
  EXPECT_EQ(Tensor().text(), "f32[]{0}");
  EXPECT_EQ(Tensor().item(), 0);
}

TEST(Tensor, HoldsWhatItWasGivenInEveryDType) {
  EXPECT_EQ(Tensor({2, 2}, {1.5f, -0.0f, 3.0f, 4.0f}).text(),
            "f32[2, 2]{1.5 -0 3 4}");
  EXPECT_EQ(Tensor({2}, {0.1, 1e300}).text(), "f64[2]{0.1 1e+300}");
  EXPECT_EQ(Tensor({2}, {1, -2}).text(), "i32[2]{1 -2}");
  EXPECT_EQ(Tensor({1}, {two_to(53) + 1}).text(), "i64[1]{9007199254740993}");
  EXPECT_EQ(Tensor({2}, {true, false}).text(), "boolean[2]{true false}");
  EXPECT_EQ(Tensor({2}, std::vector<bool>{false, true}).text(),
            "boolean[2]{false true}");
  EXPECT_EQ(Tensor::scalar(std::int64_t{7}).text(), "i64[]{7}");
  EXPECT_EQ(Tensor::full({boolean, {2}}, true).text(), "boolean[2]{true true}");
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const Type type{static_cast<DType>(i), {3}};
    const Tensor zeros = Tensor::zeros(type);
    EXPECT_EQ(zeros.type(), type);
    EXPECT_THAT(
        std::vector<std::byte>(zeros.data(), zeros.data() + type.size_bytes()),
        testing::Each(std::byte{0}));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(zeros.data()) % 64, 0u);
  }
}

TEST(Tensor, ZeroSizesAndRankZeroAreOrdinary) {
  for (const Shape& shape : {Shape{0}, Shape{2, 0, 3}, Shape{0, 0}}) {
    SCOPED_TRACE(shape.text());
    const Tensor none = Tensor::zeros({f64, shape});
    EXPECT_EQ(none.element_count(), 0);
    EXPECT_TRUE(none.is_contiguous());
    EXPECT_THAT(none.to_vector<double>(), IsEmpty());
    EXPECT_THAT(none.span<double>(), IsEmpty());
    EXPECT_EQ(none.text(), "f64" + shape.text() + "{}");
    EXPECT_EQ(Tensor(shape, std::vector<double>{}).type(), none.type());
    EXPECT_TRUE(bits_equal(none, Tensor::full({f64, shape}, 1)));
    EXPECT_EQ(none.reshaped({0, 7}).shape(), (Shape{0, 7}));
    EXPECT_EQ(none.reversed(0).shape(), shape);
    EXPECT_EQ(none.contiguous().shape(), shape);
    EXPECT_THROW(none.item(), ShapeError);
  }
  const Tensor scalar = Tensor::scalar(3);
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.at<std::int32_t>({}), 3);
  EXPECT_EQ(scalar.reshaped({1, 1}).text(), "i32[1, 1]{3}");
  EXPECT_EQ(scalar.reshaped({-1}).text(), "i32[1]{3}");
  EXPECT_EQ(scalar.permuted({}).text(), "i32[]{3}");
  EXPECT_EQ(scalar.reversed({}).text(), "i32[]{3}");
  EXPECT_EQ(scalar.broadcasted({2, 2}).text(), "i32[2, 2]{3 3 3 3}");
  EXPECT_EQ(Tensor({1, 1}, {3}).reshaped({}).text(), "i32[]{3}");
}

TEST(Tensor, ReadsElements) {
  const Tensor t = counted({2, 3});
  EXPECT_THAT(t.to_vector<std::int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(t.span<std::int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(t.at<std::int32_t>({1, 2}), 5);
  EXPECT_EQ(Tensor({1, 1}, {true}).item(), 1.0);
  EXPECT_EQ(Tensor::scalar(two_to(53) + 1).item(), 0x1p53);
}

struct RefusalRow {
  const char* note;
  void (*attempt)();
  const char* expected;
};

// clang-format off
const RefusalRow shape_rows[] = {
    {"too few elements", [] { Tensor({2, 3}, {1.0f}); },
     "1 elements do not fill the shape [2, 3]"},
    {"an element for nothing", [] { Tensor({0}, {1.0f}); },
     "1 elements do not fill the shape [0]"},
    {"item of many", [] { counted({2}).item(); },
     "the only element was asked of i32[2]"},
    {"index at the extent", [] { counted({2, 3}).at<std::int32_t>({0, 3}); },
     "the index [0, 3] is not in i32[2, 3]"},
    {"index below zero", [] { counted({2, 3}).at<std::int32_t>({-1, 0}); },
     "the index [-1, 0] is not in i32[2, 3]"},
    {"index of a wrong rank", [] { counted({2, 3}).at<std::int32_t>({1}); },
     "the index [1] is not in i32[2, 3]"},
    {"index far away", [] { counted({2, 3}).at<std::int32_t>({two_to(62), two_to(62)}); },
     "the index [4611686018427387904, 4611686018427387904] is not in i32[2, 3]"},
    {"reshape of another count", [] { counted({2, 3}).reshaped({4, 2}); },
     "[2, 3] has 6 elements, but [4, 2] has 8"},
    {"reshape to overflow", [] { counted({2, 3}).reshaped({two_to(62), 4}); },
     "the element count of the shape [4611686018427387904, 4] overflows"},
    {"BC-21 -1 beside 0", [] { Tensor::zeros({f32, {1, 0, 32, 64}}).reshaped({1, 0, -1}); },
     "the extent -1 of [1, 0, -1] cannot be inferred from [1, 0, 32, 64] (0 elements)"},
    {"BC-21 -1 after 0", [] { Tensor::zeros({f32, {0, 3}}).reshaped({0, -1}); },
     "the extent -1 of [0, -1] cannot be inferred from [0, 3] (0 elements)"},
    {"BC-21 23 elements", [] { counted({23}).reshaped({-1, 2, 3}); },
     "the extent -1 of [-1, 2, 3] cannot be inferred from [23] (23 elements)"},
    {"BC-21 two -1", [] { counted({6}).reshaped({-1, -1}); },
     "the shape [-1, -1] has a negative extent, or more than one -1"},
    {"BC-21 -2", [] { counted({6}).reshaped({-2, 3}); },
     "the shape [-2, 3] has a negative extent, or more than one -1"},
    {"BC-21 transpose with a repeated axis", [] { counted({2, 3}).permuted({0, 0}); },
     "the axis 0 is named twice in [0, 0]"},
    {"BC-21 the same axis by both names", [] { counted({2, 3}).permuted({1, -1}); },
     "the axis 1 is named twice in [1, -1]"},
    {"BC-21 axis -3 of rank 2", [] { counted({2, 3}).narrowed(-3, 0, 1); },
     "the axis -3 is not in a tensor of rank 2"},
    {"permute too few", [] { counted({2, 3}).permuted({0}); },
     "1 axes do not permute a tensor of rank 2"},
    {"permute out of range", [] { counted({2, 3}).permuted({0, 2}); },
     "the axis 2 is not in a tensor of rank 2"},
    {"narrow beyond", [] { counted({2, 3}).narrowed(1, 2, 2); },
     "the elements [2, 2 + 2) are not in axis 1 of [2, 3]"},
    {"narrow from below", [] { counted({2, 3}).narrowed(1, -1, 2); },
     "the elements [-1, -1 + 2) are not in axis 1 of [2, 3]"},
    {"narrow to fewer than none", [] { counted({2, 3}).narrowed(-1, 1, -1); },
     "the elements [1, 1 + -1) are not in axis 1 of [2, 3]"},
    {"narrow that overflows", [] { counted({2, 3}).narrowed(1, 1, std::numeric_limits<std::int64_t>::max()); },
     "the elements [1, 1 + 9223372036854775807) are not in axis 1 of [2, 3]"},
    {"narrow a scalar", [] { Tensor().narrowed(0, 0, 0); },
     "the axis 0 is not in a tensor of rank 0"},
    {"broadcast apart", [] { counted({2, 3}).broadcasted({2, 4}); },
     "[2, 3] does not broadcast to [2, 4]"},
    {"broadcast to a lower rank", [] { counted({1, 3}).broadcasted({3}); },
     "[1, 3] does not broadcast to [3]"},
    {"broadcast 3 to 1", [] { counted({3}).broadcasted({1}); },
     "[3] does not broadcast to [1]"},
    {"broadcast to fewer than none", [] { counted({1}).broadcasted({-1}); },
     "the shape [-1] has a negative extent"},
    {"broadcast with too few axes", [] { counted({2, 3}).broadcasted({2, 3, 4}, {0}); },
     "1 axes do not place a tensor of rank 2"},
    {"broadcast with descending axes", [] { counted({2, 3}).broadcasted({3, 2}, {1, 0}); },
     "the axes [1, 0] are not ascending"},
    {"broadcast with an axis twice", [] { counted({2, 2}).broadcasted({2, 2}, {1, 1}); },
     "the axes [1, 1] are not ascending"},
    {"reverse an axis twice", [] { counted({2, 3}).reversed({0, -2}); },
     "the axis 0 is named twice in [0, -2]"},
    {"slice with step 0", [] { counted({5}).sliced(0, 0, 5, 0); },
     "the slice 0:5:0 is not in axis 0 of [5]"},
    {"slice beyond", [] { counted({5}).sliced(0, 1, 6, 1); },
     "the slice 1:6:1 is not in axis 0 of [5]"},
    {"strides of too few axes",
     [] { Tensor::borrowed({f32, {2, 3}}, Strides{1}, nullptr); },
     "1 strides do not fit f32[2, 3]"},
    {"strides that overflow", [] { row_major_strides({0, two_to(40), two_to(40)}); },
     "the element count of the shape [0, 1099511627776, 1099511627776] overflows"},
    {"slice backwards", [] { counted({5}).sliced(0, 3, 2, 1); },
     "the slice 3:2:1 is not in axis 0 of [5]"},
};
// clang-format on

TEST(Tensor, RefusesWhatDoesNotFitAndSaysWhy) {
  for (const RefusalRow& row : shape_rows) {
    SCOPED_TRACE(row.note);
    EXPECT_THAT(row.attempt, ThrowsMessage<ShapeError>(StrEq(row.expected)));
  }
}

TEST(Tensor, RefusesAnotherDType) {
  EXPECT_THAT(
      [] {
        return counted({2, 3}).to_vector<float>();
      },
      ThrowsMessage<DTypeError>(
          StrEq("elements of f32 were asked of i32[2, 3]")));
  EXPECT_THROW(counted({2}).span<bool>(), DTypeError);
  EXPECT_THROW(counted({2}).at<double>({0}), DTypeError);
}

TEST(Tensor, RefusesASpanOverGaps) {
  EXPECT_THAT(
      [] {
        return counted({2, 3}).permuted({1, 0}).span<int>();
      },
      ThrowsMessage<UsageError>(
          StrEq("a span of i32[3, 2] was asked for, but it is a view "
                "with gaps: take contiguous() first")));
}

TEST(Tensor, ReportsMemoryThatCannotBeHad) {
  EXPECT_THAT(
      [] {
        return Tensor::zeros({f32, {two_to(58)}});
      },
      ThrowsMessage<RuntimeError>(StrEq("no memory for f32[288230376151711744] "
                                        "(1152921504606846976 bytes)")));
  // Views may be larger than any memory: only reading them all fails.
  const Tensor view = Tensor::scalar(1.5f).broadcasted({two_to(60)});
  EXPECT_EQ(view.text(3), "f32[1152921504606846976]{1.5 1.5 1.5 ...}");
  EXPECT_EQ(view.at<float>({two_to(60) - 1}), 1.5f);
  EXPECT_THROW(view.contiguous(), RuntimeError);
  EXPECT_THROW(bits_equal(view, view), RuntimeError);
#ifndef TOPOS_TEST_UNDER_ASAN  // which ends the process where new would throw
  EXPECT_THROW(view.to_vector<float>(), RuntimeError);
#endif
}

TEST(Tensor, TextIsCut) {
  EXPECT_EQ(counted({5}).text(3), "i32[5]{0 1 2 ...}");
  EXPECT_EQ(counted({5}).text(5), "i32[5]{0 1 2 3 4}");
  EXPECT_EQ(counted({5}).text(0), "i32[5]{ ...}");
  EXPECT_EQ(counted({2, 2}).permuted({1, 0}).text(), "i32[2, 2]{0 2 1 3}");
}

// There is no operation that writes: a view is a value of its own, whatever
// becomes of the names of what it was taken from (BC-24).
TEST(Tensor, IsImmutableAndSharesItsStorage) {
  Tensor one = Tensor::scalar(1);
  const Tensor expanded = one.broadcasted({4, 5});
  EXPECT_EQ(expanded.data(), one.data());
  one = Tensor::scalar(2);
  EXPECT_EQ(expanded.text(), Tensor::full({i32, {4, 5}}, 1).text());
  EXPECT_EQ(one.item(), 2);

  static_assert(
      std::is_const_v<
          std::remove_pointer_t<decltype(std::declval<Tensor>().data())>>);
  static_assert(std::is_const_v<
                decltype(std::declval<Tensor>().span<float>())::element_type>);

  std::vector<float> source = {1, 2};
  const Tensor copied({2}, source);
  source[0] = 9;
  EXPECT_EQ(copied.text(), "f32[2]{1 2}");

  Tensor view;
  {
    const Tensor owner = counted({3, 4});
    view = owner.narrowed(0, 1, 1).reversed(1);
  }
  EXPECT_EQ(view.text(), "i32[1, 4]{7 6 5 4}");
}

TEST(BitsEqual, IsEqualityOfTheNumericsContract) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float payload = std::bit_cast<float>(0xffc12345u);
  const Tensor a({3}, {1.0f, nan, 0.0f});
  EXPECT_TRUE(bits_equal(a, a));
  EXPECT_TRUE(bits_equal(a, Tensor({3}, {1.0f, payload, 0.0f})));
  EXPECT_FALSE(bits_equal(a, Tensor({3}, {1.0f, nan, -0.0f})));
  EXPECT_FALSE(bits_equal(a, Tensor({3}, {1.0f, 2.0f, 0.0f})));
  EXPECT_FALSE(bits_equal(a, a.reshaped({3, 1})));
  EXPECT_FALSE(bits_equal(Tensor({1}, {1}), Tensor({1}, {1.0f})));
  EXPECT_FALSE(
      bits_equal(Tensor::zeros({f32, {0}}), Tensor::zeros({f32, {0, 1}})));
  EXPECT_FALSE(bits_equal(Tensor({1}, {true}), Tensor({1}, {false})));
  // Layout does not count.
  EXPECT_TRUE(bits_equal(counted({2, 3}).permuted({1, 0}),
                         Tensor({3, 2}, {0, 3, 1, 4, 2, 5})));
}

}  // namespace
}  // namespace topos
