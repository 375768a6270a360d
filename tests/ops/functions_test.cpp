// The public functions on tensors: what numbers become, what broadcasts, what
// is refused and how the error reads.

#include "topos/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/tensors.h"
#include "topos/error.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::HasBitsOf;
using test::tensor;

// ---- What compiles ------------------------------------------------------

template <class... A>
concept HasMaximum = requires(A... a) {
  topos::maximum(a...);
};
template <class A, class B>
concept HasSum = requires(A a, B b) {
  a + b;
};
template <class... A>
concept HasRelu = requires(A... a) {
  topos::relu(a...);
};
template <class... A>
concept HasTotal = requires(A... a) {
  topos::sum(a...);
};
template <class... A>
concept HasSelect = requires(A... a) {
  topos::select(a...);
};
template <class... A>
concept HasGather = requires(A... a) {
  topos::gather(a...);
};

static_assert(HasMaximum<Tensor, Tensor> && HasMaximum<Value, Value>);
static_assert(HasMaximum<Tensor, double> && HasMaximum<int, Tensor>);
static_assert(HasMaximum<Value, double> && HasMaximum<int, Value>);
static_assert(HasSum<Tensor, float> && HasSum<std::uint64_t, Tensor>);
static_assert(HasSelect<Tensor, double, Tensor>);
static_assert(HasSelect<bool, Tensor, int> && HasGather<Tensor, int>);

// Numbers only: neither form is meant.
static_assert(!HasMaximum<double, double> && !HasMaximum<int, float>);
static_assert(!HasRelu<double> && !HasTotal<int>);
static_assert(!HasSelect<bool, double, double> && !HasGather<int, int>);
// A tensor is no value: it becomes one as a constant of a tape.
static_assert(!HasMaximum<Tensor, Value> && !HasSum<Value, Tensor>);
static_assert(!HasSelect<Value, Tensor, Tensor>);

// ---- Errors -------------------------------------------------------------

/// The message of the E that `f` throws.
template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.message();
  } catch (const Error& error) {
    return std::string("another error: ") + error.message();
  }
  return "no error";
}

/// `functions_test.cpp:<line>: <text>`.
std::string at(int line, const std::string& text) {
  return "functions_test.cpp:" + std::to_string(line) + ": " + text;
}

// ---- Numbers ------------------------------------------------------------

TEST(Functions, GiveANumberTheDTypeThatItMeets) {
  const Tensor x = tensor("f32[2]{1 2}");
  EXPECT_THAT(x + 1, HasBitsOf(tensor("f32[2]{2 3}")));
  EXPECT_THAT(0.1 * x,
              HasBitsOf(tensor("f32[2]{0x1.99999ap-4 0x1.99999ap-3}")));
  EXPECT_THAT(1 / cast(x, f64), HasBitsOf(tensor("f64[2]{1 0.5}")));
  EXPECT_THAT(tensor("i32[2]{7 -7}") / 2, HasBitsOf(tensor("i32[2]{3 -3}")));
  EXPECT_THAT(tensor("i32[]{7}") + 2.0, HasBitsOf(tensor("i32[]{9}")));
  EXPECT_THAT(less(x, 2), HasBitsOf(tensor("boolean[2]{1 0}")));
  EXPECT_THAT(pow(2, x), HasBitsOf(tensor("f32[2]{2 4}")));
}

TEST(Functions, KeepIntegersBeyondDoublesExact) {
  const Tensor x = tensor("i64[2]{0 1}");
  EXPECT_THAT(x + 9007199254740993,
              HasBitsOf(tensor("i64[2]{9007199254740993 9007199254740994}")));
  EXPECT_THAT(x + std::numeric_limits<std::int64_t>::min(),
              HasBitsOf(tensor("i64[2]{-9223372036854775808 "
                               "-9223372036854775807}")));
  EXPECT_THAT(equal(tensor("i64[1]{9007199254740993}"), 9007199254740992),
              HasBitsOf(tensor("boolean[1]{0}")));
  // One rounding from the integer, not by way of a double.
  EXPECT_THAT(tensor("f32[]{0}") + ((std::int64_t{1} << 60) + 1),
              HasBitsOf(tensor("f32[]{0x1p60}")));
  EXPECT_THAT(tensor("f32[]{0}") + 9007199791611905,
              HasBitsOf(tensor("f32[]{0x1.000002p53}")));
}

