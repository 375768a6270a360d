// Faults reported of other libraries, as far as operations alone show them.
// BC-nn is the number of the case in the project's collection; the right
// values are of the mathematics, of IEEE 754 or of the thread that settled it.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ops/catalog.h"
#include "ops/composite.h"
#include "ops/evaluate.h"
#include "support/tensors.h"
#include "topos/error.h"
#include "topos/functions.h"

namespace topos {
namespace {

using test::HasBitsOf;
using test::IsNear;
using test::tensor;

/// The operands' cotangents by an operation's own rule; none becomes zeros.
template <class Op>
std::vector<Tensor> pull_back(const Op& op, std::vector<Tensor> x,
                              const Tensor& dy) {
  std::vector<Type> types;
  for (const Tensor& operand : x) types.push_back(operand.type());
  const Tensor y = ops::evaluate(op, ops::infer(op, types), x);
  const auto cotangents = op.derivative(ops::Operands<Tensor>(x), y, dy);
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.push_back(cotangents[i].value_or(Tensor::zeros(x[i].type())));
  }
  return result;
}

Tensor ones_like(const Tensor& x) { return Tensor::full(x.type(), 1); }

template <class E, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.message();
  }
  return "no such error";
}

/// Element by element equal; zeros of both signs are.
#define EXPECT_VALUES(actual, expected) \
  EXPECT_THAT(actual, IsNear(tensor(expected), 0.0))

// ---- 16-bit types -------------------------------------------------------

TEST(Cases, Bc15ReductionsOfBf16DoNotStopAt256) {
  const Tensor ones = Tensor::full({bf16, {70000}}, 1);
  EXPECT_THAT(sum(ones), HasBitsOf(tensor("bf16[]{70144}")));
  EXPECT_THAT(mean(ones), HasBitsOf(tensor("bf16[]{1}")));
  EXPECT_THAT(matmul(ones.reshaped({1, -1}), ones.reshaped({-1, 1})),
              HasBitsOf(tensor("bf16[1, 1]{70144}")));
  const Tensor even = softmax(Tensor::full({bf16, {512}}, 3));
  EXPECT_THAT(even, HasBitsOf(Tensor::full({bf16, {512}}, 1.0 / 512)));
}

// The bits are those of the case; the cast's own rows have the special ones.
TEST(Cases, Bc25RoundingToBf16) {
  EXPECT_THAT(cast(tensor("f32[2]{3.14 1e-8}"), bf16),
              HasBitsOf(tensor("bf16[2]{3.140625 0x1.58p-27}")));
  EXPECT_EQ(cast(Tensor::scalar(0x1.01p0f), bf16).item(), 1);
}

// ---- Gradients at special points ----------------------------------------

TEST(Cases, Bc01BranchNotTakenLeavesNoNan) {
  const Tensor x = tensor("f32[2]{-1 -4}");
  const Tensor taken = greater(x, 0);
  const Tensor root = sqrt(x);
  EXPECT_VALUES(sum(select(taken, root, x)), "f32[]{-5}");
  const auto by_branch =
      pull_back(ops::Select{}, {taken, root, x}, ones_like(x));
  const auto by_root = pull_back(ops::Sqrt{}, {x}, by_branch[1]);
  EXPECT_VALUES(by_branch[2] + by_root[0], "f32[2]{1 1}");

  const Tensor u = tensor("f32[2]{0 inf}");
  const Tensor zeros = Tensor::zeros(u.type());
  const auto by_cosine =
      pull_back(ops::Select{}, {less(u, 1), cos(u), zeros}, ones_like(u));
  EXPECT_VALUES(pull_back(ops::Cos{}, {u}, by_cosine[1])[0], "f32[2]{0 0}");
}

// Every operation whose slope is infinite or NaN somewhere.
TEST(Cases, Bc01OfEachGuardedRule) {
  const Tensor none = tensor("f32[4]{0 0 0 0}");
  const Tensor x = tensor("f32[4]{0 inf -1 nan}");
  const Tensor zeros = tensor("f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Sqrt{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Rsqrt{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Ln{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Exp{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Sin{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  EXPECT_VALUES(pull_back(ops::Cos{}, {x}, none)[0], "f32[4]{0 0 0 0}");
  for (int i : {0, 1}) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_VALUES(pull_back(ops::Div{}, {x, zeros}, none)[at],
                  "f32[4]{0 0 0 0}");
    EXPECT_VALUES(pull_back(ops::Pow{}, {x, x}, none)[at], "f32[4]{0 0 0 0}");
    EXPECT_VALUES(pull_back(ops::MaskedProduct{}, {x, x}, none)[at],
                  "f32[4]{0 0 0 0}");
  }
}

