// The chain rule as it is recorded: targets, order and bits of accumulation,
// and that nothing is recorded that the gradients do not need.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graph/errors.h"
#include "graph/graph.h"
#include "graph/recording.h"
#include "support/tensors.h"
#include "topos/engine.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::HasBitsOf;
using test::IsNear;
using test::message_of;
using test::tensor;

/// The lines of describe() from node `first` on, without types and lines.
std::vector<std::string> calls_from(const Tape& tape, std::size_t first) {
  std::vector<std::string> result;
  const std::string text = tape.describe();
  std::size_t at = 0;
  for (std::size_t node = 0; at < text.size(); ++node) {
    const std::size_t end = text.find('\n', at);
    if (node >= first) {
      const std::string call = text.substr(at + 6, 44);
      result.push_back(call.substr(0, call.find_last_not_of(' ') + 1));
    }
    at = end + 1;
  }
  return result;
}

using Calls = std::vector<std::string>;

TEST(Differentiate, Bc07RepeatedAndUnusedTargets) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[2]{1 2}"));
  const Value y = tape.parameter("y", tensor("f64[1]{5}"));
  const Value loss = sum(x * x);
  const auto by = tape.differentiate(loss, {x, y, x});
  ASSERT_EQ(by.size(), 3u);
  EXPECT_EQ(by[0], by[2]);
  const auto none = tape.differentiate(loss, std::span<const Value>());
  EXPECT_TRUE(none.empty());
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(by[0]), HasBitsOf(tensor("f64[2]{2 4}")));
  EXPECT_THAT(network.evaluate(by[1]), HasBitsOf(tensor("f64[1]{0}")));
}

TEST(Differentiate, Bc07ThirdDerivativeOfALinearFunctionIsZero) {
  Tape tape;
  const Value a = tape.parameter("a", Tensor::scalar(3.0));
  const Value x = tape.parameter("x", Tensor::scalar(2.0));
  const Value first = tape.differentiate(a * x, {x})[0];
  const Value second = tape.differentiate(first, {x})[0];
  const Value third = tape.differentiate(second, {x})[0];
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(second), HasBitsOf(Tensor::scalar(0.0)));
  EXPECT_THAT(network.evaluate(third), HasBitsOf(Tensor::scalar(0.0)));
}

TEST(Differentiate, Bc07OneHandleTwice) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value square = tape.differentiate(x * x, {x})[0];
  const Value twice = tape.differentiate(x + x, {x})[0];
  const Value nothing = tape.differentiate(x - x, {x})[0];
  const Value quotient = tape.differentiate(x / x, {x})[0];
  const Value self = tape.differentiate(x, {x})[0];
  const Value curvature = tape.differentiate(square, {x})[0];
  const Network network = tape.seal();
  EXPECT_EQ(network.evaluate(square).item(), 6);
  EXPECT_EQ(network.evaluate(twice).item(), 2);
  EXPECT_EQ(network.evaluate(nothing).item(), 0);
  EXPECT_NEAR(network.evaluate(quotient).item(), 0, 1e-16);
  EXPECT_EQ(network.evaluate(self).item(), 1);
  EXPECT_EQ(network.evaluate(curvature).item(), 2);
}

TEST(Differentiate, ByInnerValuesAndByTheLoss) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(0.5));
  const Value h = x * x;
  const Value y = h * h * h;
  const auto by = tape.differentiate(y, {h, y, x});
  const Network network = tape.seal();
  EXPECT_EQ(network.evaluate(by[0]).item(), 3 * 0.25 * 0.25);
  EXPECT_EQ(network.evaluate(by[1]).item(), 1);
  EXPECT_EQ(network.evaluate(by[2]).item(), 6 * std::pow(0.5, 5));
}

TEST(Differentiate, ByAValueRecordedAfterTheLoss) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(0.5f));
  const Value y = x * x;
  const Value z = tape.parameter("z", tensor("f32[2]{1 2}"));
  const auto by = tape.differentiate(y, {z, x});
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(by[0]), HasBitsOf(tensor("f32[2]{0 0}")));
  EXPECT_THAT(network.evaluate(by[1]), HasBitsOf(tensor("f32[]{1}")));
}

