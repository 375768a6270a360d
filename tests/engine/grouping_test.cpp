// Groups are found by iteration space and data flow: formulas written by hand
// group as ours do. Each runs and has the interpreter's bits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/lowered_plan.h"
#include "ops/evaluate.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

using testing::HasSubstr;

/// A line a group: its kind, and the operations in it.
std::string groups(const Plan& plan) {
  const auto& lowered = *plan.lowered();
  std::string result;
  for (const engines::Group& group : lowered.grouping.groups) {
    if (!result.empty()) result += "; ";
    result += std::string(engines::name(group.kind)) + ":";
    for (const auto& member : group.members) {
      const graph::Node& node = lowered.simplified.list.nodes[member.node];
      result += " " + std::string(ops::name_of(node.op));
    }
  }
  return result;
}

/// Lowers, runs with 1, 2 and 7 threads, compares, and gives the groups.
std::string run(const Network& network, Value y, std::vector<Feed> feeds = {}) {
  const Plan plan = network.lower(Entry().result(y));
  const Tensor expected = interpreter::open(network).step(plan, feeds).of(y);
  for (int threads : {1, 2, 7}) {
    Session session = native::open(network, SessionOptions{.threads = threads});
    EXPECT_TRUE(bits_equal(session.step(plan, feeds).of(y), expected))
        << plan.describe() << session.describe(plan);
  }
  return groups(plan);
}

Tensor random(const Shape& shape, std::uint64_t seed, DType dtype = f32) {
  return cast(Random(seed).tensor(shape, -2, 2), dtype);
}

TEST(Groups, TakeASoftmaxWrittenByHandAsOne) {
  for (const Shape& shape : {Shape{40, 65}, Shape{3, 700, 33}}) {
    Tape tape;
    const Value x = tape.parameter("x", random(shape, 1));
    const Value ours = softmax(x);
    const Value e = exp(x - reduce_max(x, -1, true));
    const Value by_hand = e / sum(e, -1, true);
    const Value shifted = x - logsumexp(x, -1, true);
    const Network network = tape.seal();
    EXPECT_EQ(run(network, ours), "rows: softmax");
    EXPECT_EQ(run(network, by_hand), "rows: reduce_max sub exp sum div");
    EXPECT_EQ(run(network, shifted), "rows: logsumexp sub");
    EXPECT_EQ(network.lower(Entry().result(by_hand)).group_count(), 1u);
  }
}

TEST(Groups, TakeALayerNormAsOne) {
  Tape tape;
  const Value x = tape.parameter("x", random({6, 40, 128}, 1));
  const Value scale = tape.parameter("scale", random({128}, 2));
  const Value shift = tape.parameter("shift", random({128}, 3));
  const Value y = layer_norm(x, scale, shift);
  const Value activated = gelu(y) + x;
  const Network network = tape.seal();
  EXPECT_EQ(run(network, y), "rows: center mul mean add rsqrt mul mul add");
  EXPECT_EQ(network.lower(Entry().result(activated)).group_count(), 1u);
  run(network, activated);
}

TEST(Groups, TakeAProductWithItsEpilogueAsOne) {
  Tape tape;
  const Value x = tape.parameter("x", random({150, 60}, 1));
  const Value w = tape.parameter("w", random({60, 65}, 2));
  const Value b = tape.parameter("b", random({65}, 3));
  const Value residual = tape.parameter("residual", random({150, 65}, 4));
  const Value y = tanh(matmul(x, w) + b);
  const Value more = softmax(gelu(matmul(x, w) + b) * 0.5 + residual);
  const Value batched =
      relu(matmul(tape.parameter("q", random({5, 33, 60}, 5)), w) + b);
  const Value transposed = exp(matmul(transpose(w), transpose(x)) * 0.01);
  const Network network = tape.seal();
  EXPECT_EQ(run(network, y), "product: matmul add tanh");
  EXPECT_EQ(network.lower(Entry().result(more)).group_count(), 1u)
      << network.lower(Entry().result(more)).describe();
  run(network, more);
  EXPECT_EQ(run(network, batched), "product: matmul add relu");
  EXPECT_EQ(run(network, transposed), "product: matmul mul exp");
  const Plan plan = network.lower(Entry().result(y));
  EXPECT_THAT(plan.describe(), HasSubstr("group 0: product, 150 x 65"));
  EXPECT_THAT(native::open(network).describe(plan),
              HasSubstr("group 0: product, 150 x 65"));
}

TEST(Groups, TakeChainsAndTheirReductions) {
  Tape tape;
  const Value x = tape.parameter("x", random({70, 300}, 1));
  const Value row = tape.parameter("row", random({300}, 2));
  const Value column = tape.parameter("column", random({70, 1}, 3));
  const Value chain = tanh(x * row + column) - 1;
  const Value reduced = ln(sum(exp(x * 0.1) * row, -1) + 1);
  const Value whole = mean(chain * chain);
  const Value shared = chain * sum(chain, -1, true);
  const Network network = tape.seal();
  EXPECT_EQ(run(network, chain), "elementwise: mul add tanh sub");
  EXPECT_EQ(run(network, reduced), "rows: mul exp mul sum add ln");
  EXPECT_EQ(network.lower(Entry().result(whole)).group_count(), 1u);
  run(network, whole);
  EXPECT_EQ(run(network, shared), "rows: mul add tanh sub sum mul");
}