TEST(Cases, Bc02NormOfAZeroVector) {
  const Tensor x = tensor("f32[3]{0 0 0}");
  const Tensor squares = x * x;
  const Tensor total = sum(squares);
  const Tensor norm = sqrt(total);
  EXPECT_VALUES(norm, "f32[]{0}");
  const auto back_to_x = [&](const Tensor& by_total) {
    const auto by_squares = pull_back(ops::Sum{{0}}, {squares}, by_total);
    const auto by_factors = pull_back(ops::Mul{}, {x, x}, by_squares[0]);
    return by_factors[0] + by_factors[1];
  };
  // The square of the norm: the zero slope of the square masks the root's.
  const auto by_norm =
      pull_back(ops::Mul{}, {norm, norm}, Tensor::scalar(1.0f));
  EXPECT_VALUES(
      back_to_x(pull_back(ops::Sqrt{}, {total}, by_norm[0] + by_norm[1])[0]),
      "f32[3]{0 0 0}");
  // The norm itself takes the double select: the argument is made safe first.
  const Tensor positive = greater(total, 0);
  const Tensor one = Tensor::scalar(1.0f);
  const Tensor safe = select(positive, total, 1);
  const Tensor zero = Tensor::scalar(0.0f);
  EXPECT_VALUES(select(positive, sqrt(safe), 0), "f32[]{0}");
  const auto by_root =
      pull_back(ops::Select{}, {positive, sqrt(safe), zero}, one);
  const auto by_safe = pull_back(ops::Sqrt{}, {safe}, by_root[1]);
  const auto by_total =
      pull_back(ops::Select{}, {positive, total, one}, by_safe[0]);
  EXPECT_VALUES(back_to_x(by_total[1]), "f32[3]{0 0 0}");
}

TEST(Cases, Bc03PowerWithBaseZero) {
  const Tensor base = tensor("f64[6]{0 0 0 0 0 0}");
  const Tensor exponent = tensor("f64[6]{3 2 1 0.5 0 -1}");
  EXPECT_VALUES(pow(base, exponent), "f64[6]{0 0 0 0 1 inf}");
  const auto slopes = pull_back(ops::Pow{}, {base, exponent}, ones_like(base));
  EXPECT_VALUES(slopes[0], "f64[6]{0 0 1 inf 0 -inf}");
  EXPECT_VALUES(slopes[1], "f64[6]{0 0 0 0 0 0}");
  const auto by_exponent =
      pull_back(ops::Pow{}, {tensor("f64[2]{0 2}"), tensor("f64[2]{1 1}")},
                tensor("f64[2]{1 1}"))[1];
  EXPECT_THAT(by_exponent,
              IsNear(tensor("f64[2]{0 1.3862943611198906}"), 1e-15));
}

TEST(Cases, Bc04Ties) {
  const Tensor t = tensor("f32[2]{0 1.5}");
  const auto both = pull_back(ops::Maximum{}, {t, t}, ones_like(t));
  EXPECT_VALUES(both[0] + both[1], "f32[2]{1 1}");
  const auto least = pull_back(ops::Minimum{}, {t, t}, ones_like(t));
  EXPECT_VALUES(least[0] + least[1], "f32[2]{1 1}");
  const Tensor zero = tensor("f32[]{0}");
  const Tensor one = tensor("f32[]{1}");
  EXPECT_VALUES(pull_back(ops::Relu{}, {zero}, one)[0], "f32[]{0}");
  EXPECT_VALUES(pull_back(ops::Maximum{}, {zero, zero}, one)[0], "f32[]{0.5}");
  EXPECT_VALUES(pull_back(ops::Abs{}, {zero}, one)[0], "f32[]{0}");
  EXPECT_VALUES(
      pull_back(ops::ReduceMax{{0}}, {tensor("f32[3]{0.6 0.6 0.3}")}, one)[0],
      "f32[3]{0.5 0.5 0}");
}