TEST(Differentiate, OfAConstantLoss) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f32[2]{1 2}"));
  const Value loss = tape.constant(Tensor::scalar(3.0f));
  const std::size_t before = tape.size();
  const Value by = tape.differentiate(loss, {x})[0];
  EXPECT_EQ(calls_from(tape, before),
            (Calls{"constant {0}", "broadcast %2 shape=[2], axes=[]"}));
  EXPECT_THAT(tape.seal().evaluate(by), HasBitsOf(tensor("f32[2]{0 0}")));
}

TEST(Gradients, AreThoseOfAllFloatingParametersInOrder) {
  Tape tape;
  const Value w = tape.parameter("w", tensor("f32[2]{1 2}"));
  const Value index = tape.parameter("index", tensor("i32[1]{1}"));
  const Value unused = tape.parameter("unused", tensor("f64[3]{1 2 3}"));
  const Value v = tape.parameter("v", tensor("f32[1]{5}"));
  const Value loss = sum(gather(w, index) * v);
  const auto gradients = tape.gradients(loss);
  ASSERT_EQ(gradients.size(), 3u);
  EXPECT_EQ(gradients[0].parameter, w);
  EXPECT_EQ(gradients[1].parameter, unused);
  EXPECT_EQ(gradients[2].parameter, v);
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(gradients[0].gradient),
              HasBitsOf(tensor("f32[2]{0 5}")));
  EXPECT_THAT(network.evaluate(gradients[1].gradient),
              HasBitsOf(tensor("f64[3]{0 0 0}")));
  EXPECT_THAT(network.evaluate(gradients[2].gradient),
              HasBitsOf(tensor("f32[1]{2}")));
}

TEST(Vjp, PullsACotangentBack) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[2]{1 2}"));
  const Value w = tape.parameter("w", tensor("f64[2, 3]{1 2 3 4 5 6}"));
  const Value u = tape.input("u", f64, {3});
  const Value y = sum(reshape(x, {2, 1}) * w, 0);
  const auto by = tape.vjp(y, {x, w, y}, u);
  EXPECT_EQ(by[2], u);
  const Network network = tape.seal();
  const Tensor at = tensor("f64[3]{1 10 100}");
  EXPECT_THAT(network.evaluate(by[0], {{u, at}}),
              HasBitsOf(tensor("f64[2]{321 654}")));
  EXPECT_THAT(network.evaluate(by[1], {{u, at}}),
              HasBitsOf(tensor("f64[2, 3]{1 10 100 2 20 200}")));
}

// ---- What is recorded ----------------------------------------------------

TEST(Differentiate, RecordsNothingThatGradientsDoNotNeed) {
  Tape tape;
  const Value x = tape.input("x", f32, {4, 3});
  const Value w = tape.parameter("w", f32, {3, 2});
  const Value loss = sum(tanh(matmul(x, w)));
  const std::size_t before = tape.size();
  tape.differentiate(loss, {w});
  // By hand: dy, a 1 broadcast, times 1 - y y, whose 1 is a number; x' of that.
  // The cotangent of x, which nobody asked for, is not there.
  EXPECT_EQ(
      calls_from(tape, before),
      (Calls{"constant {1}", "broadcast %5 shape=[4, 2], axes=[]", "mul %3 %3",
             "broadcast %5 shape=[4, 2], axes=[]", "sub %8 %7", "mul %6 %9",
             "permute %0 axes=[1, 0]", "matmul %11 %10"}));
}

TEST(Differentiate, TakesBackNumbersThatNothingNeeds) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(2.0));
  const Value y = tape.parameter("y", Tensor::scalar(3.0));
  // exp's rule is not run, and that of sqrt records 0.5 for nobody.
  const Value loss = y + stop_gradient(sqrt(exp(x)));
  const std::size_t before = tape.size();
  const Value by = tape.differentiate(loss, {y})[0];
  EXPECT_EQ(calls_from(tape, before), Calls{"constant {1}"});
  EXPECT_EQ(tape.differentiate(loss, {y})[0], by) << "the same 1 again";
  EXPECT_EQ(tape.size(), before + 1);
  // What was taken back is recorded afresh, and once.
  const Value half = x * 0.5;
  EXPECT_EQ(tape.size(), before + 3);
  EXPECT_EQ(tape.seal().evaluate(half).item(), 1);
}

