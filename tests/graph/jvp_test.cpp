// The Jacobian-vector product, which is the vjp of a vjp: its values, and that
// it costs what a tangent written by hand costs.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/lowered_plan.h"
#include "support/differences.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/engine.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::HasBitsOf;
using test::IsNear;
using test::Random;
using test::tensor;

TEST(Jvp, OfOneValue) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[3]{1 2 3}"));
  const Value v = tape.input("v", f64, {3});
  const Value y = x * x;
  const Value tangent = tape.jvp(y, {x}, {v});
  EXPECT_EQ(tangent.type(), y.type());
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(tangent, {{v, tensor("f64[3]{1 10 100}")}}),
              HasBitsOf(tensor("f64[3]{2 40 600}")));
}

TEST(Jvp, OfSeveralValuesIsTheSum) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[2]{3 5}"));
  const Value y = tape.parameter("y", tensor("f64[2]{7 11}"));
  const Value u = tape.input("u", f64, {2});
  const Value v = tape.input("v", f64, {2});
  const Value tangent = tape.jvp(x * y, {x, y}, {u, v});
  const Value repeated = tape.jvp(x * y, {x, x}, {u, v});
  const Network network = tape.seal();
  const std::vector<Feed> feeds = {{u, tensor("f64[2]{1 10}")},
                                   {v, tensor("f64[2]{100 1000}")}};
  EXPECT_THAT(network.evaluate(tangent, feeds),
              HasBitsOf(tensor("f64[2]{307 5110}")));
  EXPECT_THAT(network.evaluate(repeated, feeds),
              HasBitsOf(tensor("f64[2]{707 11110}")));
}

TEST(Jvp, OfAValueByItselfAndByNothing) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[2]{3 5}"));
  const Value z = tape.parameter("z", tensor("f64[3]{3 5 6}"));
  const Value v = tape.input("v", f64, {2});
  const Value t = tape.input("t", f64, {3});
  EXPECT_EQ(tape.jvp(x, {x}, {v}), v);
  const std::size_t before = tape.size();
  EXPECT_EQ(tape.jvp(x, {x, z}, {v, t}), v) << "z does not matter";
  EXPECT_EQ(tape.size(), before) << "and costs nothing";
  const Value none = tape.jvp(x * x, {z}, {t});
  const Value flat = tape.jvp(sign(x), {x}, {v});
  const Value empty = tape.jvp(x * x, std::initializer_list<Value>{}, {});
  const Network network = tape.seal();
  for (Value zero : {none, flat, empty}) {
    EXPECT_THAT(network.evaluate(zero), HasBitsOf(tensor("f64[2]{0 0}")));
  }
}

TEST(Jvp, LeavesNoInputOfItsOwn) {
  Tape tape;
  const Value x = tape.input("x", f64, {2, 3});
  const Value v = tape.input("v", f64, {2, 3});
  const Value y = log_softmax(tanh(x) * exp(x)) / (1 + x * x);
  tape.jvp(y, {x}, {v});
  const Network network = tape.seal();
  EXPECT_EQ(network.inputs().size(), 2u);
}

// J v and J' u are two views of one matrix: u (J v) = (J' u) v.
TEST(Jvp, IsTheTransposeOfVjp) {
  Random random(20250305);
  Tape tape;
  const Value x = tape.parameter("x", random.tensor({2, 3}, 0.5, 1.5));
  const Value w = tape.parameter("w", random.tensor({3, 4}, -1, 1));
  const Value y = softmax(gelu(matmul(ln(x), w)));
  const Value u = tape.constant(random.tensor({2, 4}, -1, 1));
  const Value vx = tape.constant(random.tensor({2, 3}, -1, 1));
  const Value vw = tape.constant(random.tensor({3, 4}, -1, 1));
  const Value forward = sum(u * tape.jvp(y, {x, w}, {vx, vw}));
  const auto back = tape.vjp(y, {x, w}, u);
  const Value backward = sum(back[0] * vx) + sum(back[1] * vw);
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(forward),
              IsNear(network.evaluate(backward), 1e-14));
  EXPECT_NE(network.evaluate(forward).item(), 0);
}

