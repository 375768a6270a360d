// What recording leaves on the tape: types, numbers, broadcasts, names, lines
// and labels.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/errors.h"
#include "graph/graph.h"
#include "support/tensors.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/tape.h"

namespace topos {
namespace {

using test::tensor;

/// A line of describe(), `at` being what stands behind the type.
std::string line(int node, const char* call, const char* type,
                 const std::string& at) {
  return fmt::format("%{:<4} {:<44} {:<16}{}\n", node, call, type, at);
}

std::string here(int at) { return fmt::format("  recording_test.cpp:{}", at); }

TEST(Recording, GivesTypesWithoutComputing) {
  Tape tape;
  const Value x = tape.input("x", f32, {2, 3});
  const Value w = tape.parameter("w", f32, {3, 5});
  EXPECT_EQ(matmul(x, w).type(), (Type{f32, {2, 5}}));
  EXPECT_EQ((x + 1).type(), (Type{f32, {2, 3}}));
  EXPECT_EQ(greater(x, 0).type(), (Type{boolean, {2, 3}}));
  EXPECT_EQ(argmax(x).type(), (Type{i32, {2}}));
  EXPECT_EQ(argmax(x, 0, true).type(), (Type{i32, {1, 3}}));
  EXPECT_EQ(sum(x, 1, true).type(), (Type{f32, {2, 1}}));
  EXPECT_EQ(cast(x, f64).type(), (Type{f64, {2, 3}}));
  EXPECT_EQ(reshape(x, {-1}).type(), (Type{f32, {6}}));
  EXPECT_EQ(transpose(x).shape(), Shape({3, 2}));
  EXPECT_EQ(iota(tape, {i64, {4}}, 0).dtype(), i64);
  EXPECT_EQ(full_like(x, {i32, {7}}, 3).type(), (Type{i32, {7}}));
}

TEST(Recording, BroadcastsAsNumPy) {
  struct Row {
    Shape left, right, result;
    std::size_t nodes;  // the operation and a broadcast a stretched operand
  };
  const std::vector<Row> rows = {
      {{2, 3}, {2, 3}, {2, 3}, 1},
      {{2, 3}, {3}, {2, 3}, 2},
      {{3}, {2, 3}, {2, 3}, 2},
      {{2, 1}, {1, 3}, {2, 3}, 3},
      {{}, {4}, {4}, 2},
      {{1}, {0}, {0}, 2},
      {{5, 1, 2}, {3, 1}, {5, 3, 2}, 3},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.left.text() + " + " + row.right.text());
    Tape tape;
    const Value a = tape.input("a", f32, row.left);
    const Value b = tape.input("b", f32, row.right);
    const std::size_t before = tape.size();
    EXPECT_EQ((a + b).shape(), row.result);
    EXPECT_EQ(tape.size() - before, row.nodes);
  }
}

TEST(Recording, KeepsOneConstantOfANumberAndOneBroadcastOfAShape) {
  Tape tape;
  const Value x = tape.input("x", f32, {2});
  const Value y = tape.input("y", f32, {3});
  const Value z = tape.input("z", f64, {2});
  struct Row {
    const char* what;
    std::size_t added;  // with the addition itself
    std::function<Value()> record;
  };
  const std::vector<Row> rows = {
      {"a new number in a new shape", 3, [&] { return x + 2; }},
      {"known", 1, [&] { return x + 2; }},
      {"as a real, the same bits", 1, [&] { return x + 2.0; }},
      {"on the left", 1, [&] { return 2 + x; }},
      {"in another shape", 2, [&] { return y + 2; }},
      {"in another dtype", 3, [&] { return z + 2; }},
      {"other bits", 3, [&] { return x + 0.0; }},
      {"-0 is not +0", 3, [&] { return x + -0.0; }},
      {"a scalar needs no broadcast", 1, [&] { return sum(x); }},
      {"full_like", 0,
       [&] {
         return full_like(x, {f32, {2}}, 2);
       }},
      {"after rounding", 3, [&] { return x + 0.1; }},
      {"equal after rounding", 1, [&] { return x + 0.1f; }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    const std::size_t before = tape.size();
    row.record();
    EXPECT_EQ(tape.size() - before, row.added);
  }
}

TEST(Recording, DescribesALineANode) {
  Tape tape;
  const int first = __LINE__ + 1;
  const Value x = tape.input("x", f32, {2, 3});
  const Value w = tape.parameter("w", f32, {3, 5});
  const Value c = tape.constant(tensor("f32[5]{1 -0 nan 3 4}"));
  const Value y = matmul(x, w) + c;
  const Value z = sum(2 * y, 1, true);
  tape.name(z, "total");
  const auto at = [&](int below) { return here(first + below); };
  EXPECT_EQ(
      tape.describe(),
      line(0, "input", "f32[2, 3]", " \"x\"" + at(0)) +
          line(1, "parameter", "f32[3, 5]", " \"w\"" + at(1)) +
          line(2, "constant", "f32[5]", at(2)) +
          line(3, "matmul %0 %1", "f32[2, 5]", at(3)) +
          line(4, "broadcast %2 shape=[2, 5], axes=[1]", "f32[2, 5]", at(3)) +
          line(5, "add %3 %4", "f32[2, 5]", at(3)) +
          line(6, "constant {2}", "f32[]", at(4)) +
          line(7, "broadcast %6 shape=[2, 5], axes=[]", "f32[2, 5]", at(4)) +
          line(8, "mul %7 %5", "f32[2, 5]", at(4)) +
          line(9, "sum %8 axes=[1]", "f32[2]", at(4)) +
          line(10, "reshape %9 shape=[2, 1]", "f32[2, 1]",
               " \"total\"" + at(4)));
  const std::string before = tape.describe();
  EXPECT_EQ(tape.seal().describe(), before);
}

TEST(Recording, TakesTheGreatestOfTheOperandsLines) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Operand early(x, {"early.cpp", 10});
  const Operand late(x, {"late.cpp", 20});
  const Operand number(1.5, {"number.cpp", 30});
  const auto last_line = [&] {
    const std::string text = tape.describe();
    const std::string last = text.substr(text.rfind('%'));
    return last.substr(last.rfind(' ') + 1);
  };
  maximum(early, late);
  EXPECT_EQ(last_line(), "late.cpp:20\n");
  maximum(late, early);
  EXPECT_EQ(last_line(), "late.cpp:20\n");
  maximum(number, early);
  EXPECT_EQ(last_line(), "number.cpp:30\n");
  select(true, early, number);
  EXPECT_NE(last_line(), "number.cpp:30\n") << "`true` was written here";
}

/// A layer, as a user writes one.
constexpr int layer_line = __LINE__ + 3;
Value layer(Operand x, Value weight) {
  const Frame frame(x.site);
  return tanh(x * weight);
}

TEST(Recording, NamesTheUsersLineBeforeTheLayers) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Value w = tape.parameter("w", f32, {});
  const int user_line = __LINE__ + 1;
  layer(x, w);
  const std::string lines =
      here(user_line) + fmt::format(" in recording_test.cpp:{}", layer_line);
  const std::string text = tape.describe();
  EXPECT_EQ(text.substr(text.find("%2")),
            line(2, "mul %0 %1", "f32[]", lines) +
                line(3, "tanh %2", "f32[]", lines));
  EXPECT_FALSE(Frame::outermost().known());
}