TEST(Cases, Bc08GatherWithNegativeRepeatedAndAbsentIndices) {
  const Tensor d = tensor("f32[3]{10 20 30}");
  EXPECT_TRUE(error_of<IndexError>([&] {
                gather(d, tensor("i32[3]{-1 0 -1}"));
              }).ends_with("the index -1 at position 0 is not in [0, 3)"));
  EXPECT_TRUE(error_of<IndexError>([&] {
                gather(d, 3);
              }).ends_with("the index 3 at position 0 is not in [0, 3)"));
  EXPECT_TRUE(error_of<IndexError>([&] {
                gather(d, -4);
              }).ends_with("the index -4 at position 0 is not in [0, 3)"));
  const Tensor index = tensor("i32[3]{2 0 2}");
  EXPECT_VALUES(gather(d, index), "f32[3]{30 10 30}");
  EXPECT_VALUES(pull_back(ops::Gather{}, {d, index}, ones_like(d))[0],
                "f32[3]{1 0 2}");
}

// ---- Softmax and losses -------------------------------------------------

TEST(Cases, Bc09FullyMaskedRow) {
  const Tensor scores = tensor("f32[2, 2]{0 0 -inf -inf}");
  const Tensor values = tensor("f32[2, 2]{1 0 0 1}");
  const Tensor weights = softmax(scores);
  EXPECT_VALUES(matmul(weights, values), "f32[2, 2]{0.5 0.5 0 0}");
  const Tensor dy = tensor("f32[2, 2]{1 0 0 0}");
  const auto by_product = pull_back(ops::Matmul{}, {weights, values}, dy);
  EXPECT_VALUES(pull_back(ops::Softmax{1}, {scores}, by_product[0])[0],
                "f32[2, 2]{0.25 -0.25 0 0}");
  EXPECT_VALUES(by_product[1], "f32[2, 2]{0.5 0 0.5 0}");
}

TEST(Cases, Bc10LogsumexpOfNothingButMinusInfinity) {
  const Tensor one = tensor("f32[]{1}");
  EXPECT_VALUES(logsumexp(tensor("f32[2]{-inf -inf}")), "f32[]{-inf}");
  EXPECT_VALUES(
      pull_back(ops::LogSumExp{0}, {tensor("f32[2]{-inf -inf}")}, one)[0],
      "f32[2]{0 0}");
  EXPECT_VALUES(logsumexp(tensor("f32[2]{-inf 1}")), "f32[]{1}");
  EXPECT_VALUES(
      pull_back(ops::LogSumExp{0}, {tensor("f32[2]{-inf 1}")}, one)[0],
      "f32[2]{0 1}");
  EXPECT_VALUES(log_softmax(tensor("f32[2]{-inf -inf}")), "f32[2]{-inf -inf}");
  EXPECT_VALUES(pull_back(ops::LogSoftmax{0}, {tensor("f32[2]{-inf -inf}")},
                          tensor("f32[2]{1 1}"))[0],
                "f32[2]{0 0}");
}

// Soft targets by their formula: -sum(t log_softmax(x)).
struct SoftCrossEntropy {
  Tensor loss;
  Tensor gradient;
};

SoftCrossEntropy soft_cross_entropy(const Tensor& x, const Tensor& t) {
  return {-sum(t * log_softmax(x)), pull_back(ops::LogSoftmax{0}, {x}, -t)[0]};
}

TEST(Cases, Bc11CrossEntropyOfHugeLogitsAndSoftTargets) {
  const auto huge = soft_cross_entropy(tensor("f32[2]{-4885.4614 4878.027}"),
                                       tensor("f32[2]{0.2 0.8}"));
  EXPECT_THAT(huge.loss, IsNear(tensor("f32[]{1952.6977}"), 1e-6));
  EXPECT_THAT(huge.gradient, IsNear(tensor("f32[2]{-0.2 0.2}"), 1e-6));

  const auto plain = soft_cross_entropy(tensor("f32[3]{-8 10 3}"),
                                        tensor("f32[3]{0.3 0.3 0.4}"));
  EXPECT_THAT(
      plain.gradient,
      IsNear(tensor("f32[3]{-0.29999998 0.69908893 -0.39908895}"), 1e-6));

  const auto twice =
      soft_cross_entropy(tensor("f32[3]{1 2 3}"), tensor("f32[3]{1 1 0}"));
  EXPECT_THAT(twice.loss, IsNear(tensor("f32[]{3.8152119}"), 1e-6));
  EXPECT_THAT(twice.gradient,
              IsNear(tensor("f32[3]{-0.8199389 -0.5105431 1.3304819}"), 1e-6));

  const auto none =
      soft_cross_entropy(tensor("f32[3]{1 2 3}"), tensor("f32[3]{0 0 0}"));
  EXPECT_VALUES(none.loss, "f32[]{0}");
  EXPECT_VALUES(none.gradient, "f32[3]{0 0 0}");
}