TEST(Jvp, AgreesWithDifferencesAndDifferentiatesOn) {
  Random random(20250306);
  Tape tape;
  const Value t = tape.input("t", f64, {});
  const Value x0 = tape.constant(random.tensor({2, 3}, -1, 1));
  const Value v = tape.constant(random.tensor({2, 3}, -1, 1));
  const Value w = tape.constant(random.tensor({3, 3}, -1, 1));
  const Value x = x0 + t * v;
  const auto f = [&](Value at) {
    return sum(log_softmax(matmul(tanh(at), w)) * at);
  };
  const Value y = f(x);
  const Value first = tape.jvp(y, {x}, {v});
  const Value second = tape.jvp(first, {x}, {v});
  const Value mixed = tape.differentiate(first, {t})[0];
  const Network network = tape.seal();
  const std::vector<Tensor> at = {Tensor::scalar(0.25)};
  const auto slope = [&](Value of) {
    return test::differences(
        [&](std::span<const Tensor> moved) {
          return network.evaluate(of, {{t, moved[0]}});
        },
        at, 0, Tensor::scalar(1.0));
  };
  const auto value = [&](Value of) {
    return network.evaluate(of, {{t, at[0]}});
  };
  EXPECT_THAT(value(first), IsNear(slope(y), 1e-9));
  EXPECT_THAT(value(second), IsNear(slope(first), 1e-9));
  EXPECT_THAT(value(mixed), IsNear(slope(first), 1e-9));
}

// ---- What it costs --------------------------------------------------------

/// Nodes of the plan that computes it, views apart: those are read in place.
std::size_t nodes(const Network& network, Value value) {
  const Plan plan = network.lower(Entry().result(value));
  std::size_t count = 0;
  for (const graph::Node& node : plan.lowered()->simplified.list.nodes) {
    count += !std::visit([]<class Op>(const Op&) { return ops::ViewValue<Op>; },
                         node.op);
  }
  return count;
}

TEST(Jvp, OfAPerceptronCostsWhatATangentByHandCosts) {
  Tape tape;
  const Value x = tape.input("x", f32, {4, 3});
  const Value t = tape.input("t", f32, {4, 3});
  const Value w1 = tape.parameter("w1", f32, {3, 8});
  const Value b1 = tape.parameter("b1", f32, {8});
  const Value w2 = tape.parameter("w2", f32, {8, 2});
  const Value h = tanh(matmul(x, w1) + b1);
  const Value y = matmul(h, w2);
  const Value by_jvp = tape.jvp(y, {x}, {t});
  const Value by_hand = matmul(matmul(t, w1) * (1.0 - h * h), w2);
  const Network network = tape.seal();
  EXPECT_EQ(nodes(network, by_jvp), nodes(network, by_hand))
      << network.lower(Entry().result(by_jvp)).describe()
      << network.lower(Entry().result(by_hand)).describe();
}

// All weights move: one pass, and not one for each of them.
TEST(Jvp, ByAllWeightsCostsWhatATangentByHandCosts) {
  constexpr int layers = 6;
  Tape tape;
  const Value x = tape.input("x", f64, {4, 3});
  std::vector<Value> weights;
  std::vector<Value> tangents;
  Value y = x;
  std::optional<Value> dy;
  for (int i = 0; i < layers; ++i) {
    const std::string at = std::to_string(i);
    const Value w = tape.parameter("w" + at, f64, {3, 3});
    const Value dw = tape.input("dw" + at, f64, {3, 3});
    weights.push_back(w);
    tangents.push_back(dw);
    const Value product = matmul(y, w);
    const Value next = tanh(product);
    const Value moved = dy ? matmul(y, dw) + matmul(*dy, w) : matmul(y, dw);
    dy = moved * (1.0 - next * next);
    y = next;
  }
  const std::size_t before = tape.size();
  const Value by_jvp = tape.jvp(y, weights, tangents);
  const std::size_t recorded = tape.size() - before;
  const Network network = tape.seal();
  EXPECT_EQ(nodes(network, by_jvp), nodes(network, *dy))
      << network.lower(Entry().result(by_jvp)).describe();
  // Linear in the layers as recorded, too: transposes and their undoing aside.
  EXPECT_LE(recorded, layers * 14u);

  // And it is that tangent.
  Random random(20250307);
  std::vector<Feed> feeds = {{x, random.tensor({4, 3}, -1, 1)}};
  Parameters parameters = network.parameters();
  for (const Value& dw : tangents) {
    feeds.emplace_back(dw, random.tensor({3, 3}, -1, 1));
  }
  for (const auto& item : parameters.items()) {
    parameters.set(item.symbol, random.tensor({3, 3}, -1, 1));
  }
  Session session = interpreter::open(network, parameters);
  const Plan plan = network.lower(Entry().result(by_jvp).result(*dy));
  const topos::Run run = session.step(plan, feeds);
  EXPECT_THAT(run.of(by_jvp), IsNear(run.of(*dy), 1e-14));
}

}  // namespace
}  // namespace topos