/// A layer of layers: its own line is that of the outermost frame's caller.
Value block(Operand x, Value weight) {
  const Frame frame(x.site);
  return layer(layer(x, weight), weight);
}

TEST(Recording, NamesTheOutermostFrameOfNestedLayers) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Value w = tape.parameter("w", f32, {});
  const int user_line = __LINE__ + 1;
  block(x, w);
  const Network network = tape.seal();
  const graph::Graph& graph = *network.graph();
  ASSERT_EQ(graph.size(), 6u);
  for (std::uint32_t i = 2; i < graph.size(); ++i) {
    EXPECT_EQ(graph.nodes[i].frame.line, user_line);
  }
  EXPECT_EQ(graph.nodes[2].site.line, layer_line);
  EXPECT_EQ(graph.nodes[5].site.line, layer_line);
}

TEST(Recording, LabelsComposites) {
  Tape tape;
  const Value x = tape.input("x", f32, {2, 4});
  const Value g = tape.parameter("g", f32, {4});
  const Value b = tape.parameter("b", f32, {4});
  const int user_line = __LINE__ + 1;
  const Value y = layer_norm(x, g, b, 0.5);
  const Value z = gelu(y, GeluForm::tanh);
  const Value v = variance(z, -1, true);

  const std::string text = tape.describe();
  EXPECT_NE(
      text.find(fmt::format(
          "[layer_norm epsilon=0.5]  recording_test.cpp:{} in layer_norm.h:",
          user_line)),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("[gelu form=tanh]"), std::string::npos) << text;
  EXPECT_NE(text.find("[variance axes=[-1], keep=true]"), std::string::npos)
      << text;

  const Network network = tape.seal();
  const std::vector<graph::Label>& labels = network.graph()->labels;
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels[0].name, "layer_norm");
  EXPECT_EQ(labels[0].operands, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(labels[0].begin, 3u);
  EXPECT_EQ(labels[0].result, y.symbol().node);
  EXPECT_EQ(labels[0].end, y.symbol().node + 1);
  EXPECT_EQ(labels[1].begin, labels[0].end);
  EXPECT_EQ(labels[1].result, z.symbol().node);
  EXPECT_EQ(labels[2].result, v.symbol().node);
  EXPECT_FALSE(labels[0].derivative) << "the formula's";
}