TEST(Groups, AreRightAtTheEdgesOfTilesAndRows) {
  // Tiles are 2048 elements, product tiles 16384; rows of 65536 still group.
  for (std::int64_t n :
       {1, 2, 31, 2047, 2048, 2049, 4096, 4097, 65535, 65536, 65537, 70001}) {
    for (std::int64_t rows : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << n);
      Tape tape;
      const Value x = tape.parameter("x", random({rows, n}, 1));
      const Value bias = tape.parameter("bias", random({n}, 2));
      const Value y = (x + bias) * 0.5;
      const Value out =
          concat({y - reduce_max(y, -1, true), softmax(y) * center(y, -1),
                  broadcast(mean(y * y, -1, true), {rows, n})},
                 0);
      const Network network = tape.seal();
      run(network, out);
    }
  }
}

/// A long sum of everything ends the chain that makes its elements.
TEST(Groups, EndWithSumsOfEverything) {
  for (const std::int64_t n : {16384, 16385, 20479, 20480, 20481, 70001}) {
    SCOPED_TRACE(n);
    Tape tape;
    const Value x = tape.parameter("x", random({n}, 1));
    const Value y = tape.parameter("y", random({n}, 2));
    const Value d = x - y;
    const Value loss = mean(d * d);
    const Value narrow = sum(cast(d, f64)) + 1;
    const Value scaled = d * (loss * cast(narrow, f32));
    const Network network = tape.seal();
    EXPECT_EQ(run(network, loss),
              n == 16384 ? "rows: sub mul mean" : "elementwise: sub mul mean");
    run(network, narrow);
    run(network, scaled);
  }
}

TEST(Groups, AreRightForProductsOfEveryShape) {
  struct Case {
    Shape left;
    Shape right;
  };
  const Case cases[] = {
      {{33, 600}, {600, 65}},
      {{1, 1025}, {1025, 1}},
      {{3, 7, 520}, {520, 65}},
      {{3, 33, 60}, {3, 60, 65}},
      {{2, 3, 5, 7}, {2, 3, 7, 9}},
      {{2, 3, 5, 7}, {7, 33}},
      {{300, 16}, {16, 200}},
      {{513, 3}, {3, 33}},
      {{4, 0}, {0, 4}},
      {{3, 2, 0}, {3, 0, 3}},
      {{0, 5}, {5, 3}},
      {{5, 3}, {3, 0}},
      {{700, 40}, {40, 31}},
  };
  for (DType dtype : {f32, f64}) {
    for (const Case& row : cases) {
      SCOPED_TRACE(testing::Message() << name(dtype) << row.left.text() << " x "
                                      << row.right.text());
      Tape tape;
      const Value a = tape.parameter("a", random(row.left, 1, dtype));
      const Value b = tape.parameter("b", random(row.right, 2, dtype));
      const Value flipped = tape.parameter(
          "flipped", random(transpose(random(row.right, 2)).shape(), 3, dtype));
      const Value plain = matmul(a, b);
      const Value epilogue = logistic(plain) * 2 + plain;
      const Value other = matmul(a, transpose(flipped)) - 1;
      const Value reversed = matmul(reverse(a, -1), reverse(b, {-2, -1}));
      const Value both = concat({epilogue, other, reversed}, 0);
      const std::vector<Value> d =
          tape.differentiate(sum(both * both), {a, b, flipped});
      const Network network = tape.seal();
      run(network, both);
      for (Value gradient : d) run(network, gradient);
    }
  }
}

TEST(Groups, ReadPartsOfOneValueAsWhatTheyAre) {
  Tape tape;
  const Value x = tape.parameter("x", random({64, 48}, 1));
  const Value h = exp(x * 0.1);
  std::vector<Value> asked;
  for (Value v : {x, h, reshape(h, {32, 96})}) {
    const std::int64_t half = v.shape()[0] / 2;
    const Value a = narrow(v, 0, 0, half);
    const Value b = narrow(v, 0, half, half);
    asked.push_back(a * b - a);
    asked.push_back(b - sum(a, -1, true));
    asked.push_back(softmax(a) + b);
    asked.push_back(matmul(a, transpose(b)) + 1);
  }
  const Network network = tape.seal();
  for (Value y : asked) run(network, y);
}

TEST(Groups, ReadOperandsBeforeTheyAreOverwritten) {
  // Values that die in the group that replaces them, read there directly, by
  // row, transposed, and once more afterwards.
  Tape tape;
  const Value x = tape.parameter("x", random({64, 64}, 1));
  const Value w = tape.parameter("w", random({64, 64}, 2));
  const Value h = matmul(x, w);  // stored: products read it
  const Value direct = exp(h * 0.1) + h;
  const Value crossed = h + transpose(h);
  const Value by_row = h * sum(h, -1, true) - reverse(h, 0);
  const Value flat = reshape(h, {4096}) * 2 + reshape(transpose(h), {4096});
  std::vector<Value> asked;
  for (Value y : {direct, crossed, by_row, flat}) {
    asked.push_back(matmul(reshape(y, {64, 64}), h));
    asked.push_back(matmul(reshape(y, {64, 64}), x));
  }
  const Network network = tape.seal();
  for (Value y : asked) run(network, y);
}

}  // namespace
}  // namespace topos::test