TEST(Functions, RefuseANumberThatTheDTypeCannotHold) {
  const Tensor x = tensor("i32[2]{1 2}");
  int line = __LINE__ + 1;
  auto message = error_of<DTypeError>([&] { x + 2.5; });
  EXPECT_EQ(message,
            at(line, "add: [2] x 2.5: i32 cannot hold the number 2.5"));
  line = __LINE__ + 1;
  message = error_of<DTypeError>([&] { 4294967296 * x; });
  EXPECT_EQ(message, at(line,
                        "mul: 4294967296 x [2]: i32 cannot hold the "
                        "number 4294967296"));
  EXPECT_NE(error_of<DTypeError>([&] { maximum(x, std::nan("")); }).find("nan"),
            std::string::npos);
  EXPECT_NE(error_of<DTypeError>([&] {
              tensor("i64[]{0}") + 9223372036854775808u;
            }).find("i64 cannot hold the number 9223372036854775808"),
            std::string::npos);
  // Truth and number do not mix.
  EXPECT_NE(error_of<DTypeError>([&] { x + true; }).find("number true"),
            std::string::npos);
  EXPECT_NE(error_of<DTypeError>([&] {
              logical_and(tensor("boolean[]{1}"), 1);
            }).find("boolean cannot hold the number 1"),
            std::string::npos);
}

TEST(Functions, GiveSelectsNumbersTheDTypeOfTheOtherBranch) {
  const Tensor condition = tensor("boolean[2]{1 0}");
  const Tensor x = tensor("f32[2]{1 2}");
  EXPECT_THAT(select(condition, x, 0), HasBitsOf(tensor("f32[2]{1 0}")));
  EXPECT_THAT(select(condition, -0.0, x), HasBitsOf(tensor("f32[2]{-0 2}")));
  EXPECT_THAT(select(true, x, 7), HasBitsOf(x));
  const int line = __LINE__ + 1;
  const auto message = error_of<DTypeError>([&] { select(condition, 1, 2); });
  EXPECT_EQ(message, at(line,
                        "select: [2], 1, 2: all operands are numbers: "
                        "give one of them a dtype"));
  EXPECT_NE(error_of<DTypeError>([&] {
              select(1, x, x);
            }).find("boolean cannot hold the number 1"),
            std::string::npos);
}

TEST(Functions, TakeANumberForAnIndex) {
  const Tensor x = tensor("f32[2, 2]{1 2 3 4}");
  EXPECT_THAT(gather(x, 1), HasBitsOf(tensor("f32[2]{3 4}")));
  EXPECT_THAT(scatter_add(x, 0, tensor("f32[2]{10 20}")),
              HasBitsOf(tensor("f32[2, 2]{11 22 3 4}")));
  EXPECT_THAT(cross_entropy(tensor("f32[2]{0 -inf}"), 0),
              HasBitsOf(tensor("f32[]{0}")));
}

// ---- Broadcasting -------------------------------------------------------

/// All shapes of rank 0 to 3 with extents of 0 to 3.
std::vector<Shape> small_shapes() {
  std::vector<Shape> result = {{}};
  for (std::size_t from = 0, rank = 0; rank < 3; ++rank) {
    const std::size_t to = result.size();
    for (; from < to; ++from) {
      for (std::int64_t extent = 0; extent < 4; ++extent) {
        Shape shape = result[from];
        shape.push_back(extent);
        result.push_back(shape);
      }
    }
  }
  return result;
}

/// The extent of an axis counted from the end; 1 where there is none.
std::int64_t extent_from_end(const Shape& shape, int axis) {
  return axis < shape.rank() ? shape[-1 - axis] : 1;
}