TEST(Cases, Bc11CrossEntropyOfHugeLogitsAndClassIndices) {
  const Tensor logits = tensor("f32[1, 2]{-4885.4614 4878.027}");
  const Tensor target = tensor("i32[1]{0}");
  const Tensor loss = cross_entropy(logits, target);
  EXPECT_THAT(loss, IsNear(tensor("f32[]{9763.488}"), 1e-6));
  const Tensor operands[] = {logits, target};
  const auto gradient = ops::CrossEntropy::derivative(
      ops::Operands<Tensor>(operands), loss, tensor("f32[]{1}"));
  EXPECT_VALUES(*gradient[0], "f32[1, 2]{-1 1}");
}

TEST(Cases, Bc12IllegalClassIndices) {
  const Tensor logits = Tensor::zeros({f32, {3, 5}});
  EXPECT_TRUE(error_of<IndexError>([&] {
                cross_entropy(logits, tensor("i32[3]{0 -4 1}"));
              }).ends_with("the index -4 at position 1 is not in [0, 5)"));
  EXPECT_TRUE(error_of<IndexError>([&] {
                cross_entropy(logits, tensor("i64[3]{0 1 5}"));
              }).ends_with("the index 5 at position 2 is not in [0, 5)"));
}

// ---- Reductions ---------------------------------------------------------

// Repeated views: no memory is taken for the operands.
TEST(Cases, Bc14LongSumsAndMeans) {
  const Tensor small = broadcast(Tensor::scalar(0.0005f), {5'000'000});
  EXPECT_THAT(sum(small), IsNear(tensor("f32[]{2500.0001}"), 1e-5));
  const Tensor ones = broadcast(Tensor::scalar(1.0f), {std::int64_t{1} << 25});
  EXPECT_VALUES(sum(ones), "f32[]{33554432}");
  const Tensor pairs = broadcast(Tensor::scalar(1.0f), {20'000'000, 2});
  EXPECT_VALUES(mean(pairs, 0), "f32[2]{1 1}");
}

TEST(Cases, Bc16LayerNormWithALargeMean) {
  const auto normalized = [](const Tensor& x) {
    const Type type{x.dtype(), {x.shape()[-1]}};
    return layer_norm(x, Tensor::full(type, 1), Tensor::zeros(type));
  };
  EXPECT_THAT(normalized(tensor("f32[4]{40000 40001 40002 40003}")),
              IsNear(tensor("f32[4]{-1.3416354 -0.4472118 0.4472118 "
                            "1.3416354}"),
                     1e-6));
  const Tensor constant = broadcast(Tensor::scalar(1234.0f), {256});
  EXPECT_THAT(normalized(constant), HasBitsOf(Tensor::zeros({f32, {256}})));
  std::vector<float> steps;
  for (int i = 0; i < 16; ++i) {
    steps.push_back(static_cast<float>(1000 + i * 0.001));
  }
  const Tensor y = normalized(Tensor({16}, steps));
  EXPECT_NEAR(y.at<float>({0}), -1.3415078f, 1e-5);
  EXPECT_NEAR(y.at<float>({15}), 1.3442372f, 1e-5);
}

// ---- Shapes, views, matmul ----------------------------------------------

TEST(Cases, Bc18MatmulWithAnEmptyInnerDimension) {
  const Tensor left = Tensor::zeros({f32, {3, 2, 0}});
  const Tensor right = Tensor::zeros({f32, {3, 0, 3}});
  EXPECT_THAT(matmul(left, right), HasBitsOf(Tensor::zeros({f32, {3, 2, 3}})));
  const auto cotangents = pull_back(ops::Matmul{}, {left, right},
                                    Tensor::full({f32, {3, 2, 3}}, 1));
  EXPECT_EQ(cotangents[0].type(), left.type());
  EXPECT_EQ(cotangents[1].type(), right.type());
  const Tensor thin = Tensor::zeros({f32, {0, 4}});
  EXPECT_THAT(matmul(transpose(thin), transpose(transpose(thin))),
              HasBitsOf(Tensor::zeros({f32, {4, 4}})));
  // Storage that held NaN.
  std::byte* data = nullptr;
  const Tensor y = Tensor::uninitialized({f32, {3, 2, 3}}, data);
  std::fill_n(data, y.type().size_bytes(), std::byte{0xff});
  const Tensor operands[] = {left, right};
  ops::evaluate_into(ops::Matmul{}, operands, {y.type(), data});
  EXPECT_THAT(y, HasBitsOf(Tensor::zeros({f32, {3, 2, 3}})));
}