TEST(Recording, OfACompositeEqualsItsFormula) {
  Tape tape;
  const Value x = tape.input("x", f64, {3, 4});
  const Value y = tape.input("y", f64, {3, 4});
  const Value composite = mse(x, y);
  const Value d = x - y;
  const Value by_hand = mean(d * d);
  const Network network = tape.seal();
  const Tensor at = tensor("f64[4]{0.5 1 -2 3}").broadcasted({3, 4});
  const Tensor to = tensor("f64[4]{0.1 0.2 0.3 0.4}").broadcasted({3, 4});
  EXPECT_TRUE(bits_equal(network.evaluate(composite, {{x, at}, {y, to}}),
                         network.evaluate(by_hand, {{x, at}, {y, to}})));
}

// A number among the operands is one of the call: an index is an integer.
TEST(Recording, GivesNumbersTheDTypeThatTheirPlaceWants) {
  Tape tape;
  const Value x = tape.constant(tensor("f32[3]{10 20 30}"));
  const Value logits = tape.constant(tensor("f64[2]{0 0}"));
  const Value row = gather(x, 2);
  const Value chosen = select(true, 1, x);
  const Value loss = cross_entropy(logits, 1);
  const Network network = tape.seal();
  EXPECT_THAT(network.evaluate(row), test::HasBitsOf(tensor("f32[]{30}")));
  EXPECT_THAT(network.evaluate(chosen),
              test::HasBitsOf(tensor("f32[3]{1 1 1}")));
  EXPECT_THAT(network.evaluate(loss),
              test::IsNear(tensor("f64[]{0.6931471805599453}"), 1e-15));
}

TEST(Recording, KeepsNames) {
  Tape tape;
  const Value x = tape.input("x", f32, {});
  const Value w = tape.parameter("w", Tensor::scalar(2.0f));
  const Value y = x * w;
  EXPECT_EQ(tape.name(x), "x");
  EXPECT_EQ(tape.name(y), "");
  tape.name(y, "y");
  tape.name(y, "y");  // its own
  tape.name(y, "product");
  EXPECT_EQ(tape.name(y), "product");
  const Value z = tanh(y);
  tape.name(z, "y");  // free again
  const Network network = tape.seal();
  EXPECT_EQ(network.name(y), "product");
  EXPECT_EQ(network.symbol("y"), z.symbol());
  EXPECT_EQ(network.symbol("w"), w.symbol());
  EXPECT_EQ(network.inputs(), std::vector<Symbol>{x.symbol()});
  ASSERT_EQ(network.parameters().size(), 1u);
  EXPECT_EQ(network.parameters().items()[0].name, "w");
}

TEST(Recording, DescribesFromWhereAnOperandCameInErrors) {
  Tape tape;
  const int first = __LINE__ + 1;
  const Value x = tape.input("x", f32, {2, 3});
  const Value y = tanh(x);
  const Value w = tape.parameter("w", f32, {4, 5});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { matmul(y, w); };
  EXPECT_EQ(
      test::message_of<ShapeError>(wrong),
      fmt::format("recording_test.cpp:{}: matmul: [2, 3] x [4, 5]: the inner "
                  "extents 3 and 4 differ\n"
                  "  left   f32[2, 3]        tanh, recording_test.cpp:{}\n"
                  "  right  f32[4, 5]        parameter \"w\", "
                  "recording_test.cpp:{}",
                  line, first + 1, first + 2));
}

}  // namespace
}  // namespace topos
