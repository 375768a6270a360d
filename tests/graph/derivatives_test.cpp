// A dozen networks that together use every operation and every composite: the
// first three derivatives against central differences in f64.

#include "graph/derivatives.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "ops/composite.h"
#include "ops/evaluate.h"

namespace topos {
namespace {

using test::Formula;
using test::Random;
using test::tensor;

struct Case {
  std::string name;
  /// The shapes of the inputs, and where their elements lie.
  std::vector<Shape> shapes;
  double low;
  double high;
  Formula formula;
};

using Values = std::span<const Value>;

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"perceptron",
       {{3, 2}, {2, 4}, {4}, {4, 3}},
       -1,
       1,
       [](Tape& tape, Values x) {
         const Value hidden = tanh(matmul(x[0], x[1]) + x[2]);
         return cross_entropy(matmul(hidden, x[3]),
                              tape.constant(tensor("i32[3]{0 2 2}")));
       }},
      {"normalized block",
       {{2, 4}, {4}, {4}, {2, 4}},
       -1,
       1,
       [](Tape&, Values x) {
         return mse(gelu(layer_norm(x[0], x[1], x[2], 0.1)), x[3]) +
                mse(silu(rms_norm(x[0], x[1], 0.1)), x[3]);
       }},
      {"moments",
       {{3, 4}},
       -1,
       1,
       [](Tape&, Values x) {
         return variance(gelu(x[0], GeluForm::tanh), 0) * mean(x[0] * x[0], 0) +
                sum(center(x[0] * x[0], 1), 0);
       }},
      {"elementary",
       {{4}, {4}},
       0.5,
       1.5,
       [](Tape&, Values x) {
         return ln(x[0]) * sqrt(x[1]) + rsqrt(x[0]) * exp(x[1]) +
                pow(x[0], x[1]) + sin(x[0]) * cos(x[1]) +
                logistic(x[0] * x[1]) - erf(x[1] / x[0]) +
                log1p(x[0]) * expm1(x[1]);
       }},
      {"piecewise",
       {{6}, {6}},
       -2,
       2,
       [](Tape&, Values x) {
         return maximum(x[0] * x[0], x[1]) * minimum(x[0], x[1] * x[1]) +
                abs(x[0]) * relu(x[1]) * sign(x[0]) -
                masked_product(-x[0], x[1] * x[0]);
       }},
      {"branches",
       {{8}, {8}},
       -2,
       2,
       [](Tape&, Values x) {
         const Value a = logical_and(less(x[0], x[1]), not_equal(x[0], 0));
         const Value b = logical_or(greater(x[0], 1), less_equal(x[1], -1));
         const Value c = logical_not(
             logical_and(greater_equal(x[0], x[1]), is_finite(x[0])));
         const Value d = equal(x[0], x[0]);
         return select(a, x[0] * x[0] * x[1], sin(x[1])) *
                select(b, x[1], tanh(x[0])) *
                select(logical_and(c, d), 1.5, x[0]);
       }},
      {"row formulas",
       {{2, 3, 2}},
       -1,
       1,
       [](Tape&, Values x) {
         return softmax(x[0], 1) * log_softmax(x[0], 0) +
                logsumexp(x[0] * x[0], -1, true) * softmax(x[0]);
       }},
      {"layouts",
       {{2, 3}, {3}, {2, 1}},
       -1,
       1,
       [](Tape&, Values x) {
         const Value wide = concat(
             {x[0], broadcast(x[1], {2, 3}), reverse(x[0] * x[0], {0, 1})}, 1);
         const Value cut = narrow(pad(wide, {1, 0}, {0, 2}, 0.5), 1, 2, 7);
         const Value turned = permute(reshape(cut * cut, {3, 7, 1}), {2, 1, 0});
         const Value column = broadcast(narrow(x[2], 0, 1, 1), {7, 1}, {0, 1});
         return turned * column +
                sum(transpose(x[0] * x[2]) * narrow(x[1], 0, 0, 2));
       }},
      {"lookup",
       {{5, 2}, {2, 3}},
       -1,
       1,
       [](Tape& tape, Values x) {
         const Value rows = tape.constant(tensor("i32[3]{4 0 4}"));
         const Value each = tape.constant(tensor("i64[2, 1]{2 0}"));
         const Value table = scatter_add(x[0] * x[0], rows, gather(x[0], rows));
         const Value picked = gather(exp(x[1]), each, {1, 1});
         return sum(gather(table, rows) * reshape(picked, {2}));
       }},
      {"extremes",
       {{3, 4}},
       -2,
       2,
       [](Tape& tape, Values x) {
         const Value best = argmax(x[0], 1);
         const Value position = iota(tape, {f64, {4}}, 0);
         return reduce_max(x[0] * position, 1) * reduce_min(exp(x[0]), 1) +
                gather(x[0] * x[0], best, {1, 1}) * cast(best, f64);
       }},
      {"attention",
       {{2, 2, 3}, {2, 2, 3}, {3, 3}},
       -1,
       1,
       [](Tape&, Values x) {
         const Value k = matmul(x[1], x[2]);
         const Value scores = matmul(x[0], transpose(k)) * 0.5;
         return matmul(softmax(scores), k);
       }},
      {"a part that stands still",
       {{3}, {3}},
       -1,
       1,
       [](Tape& tape, Values x) {
         const Value fixed =
             stop_gradient(tanh(tape.constant(tensor("f64[3]{0.1 0.2 0.3}"))));
         return fixed * x[0] * x[0] * x[1];
       }},
      {"one handle many times",
       {{3}},
       0.5,
       1.5,
       [](Tape&, Values x) {
         const Value y = x[0] * x[0];
         return y / (y + y) + pow(y, y) - y * y * x[0] + y;
       }},
  };
  return all;
}

std::vector<Tensor> point(const Case& c) {
  Random random(20250304);
  std::vector<Tensor> result;
  for (const Shape& shape : c.shapes) {
    result.push_back(random.tensor(shape, c.low, c.high));
  }
  return result;
}

class Derivatives : public testing::TestWithParam<std::size_t> {};

TEST_P(Derivatives, ToTheThirdOrder) {
  const Case& c = cases()[GetParam()];
  test::expect_derivatives(c.formula, point(c), 3, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(OfNetworks, Derivatives,
                         testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& which) {
                           std::string name = cases()[which.param].name;
                           for (char& letter : name)
                             letter = letter == ' ' ? '_' : letter;
                           return name;
                         });

// So that no operation is forgotten when one is added.
TEST(Networks, TogetherUseEveryOperationAndComposite) {
  std::set<std::string_view> used;
  std::set<std::string> labels;
  for (const Case& c : cases()) {
    Tape tape;
    std::vector<Value> inputs;
    for (const Shape& shape : c.shapes) {
      inputs.push_back(
          tape.input("x" + std::to_string(inputs.size()), f64, shape));
    }
    c.formula(tape, inputs);
    const Network network = tape.seal();
    for (const graph::Node& node : network.graph()->nodes) {
      if (node.kind == graph::Kind::operation) {
        used.insert(ops::name_of(node.op));
      }
    }
    for (const graph::Label& label : network.graph()->labels) {
      labels.insert(label.name);
    }
  }
  ops::All::for_each(
      [&]<class Op>() { EXPECT_TRUE(used.contains(Op::name)) << Op::name; });
  ops::AllComposites::for_each([&]<class C>() {
    EXPECT_TRUE(labels.contains(std::string(C::name))) << C::name;
  });
}

}  // namespace
}  // namespace topos