TEST(Cases, Bc19MatmulKeepsNan) {
  EXPECT_VALUES(matmul(tensor("f32[1, 2]{0 1}"), tensor("f32[2, 1]{nan 2}")),
                "f32[1, 1]{nan}");
  EXPECT_VALUES(matmul(tensor("f32[1, 1]{inf}"), tensor("f32[1, 1]{0}")),
                "f32[1, 1]{nan}");
  std::vector<float> elements(65 * 65, 0.0f);
  elements[40 * 65 + 7] = std::nanf("");
  const Tensor sparse({65, 65}, elements);
  const Tensor zeros = Tensor::zeros(sparse.type());
  std::vector<float> column(65 * 65, 0.0f);
  for (std::size_t row = 0; row < 65; ++row) {
    column[row * 65 + 7] = std::nanf("");
  }
  const Tensor expected({65, 65}, column);
  EXPECT_THAT(matmul(zeros, sparse), HasBitsOf(expected));
  EXPECT_THAT(matmul(transpose(zeros), sparse), HasBitsOf(expected));
  EXPECT_THAT(matmul(zeros, transpose(transpose(sparse).contiguous())),
              HasBitsOf(expected));
}

TEST(Cases, Bc20EmptyAndScalarReductions) {
  const Tensor none = Tensor::zeros({f32, {0, 3}});
  EXPECT_VALUES(sum(none, 0), "f32[3]{0 0 0}");
  EXPECT_VALUES(mean(none, 0), "f32[3]{nan nan nan}");
  EXPECT_TRUE(error_of<ShapeError>([&] {
                reduce_max(none, 0);
              }).ends_with("axis 0 of [0, 3] is empty"));
  EXPECT_TRUE(error_of<ShapeError>([&] {
                argmax(none, 0);
              }).ends_with("axis 0 of [0, 3] is empty"));
  EXPECT_VALUES(reduce_max(Tensor::zeros({f32, {0, 5}}), 1), "f32[0]{}");
  EXPECT_EQ(softmax(Tensor::zeros({f32, {0, 5}})).shape(), (Shape{0, 5}));
  EXPECT_EQ(softmax(Tensor::zeros({f32, {5, 0}})).shape(), (Shape{5, 0}));
  EXPECT_VALUES(logsumexp(Tensor::zeros({f32, {2, 0}})), "f32[2]{-inf -inf}");
  const Tensor scalar = tensor("f32[]{7}");
  EXPECT_VALUES(sum(scalar), "f32[]{7}");
  EXPECT_VALUES(reduce_max(scalar), "f32[]{7}");
  EXPECT_VALUES(mean(scalar), "f32[]{7}");
  for (int axis : {0, -1}) {
    EXPECT_TRUE(error_of<ShapeError>([&] {
                  sum(scalar, axis);
                }).ends_with("is not in a tensor of rank 0"));
  }
}