TEST(Differentiate, RecordsNothingBeforeTheTargets) {
  Tape tape;
  Value h = tape.parameter("x", f64, {});
  for (int i = 0; i < 50; ++i) h = tanh(h);
  const Value inner = h;
  for (int i = 0; i < 3; ++i) h = tanh(h);
  const std::size_t before = tape.size();
  tape.differentiate(h, {inner});
  EXPECT_EQ(tape.size() - before, 1 + 3 * 3u);
}

TEST(Differentiate, NamesItsLineAndTheRules) {
  Tape tape;
  const Value x = tape.parameter("x", f64, {});
  const Value y = tanh(x);
  const int line = __LINE__ + 1;
  tape.differentiate(y, {x});
  const Network network = tape.seal();
  const graph::Graph& graph = *network.graph();
  ASSERT_EQ(graph.size(), 6u);
  for (std::uint32_t i = 2; i < graph.size(); ++i) {
    EXPECT_EQ(graph.nodes[i].frame.line, line) << network.describe();
  }
  EXPECT_TRUE(graph.nodes[5].site.text().starts_with("tanh.h:"))
      << graph.nodes[5].site.text();
}

// ---- Order and bits of accumulation --------------------------------------

TEST(Differentiate, AddsContributionsInDescendingOrder) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(1.0));
  const Value a = x * 3;
  const Value b = x * 5;
  const Value c = x * 7;
  const Value loss = (a + b) + c;
  const std::size_t before = tape.size();
  tape.differentiate(loss, {x});
  // Visited: c, b, a. The first starts the sum, no zero does.
  EXPECT_EQ(calls_from(tape, before),
            (Calls{"constant {1}", "mul %9 %5", "mul %9 %3", "add %10 %11",
                   "mul %9 %1", "add %12 %13"}));
}

TEST(Differentiate, AddsOperandsFromLeftToRight) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value y = tape.parameter("y", Tensor::scalar(2.0));
  const std::size_t before = tape.size() + 1;
  tape.differentiate(x / x + 0 * y, {x});
  const Calls calls = calls_from(tape, before);
  // mp(dy, 1/x) first, then -mp(dy, y/x).
  ASSERT_GE(calls.size(), 3u);
  EXPECT_EQ(calls.back().substr(0, 4), "add ");
  const std::string left = calls.back().substr(4, calls.back().rfind(' ') - 4);
  const std::string right = calls.back().substr(calls.back().rfind(' ') + 1);
  const auto call_of = [&](const std::string& node) {
    return calls_from(tape, 0).at(std::stoul(node.substr(1)));
  };
  EXPECT_EQ(call_of(left).substr(0, 15), "masked_product ");
  EXPECT_EQ(call_of(right).substr(0, 4), "neg ");
}

TEST(Differentiate, AccumulatesWithTheseBits) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(1.0f));
  // 1e8 + 1 is 1e8 in f32: the order shows. Visited: d, c, b, a.
  const Value a = x * 1e8f;
  const Value b = x * -1e8f;
  const Value c = x * 1.0f;
  const Value d = x * 1e8f;
  const Value loss = ((a + b) + c) + d;
  const Value by = tape.differentiate(loss, {x})[0];
  // ((1e8 + 1) - 1e8) + 1e8, rounded at each step.
  EXPECT_THAT(tape.seal().evaluate(by),
              HasBitsOf(Tensor::scalar(((1e8f + 1.0f) + -1e8f) + 1e8f)));
}

TEST(Differentiate, StartsWithTheFirstContributionNotWithZero) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(1.0));
  const Value by = tape.differentiate(x * -0.0, {x})[0];
  // 0 + -0 would be +0.
  EXPECT_THAT(tape.seal().evaluate(by), HasBitsOf(Tensor::scalar(-0.0)));
}