/// What broadcasting two shapes gives, if anything.
std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> extents;
  for (int axis = std::max(a.rank(), b.rank()) - 1; axis >= 0; --axis) {
    const std::int64_t x = extent_from_end(a, axis);
    const std::int64_t y = extent_from_end(b, axis);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    extents.push_back(x == 1 ? y : x);
  }
  return Shape(std::span<const std::int64_t>(extents));
}

/// Where the element of the result at row-major `flat` comes from.
std::size_t source_of(std::int64_t flat, const Shape& result,
                      const Shape& operand) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  for (int axis = 0; axis < result.rank(); ++axis) {
    const std::int64_t index = flat % extent_from_end(result, axis);
    flat /= extent_from_end(result, axis);
    const std::int64_t extent = extent_from_end(operand, axis);
    if (extent != 1) at += index * stride;
    stride *= extent;
  }
  return static_cast<std::size_t>(at);
}

TEST(Functions, BroadcastAllPairsOfSmallShapes) {
  const std::vector<Shape> shapes = small_shapes();
  int fitting = 0;
  int refused = 0;
  for (const Shape& left : shapes) {
    for (const Shape& right : shapes) {
      SCOPED_TRACE(left.text() + " - " + right.text());
      std::vector<std::int64_t> a;
      std::vector<std::int64_t> b;
      for (int i = 0; i < left.element_count(); ++i) a.push_back(i);
      for (int i = 0; i < right.element_count(); ++i) b.push_back(100 * i);
      const Tensor x(left, a);
      const Tensor y(right, b);
      const std::optional<Shape> shape = common_shape(left, right);
      if (!shape) {
        ++refused;
        const int line = __LINE__ + 1;
        const auto message = error_of<ShapeError>([&] { x - y; });
        EXPECT_TRUE(message.starts_with(
            at(line, "sub: " + left.text() + " x " + right.text() +
                         ": the shapes " + left.text() + " and " +
                         right.text() + " do not broadcast: ")))
            << message;
        continue;
      }
      ++fitting;
      std::vector<std::int64_t> expected;
      for (std::int64_t i = 0; i < shape->element_count(); ++i) {
        expected.push_back(a[source_of(i, *shape, left)] -
                           b[source_of(i, *shape, right)]);
      }
      ASSERT_THAT(x - y, HasBitsOf(Tensor(*shape, expected)));
    }
  }
  EXPECT_GT(fitting, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(Functions, NameBothShapesThatDoNotBroadcast) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  const Tensor y = tensor("f32[2]{1 2}");
  const int line = __LINE__ + 1;
  const auto message = error_of<ShapeError>([&] { maximum(x, y); });
  EXPECT_EQ(message,
            at(line,
               "maximum: [2, 3] x [2]: the shapes [2, 3] and [2] do not "
               "broadcast: the extents 3 and 2 of axis -1 differ and "
               "neither is 1"));
}

TEST(Functions, BroadcastTheThreeOperandsOfSelect) {
  EXPECT_THAT(select(tensor("boolean[2, 1]{1 0}"), tensor("f32[3]{1 2 3}"),
                     tensor("f32[]{9}")),
              HasBitsOf(tensor("f32[2, 3]{1 2 3 9 9 9}")));
}

TEST(Functions, RefuseMixedDTypes) {
  const Tensor x = tensor("f32[2]{1 2}");
  const Tensor y = tensor("f64[2]{1 2}");
  const int line = __LINE__ + 1;
  const auto message = error_of<DTypeError>([&] { return x * y; });
  EXPECT_EQ(message, at(line,
                        "mul: f32[2] x f64[2]: the dtypes f32 and f64 "
                        "differ: cast one"));
}

// ---- The caller's line --------------------------------------------------

TEST(Functions, NameTheGreatestLineOfTheirOperands) {
  const Tensor x = tensor("f32[2]{1 2}");
  const int first = __LINE__ + 2;
  const auto message = error_of<ShapeError>([&] {
    matmul(x,  //
           x);
  });
  // Compilers differ on which line an argument is on.
  EXPECT_TRUE(message.starts_with(at(first, "matmul: [2] x [2]: ")) ||
              message.starts_with(at(first + 1, "matmul: [2] x [2]: ")))
      << message;
}

Tensor layer(const TensorOperand& x) {
  const Frame frame(x.site);
  return reshape(x, {5});
}

TEST(Functions, NameTheUsersLineBeforeTheLayers) {
  const Tensor x = tensor("f32[2]{1 2}");
  const int line = __LINE__ + 1;
  const auto message = error_of<ShapeError>([&] { layer(x); });
  EXPECT_EQ(message, at(line,
                        "reshape: [2]: [2] has 2 elements, but [5] has "
                        "5"));
  int user = 0;
  const auto inner = error_of<ShapeError>([&] {
    user = __LINE__ + 1;
    const Frame frame(Site::here());
    const Tensor y = x + 1;
    reshape(y, {5});
  });
  EXPECT_EQ(inner,
            at(user, "in functions_test.cpp:" + std::to_string(user + 2) +
                         ": reshape: [2]: [2] has 2 elements, but [5] "
                         "has 5"));
}

// A formula's own calls are not the user's business.
TEST(Functions, NameOnlyTheCompositeThatWasCalled) {
  const Tensor logits = tensor("f32[2, 3]{1 2 3 4 5 6}");
  const Tensor targets = tensor("i32[2]{1 3}");
  int line = __LINE__ + 1;
  auto message = error_of<IndexError>([&] { cross_entropy(logits, targets); });
  EXPECT_EQ(message, at(line,
                        "cross_entropy: f32[2, 3] x i32[2]: the index 3 at "
                        "position 1 is not in [0, 3)"));
  line = __LINE__ + 1;
  message = error_of<ShapeError>([&] { variance(logits, 2); });
  EXPECT_EQ(message, at(line,
                        "variance: [2, 3]: the axis 2 is not in a tensor "
                        "of rank 2"));
  // The next error has its call again.
  line = __LINE__ + 1;
  message = error_of<ShapeError>([&] { sum(logits, 2); });
  EXPECT_EQ(message, at(line,
                        "sum: [2, 3]: the axis 2 is not in a tensor of "
                        "rank 2"));
}

// ---- Axes ---------------------------------------------------------------

TEST(Functions, CountNegativeAxesFromTheEnd) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  EXPECT_THAT(sum(x, -1), HasBitsOf(sum(x, 1)));
  EXPECT_THAT(sum(x, {-1, 0}), HasBitsOf(tensor("f32[]{21}")));
  EXPECT_THAT(mean(x, -2), HasBitsOf(tensor("f32[3]{2.5 3.5 4.5}")));
  EXPECT_THAT(argmax(x, -2), HasBitsOf(tensor("i32[3]{1 1 1}")));
  EXPECT_THAT(reverse(x, -1), HasBitsOf(tensor("f32[2, 3]{3 2 1 6 5 4}")));
  EXPECT_THAT(narrow(x, -1, 1, 1), HasBitsOf(tensor("f32[2, 1]{2 5}")));
  EXPECT_THAT(concat({x, x}, -1),
              HasBitsOf(tensor("f32[2, 6]{1 2 3 1 2 3 4 5 6 4 5 6}")));
  EXPECT_THAT(permute(x, {-1, -2}), HasBitsOf(transpose(x)));
  EXPECT_THAT(transpose(x, 0, 1), HasBitsOf(tensor("f32[3, 2]{1 4 2 5 3 6}")));
  EXPECT_THAT(gather(x, tensor("i32[1]{2}"), {.axis = -1}),
              HasBitsOf(tensor("f32[2, 1]{3 6}")));
  EXPECT_THAT(softmax(tensor("f32[2, 1]{7 8}")),
              HasBitsOf(tensor("f32[2, 1]{1 1}")));
  EXPECT_THAT(iota({i32, {2, 3}}, -1),
              HasBitsOf(tensor("i32[2, 3]{0 1 2 0 1 2}")));
}