TEST(Cases, Bc21ReshapeAndAxes) {
  const Tensor none = Tensor::zeros({f32, {1, 0, 32, 64}});
  EXPECT_TRUE(error_of<ShapeError>([&] {
                reshape(none, {1, 0, -1});
              })
                  .ends_with("the extent -1 of [1, 0, -1] cannot be inferred "
                             "from [1, 0, 32, 64] (0 elements)"));
  const Tensor rows = Tensor::zeros({f32, {0, 3}});
  EXPECT_TRUE(error_of<ShapeError>([&] {
                reshape(rows, {0, -1});
              }).find("cannot be inferred") != std::string::npos);
  EXPECT_EQ(reshape(rows, {-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_TRUE(error_of<ShapeError>([&] {
                reshape(iota({f32, {23}}, 0), {-1, 2, 3});
              }).find("[-1, 2, 3]") != std::string::npos);
  const Tensor x = Tensor::zeros({f32, {2, 3}});
  EXPECT_TRUE(error_of<ShapeError>([&] {
                sum(x, -3);
              }).ends_with("the axis -3 is not in a tensor of rank 2"));
  EXPECT_TRUE(error_of<ShapeError>([&] {
                sum(x, {0, -2});
              }).ends_with("the axis 0 is named twice in [0, -2]"));
  EXPECT_TRUE(error_of<ShapeError>([&] {
                permute(x, {1, 1});
              }).ends_with("the axis 1 is named twice in [1, 1]"));
}

TEST(Cases, Bc22ProductsOfExtentsThatOverflow) {
  const Tensor x = tensor("f32[]{1}");
  constexpr std::int64_t one = 1;
  const Shape refused[] = {{one << 32, one << 32},
                           {one << 62, 4},
                           {one << 40, one << 40, 0},
                           {2, 2, one << 62, 0}};
  for (const Shape& shape : refused) {
    EXPECT_NE(
        error_of<ShapeError>([&] { broadcast(x, shape); }).find("overflows"),
        std::string::npos)
        << shape.text();
    EXPECT_NE(error_of<ShapeError>([&] {
                full_like(x, {f32, shape}, 0);
              }).find("overflows"),
              std::string::npos)
        << shape.text();
    EXPECT_NE(error_of<ShapeError>([&] {
                iota({f32, shape}, 0);
              }).find("overflows"),
              std::string::npos)
        << shape.text();
  }
  // Nothing by something long is nothing, and too long a product is refused.
  const Tensor thin = Tensor::zeros({f32, {one << 40, 0}});
  EXPECT_NE(error_of<ShapeError>([&] {
              matmul(thin, transpose(thin));
            }).find("overflows"),
            std::string::npos);
  EXPECT_NE(error_of<ShapeError>([&] {
              pad(thin, {0, 0}, {0, one << 40});
            }).find("overflows"),
            std::string::npos);
  EXPECT_NE(
      error_of<ShapeError>([&] {
        concat({thin, broadcast(tensor("f32[0]{}"),
                                {std::numeric_limits<std::int64_t>::max(), 0})},
               0);
      }).find("overflows"),
      std::string::npos);
  EXPECT_NE(error_of<ShapeError>([&] {
              gather(Tensor::zeros({f32, {1, one << 40, 0}}),
                     Tensor::zeros({i32, {one << 40, 0}}));
            }).find("overflows"),
            std::string::npos);
}

TEST(Cases, Bc23ColumnAgainstVector) {
  const Tensor a = tensor("f32[3, 1]{1 2 3}");
  const Tensor b = tensor("f32[3]{1 2 3}");
  EXPECT_TRUE(error_of<ShapeError>([&] { mse(a, b); })
                  .ends_with("mse: [3, 1] x [3]: the shapes [3, 1] and [3] "
                             "differ: a loss does not broadcast"));
  EXPECT_VALUES(a - b, "f32[3, 3]{0 -1 -2 1 0 -1 2 1 0}");
  EXPECT_TRUE(error_of<ShapeError>([&] {
                mse(tensor("f32[2, 1]{1 2}"), tensor("f32[2, 1, 1, 1]{0 1}"));
              }).find("a loss does not broadcast") != std::string::npos);
  EXPECT_TRUE(error_of<ShapeError>([&] {
                cross_entropy(Tensor::zeros({f32, {3, 5}}),
                              Tensor::zeros({i32, {3, 1}}));
              }).find("a loss does not broadcast") != std::string::npos);
}

// Tensors are immutable: what a view shares is never written.
TEST(Cases, Bc24ViewsThatOverlap) {
  EXPECT_VALUES(broadcast(tensor("f32[]{1}"), {2, 2}) + 1,
                "f32[2, 2]{2 2 2 2}");
  EXPECT_THAT(cos(broadcast(tensor("f64[]{0.7853981633974483}"), {3})),
              IsNear(tensor("f64[3]{0.7071067811865476 0.7071067811865476 "
                            "0.7071067811865476}"),
                     1e-15));
  const Tensor a = tensor("f32[8]{10 11 12 13 14 13 12 11}");
  const Tensor ratios = narrow(a, 0, 1, 7) / narrow(a, 0, 0, 7);
  EXPECT_THAT(concat({narrow(a, 0, 0, 1), ratios}, 0),
              IsNear(tensor("f32[8]{10 1.1 1.0909091 1.0833334 1.0769231 "
                            "0.92857146 0.9230769 0.9166667}"),
                     1e-6));
}

}  // namespace
}  // namespace topos