TEST(Differentiate, KeepsTheDTypeOfEachValue) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(0.1f));
  const Value wide = cast(x, f64);
  const Value loss = wide * wide;
  const auto by = tape.differentiate(loss, {x, wide});
  EXPECT_EQ(by[0].dtype(), f32);
  EXPECT_EQ(by[1].dtype(), f64);
  const Network network = tape.seal();
  const double at = 0.1f;
  EXPECT_EQ(network.evaluate(by[1]).item(), at + at);
  EXPECT_EQ(network.evaluate(by[0]).item(), static_cast<float>(at + at));
}

TEST(Differentiate, StopsAtStopGradient) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const auto by = tape.differentiate(x * stop_gradient(x), {x});
  const auto none = tape.differentiate(stop_gradient(x * x), {x});
  const Network network = tape.seal();
  EXPECT_EQ(network.evaluate(by[0]).item(), 3);
  EXPECT_THAT(network.evaluate(none[0]), HasBitsOf(Tensor::scalar(0.0)));
}

// ---- Composites with a derivative of their own ----------------------------

TEST(Differentiate, UsesTheOwnRuleOfCrossEntropy) {
  Tape tape;
  const Value logits = tape.input("logits", f32, {4, 10});
  const Value targets = tape.input("targets", i32, {4});
  const Value loss = cross_entropy(logits, targets);
  const std::size_t before = tape.size();
  tape.differentiate(loss, {logits});
  std::vector<std::string> names;
  for (const std::string& call : calls_from(tape, before)) {
    names.push_back(call.substr(0, call.find(' ')));
  }
  // u = dy / N; scatter_add(softmax(x) u, t, -u). No one-hot, and nothing of
  // log_softmax's rule.
  EXPECT_THAT(names, testing::IsSupersetOf({"softmax", "scatter_add", "neg"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("select")));
  EXPECT_LE(names.size(), 9u) << tape.describe();
}

// The second derivative goes through the rule's own nodes.
TEST(Differentiate, TwiceThroughCrossEntropy) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[1, 3]{1 2 3}"));
  const Value loss = cross_entropy(x, tape.constant(tensor("i32[1]{0}")));
  const Value first = tape.differentiate(loss, {x})[0];
  const Value entry = reshape(narrow(first, 1, 0, 1), {});
  const Value row = tape.differentiate(entry, {x})[0];
  const Network network = tape.seal();
  // The Hessian is diag(p) - p p'.
  const double p[] = {0.09003057317038046, 0.24472847105479764,
                      0.6652409557748219};
  EXPECT_THAT(
      network.evaluate(row),
      IsNear(Tensor({1, 3}, {p[0] - p[0] * p[0], -p[0] * p[1], -p[0] * p[2]}),
             1e-15));
}

/// -(x x) under a label whose rule says 100 dy, beside an unused operand whose
/// cotangent is dy.
Value labelled(Tape& tape, Value x, Value unused) {
  graph::Recording& recording = graph::Recording::of(tape);
  graph::Label label;
  label.name = "labelled";
  label.operands = {x.symbol().node, unused.symbol().node};
  label.begin = recording.graph().size();
  const Value y = -(x * x);
  label.result = y.symbol().node;
  label.end = recording.graph().size();
  label.derivative = [](std::span<const Value>, const Value&, const Value& dy) {
    return std::vector<std::optional<Value>>{100 * dy, dy};
  };
  recording.add_label(label);
  return y;
}

TEST(Differentiate, UsesALabelsRuleForAllItsOperands) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value unused = tape.parameter("unused", Tensor::scalar(5.0));
  const Value y = labelled(tape, x, unused);
  const auto by = tape.differentiate(2 * y, {x, unused, y});
  const Network network = tape.seal();
  EXPECT_EQ(network.evaluate(by[0]).item(), 200);
  EXPECT_EQ(network.evaluate(by[1]).item(), 2);
  EXPECT_EQ(network.evaluate(by[2]).item(), 2);
}

TEST(Differentiate, UsesALabelsRuleForAnOperandThatTheFormulaDoesNotRead) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value unused = tape.parameter("unused", Tensor::scalar(5.0));
  const Value y = labelled(tape, x, unused);
  const Value by = tape.differentiate(y, {unused})[0];
  EXPECT_EQ(tape.seal().evaluate(by).item(), 1);
}