TEST(Functions, RefuseAxesThatAreNotThereOrNamedTwice) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  const auto clause = [](const std::string& message) {
    return message.substr(message.rfind(": ") + 2);
  };
  const std::string absent = "the axis 2 is not in a tensor of rank 2";
  const std::string below = "the axis -3 is not in a tensor of rank 2";
  EXPECT_EQ(clause(error_of<ShapeError>([&] { sum(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { mean(x, {0, -3}); })), below);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { center(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { reduce_max(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { argmax(x, -3); })), below);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { softmax(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { logsumexp(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { log_softmax(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { narrow(x, 2, 0, 1); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { reverse(x, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { transpose(x, 0, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { permute(x, {0, 2}); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { concat({x}, 2); })), absent);
  EXPECT_EQ(clause(error_of<ShapeError>([&] { gather(x, 0, {.axis = 2}); })),
            absent);
  int line = __LINE__ + 1;
  auto message = error_of<ShapeError>([&] { sum(x, {1, -1}); });
  EXPECT_EQ(message,
            at(line, "sum: [2, 3]: the axis 1 is named twice in [1, -1]"));
  line = __LINE__ + 1;
  message = error_of<ShapeError>([&] { permute(x, {0, -2}); });
  EXPECT_EQ(message,
            at(line, "permute: [2, 3]: the axis 0 is named twice in [0, 0]"));
}

TEST(Functions, TakeNoAxesForAllAndKeepThemIfAsked) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  EXPECT_THAT(sum(x), HasBitsOf(tensor("f32[]{21}")));
  EXPECT_THAT(sum(x, {}, true), HasBitsOf(tensor("f32[1, 1]{21}")));
  EXPECT_THAT(mean(x, 1, true), HasBitsOf(tensor("f32[2, 1]{2 5}")));
  EXPECT_THAT(reduce_max(x, 0, true), HasBitsOf(tensor("f32[1, 3]{4 5 6}")));
  EXPECT_THAT(reduce_min(x, -1, true), HasBitsOf(tensor("f32[2, 1]{1 4}")));
  EXPECT_THAT(argmax(x, -1, true), HasBitsOf(tensor("i32[2, 1]{2 2}")));
  EXPECT_EQ(logsumexp(x, 0, true).type(), (Type{f32, {1, 3}}));
  EXPECT_THAT(variance(x, {0, 1}, true),
              HasBitsOf(tensor("f32[1, 1]{0x1.755556p+1}")));
  EXPECT_THAT(center(x), HasBitsOf(x - 3.5));
  EXPECT_THAT(sum(tensor("f32[]{3}")), HasBitsOf(tensor("f32[]{3}")));
  EXPECT_THAT(reverse(x, {}), HasBitsOf(x));
}

// ---- The rest -----------------------------------------------------------

TEST(Functions, ConcatenatePadAndCount) {
  const Tensor x = tensor("f32[1, 2]{1 2}");
  EXPECT_THAT(concat({x, x + 2}, 0), HasBitsOf(tensor("f32[2, 2]{1 2 3 4}")));
  const std::vector<Tensor> three(3, x);
  EXPECT_THAT(concat(three, 1), HasBitsOf(tensor("f32[1, 6]{1 2 1 2 1 2}")));
  int line = 0;
  auto message = error_of<ShapeError>([&] {
    line = __LINE__ + 1;
    concat(std::vector<Tensor>(), 0);
  });
  EXPECT_EQ(message, at(line, "concat: nothing to concatenate"));
  line = __LINE__ + 1;
  message = error_of<ShapeError>([&] { concat({x, sum(x)}, 0); });
  EXPECT_EQ(message, at(line,
                        "concat: [1, 2] x []: the shapes [1, 2] and [] "
                        "differ beside axis 0"));

  EXPECT_THAT(pad(x, {1, 0}, {0, 1}),
              HasBitsOf(tensor("f32[2, 3]{0 0 0 1 2 0}")));
  EXPECT_THAT(pad(x, {0, 1}, {0, 0}, -1),
              HasBitsOf(tensor("f32[1, 3]{-1 1 2}")));
  message = error_of<DTypeError>([&] {
    line = __LINE__ + 1;
    pad(cast(x, i32), {0, 1}, {0, 0}, 0.5);
  });
  EXPECT_EQ(message, at(line, "pad: [1, 2]: i32 cannot hold the number 0.5"));

  EXPECT_THAT(iota({f64, {3}}, 0), HasBitsOf(tensor("f64[3]{0 1 2}")));
  line = __LINE__ + 1;
  message = error_of<ShapeError>([&] { iota({f64, {3}}, 1); });
  EXPECT_EQ(message, at(line, "iota: the axis 1 is not in a tensor of rank 1"));

  EXPECT_THAT(full_like(x, {i32, {2}}, 7), HasBitsOf(tensor("i32[2]{7 7}")));
  EXPECT_THAT(full_like(x, {f32, {0}}, 7), HasBitsOf(tensor("f32[0]{}")));
  line = __LINE__ + 1;
  message = error_of<DTypeError>([&] { full_like(x, {i32, {2}}, 7.5); });
  EXPECT_EQ(message, at(line, "full_like: i32 cannot hold the number 7.5"));
}

TEST(Functions, RefuseIndicesThatNameNothing) {
  const Tensor x = tensor("f32[3]{10 20 30}");
  int line = 0;
  auto message = error_of<IndexError>([&] {
    line = __LINE__ + 1;
    gather(x, tensor("i32[2]{0 3}"));
  });
  EXPECT_EQ(message, at(line,
                        "gather: f32[3] x i32[2]: the index 3 at "
                        "position 1 is not in [0, 3)"));
  line = __LINE__ + 1;
  message = error_of<IndexError>([&] { gather(x, -1); });
  EXPECT_EQ(message, at(line,
                        "gather: [3] x -1: the index -1 at position 0 is "
                        "not in [0, 3)"));
  message = error_of<IndexError>([&] {
    scatter_add(x, tensor("i64[1]{-9223372036854775808}"), tensor("f32[1]{1}"));
  });
  EXPECT_TRUE(
      message.ends_with("the index -9223372036854775808 at position 0 "
                        "is not in [0, 3)"))
      << message;
}

TEST(Functions, ReshapeWithOneInferredExtent) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  EXPECT_THAT(reshape(x, {-1}), HasBitsOf(tensor("f32[6]{1 2 3 4 5 6}")));
  EXPECT_THAT(reshape(transpose(x), {2, -1}),
              HasBitsOf(tensor("f32[2, 3]{1 4 2 5 3 6}")));
}

// Layout functions copy nothing where strides can say it.
TEST(Functions, ShareTheStorageOfTheirOperandInViews) {
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  EXPECT_EQ(reshape(x, {3, 2}).data(), x.data());
  EXPECT_EQ(permute(x, {1, 0}).data(), x.data());
  EXPECT_EQ(narrow(x, 0, 1, 1).data(), x.data() + 3 * sizeof(float));
  EXPECT_EQ(reverse(x, 1).data(), x.data() + 2 * sizeof(float));
  EXPECT_EQ(broadcast(x, {1000000, 1000000, 2, 3}).data(), x.data());
  EXPECT_EQ(stop_gradient(x).data(), x.data());
  EXPECT_NE(reshape(transpose(x), {6}).data(), x.data());
}

TEST(Functions, RefuseSizesThatOverflow) {
  const Tensor x = Tensor::scalar(1.0f);
  const std::int64_t extent = std::int64_t{1} << 62;
  const int line = __LINE__ + 1;
  const auto message = error_of<ShapeError>([&] { broadcast(x, {extent}); });
  EXPECT_EQ(message, at(line,
                        "broadcast: []: the size of "
                        "f32[4611686018427387904] in bytes overflows"));
}

}  // namespace
}  // namespace topos

// The C library's own functions stay what they are beside ours.
namespace user_program {
using namespace topos;
static_assert(std::same_as<decltype(exp(1.0)), double>);
static_assert(std::same_as<decltype(abs(-1)), int>);
static_assert(std::same_as<decltype(exp(Tensor())), Tensor>);
}  // namespace user_program