TEST(Differentiate, UsesTheFormulaWhereATargetIsInsideIt) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value unused = tape.parameter("unused", Tensor::scalar(5.0));
  const Value y = labelled(tape, x, unused);
  const Value square(Symbol{y.symbol().tape, y.symbol().node - 1});
  const auto by = tape.differentiate(y, {x, square});
  const Network network = tape.seal();
  EXPECT_EQ(network.evaluate(by[0]).item(), -6);
  EXPECT_EQ(network.evaluate(by[1]).item(), -1);
}

TEST(Differentiate, RefusesARuleThatDoesNotFit) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const Value v = tape.parameter("v", tensor("f64[2]{1 2}"));
  const Value y = labelled(tape, v, x);
  const Value loss = sum(y);
  const std::string before = tape.describe();
  // The second cotangent is typed as y and not as x.
  EXPECT_THAT(message_of<InternalError>([&] { tape.differentiate(loss, {x}); }),
              testing::HasSubstr("the derivative of %3 (neg"));
  EXPECT_EQ(tape.describe(), before);
}

// ---- Through composites, the labels stay where their nodes are ------------

TEST(Differentiate, LeavesLabelsRightWhenNodesAreTakenBack) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[3]{1 2 4}"));
  const Value g = tape.parameter("g", tensor("f64[3]{1 1 1}"));
  const Value y = layer_norm(x, g, g * 0.5);
  tape.differentiate(sum(y * y), {g});
  const Value z = variance(gelu(y));
  const Network network = tape.seal();
  const auto& labels = network.graph()->labels;
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels[0].result, y.symbol().node);
  EXPECT_EQ(labels[1].name, "gelu");
  EXPECT_EQ(labels[1].operands[0], y.symbol().node);
  EXPECT_EQ(labels[2].result, z.symbol().node);
  EXPECT_EQ(labels[2].operands[0], labels[1].result);
}

TEST(Differentiate, MovesTheLabelsThatARuleRecords) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  graph::Recording& recording = graph::Recording::of(tape);
  graph::Label label;
  label.name = "labelled";
  label.operands = {x.symbol().node};
  label.begin = recording.graph().size();
  const Value y = tanh(x);
  label.result = y.symbol().node;
  label.end = recording.graph().size();
  label.derivative = [](std::span<const Value> operands, const Value&,
                        const Value& dy) {
    sqrt(dy);  // for nobody
    gelu(dy);  // likewise, with its label
    const Value kept = gelu(operands[0] * dy);
    sqrt(kept);
    return std::vector<std::optional<Value>>{kept};
  };
  recording.add_label(label);
  const Value by = tape.differentiate(y, {x})[0];
  const Network network = tape.seal();
  const graph::Graph& graph = *network.graph();
  ASSERT_EQ(graph.labels.size(), 2u);
  const graph::Label& kept = graph.labels[1];
  EXPECT_EQ(kept.name, "gelu");
  EXPECT_EQ(kept.result, by.symbol().node);
  EXPECT_EQ(kept.end, graph.size());
  ASSERT_EQ(kept.operands.size(), 1u);
  EXPECT_LT(kept.operands[0], kept.begin);
  EXPECT_TRUE(
      std::holds_alternative<ops::Mul>(graph.nodes[kept.operands[0]].op));
  EXPECT_NEAR(network.evaluate(by).item(), 3 * 0.9986501019683699, 1e-15);
}

TEST(Transaction, TakesBackEverything) {
  Tape tape;
  const Value x = tape.parameter("x", Tensor::scalar(3.0));
  const std::string before = tape.describe();
  {
    graph::Recording& recording = graph::Recording::of(tape);
    const Transaction transaction(recording);
    const Value y = gelu(x * 7);
    tape.name(y, "y");
    tape.constant(Tensor::scalar(5.0));
    tape.parameter("z", f64, {});
  }
  EXPECT_EQ(tape.describe(), before);
  tape.name(tape.input("z", f64, {}), "y");  // both are free again
  EXPECT_EQ(tape.size(), 2u);
  x * 7;
  EXPECT_EQ(tape.size(), 4u);
  EXPECT_TRUE(tape.seal().graph()->labels.empty());
}

}  // namespace
}  // namespace topos
