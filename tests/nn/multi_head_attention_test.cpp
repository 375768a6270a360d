#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nn/message.h"
#include "support/tensors.h"
#include "topos/nn.h"
#include "topos/topos.h"

namespace topos::nn {
namespace {

using test::HasBitsOf;
using test::IsNear;
using test::tensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class E, class F>
std::string user_error(F&& f) {
  return at_a_line_of("multi_head_attention_test.cpp", message_of<E>(f));
}

/// Small numbers that tell a row from a column.
Tensor pattern(const Shape& shape, int shift) {
  std::vector<double> elements;
  for (std::int64_t i = 0; i < shape.element_count(); ++i) {
    elements.push_back(static_cast<double>((i * 7 + shift) % 11 - 5) / 8);
  }
  return Tensor(shape, elements);
}

/// Two heads of width 2 over three positions, in f64.
Tensor attended(bool causal, const Tensor& x) {
  Tape tape;
  const MultiHeadAttention layer(tape, "layer", 4, 2,
                                 {.causal = causal, .dtype = f64});
  const Value in = tape.input("x", f64, x.shape());
  const Value y = layer(in);
  const Network network = tape.seal();
  Parameters parameters = network.parameters();
  parameters.set("layer.query_key_value.weight", pattern({4, 12}, 0));
  parameters.set("layer.query_key_value.bias", pattern({12}, 3));
  parameters.set("layer.output.weight", pattern({4, 4}, 1));
  parameters.set("layer.output.bias", pattern({4}, 5));
  const Plan plan = network.lower(Entry().result(y));
  const std::vector<Feed> feeds = {{in, x}};
  Session session = native::open(network, parameters);
  const Tensor found = session.step(plan, feeds).of(y);
  Session plain = interpreter::open(network, parameters);
  EXPECT_THAT(found, HasBitsOf(plain.step(plan, feeds).of(y)));
  return found;
}

// The expected numbers are NumPy's in f64, a head and a position at a time.
TEST(MultiHeadAttention, MixesAllPositions) {
  EXPECT_THAT(
      attended(false, pattern({1, 3, 4}, 2)),
      IsNear(tensor("f64[1, 3, 4]{-0.3920886902450417 -0.1808618814834989 "
                    "0.03948377131916009 -0.44284721909977565 "
                    "-0.39686845184341907 -0.17674363487043854 "
                    "0.03499173993310262 -0.4477228907689263 "
                    "-0.40104979266816443 -0.17339243982228725 "
                    "0.03056165205441186 -0.45182131590902314}"),
             1e-15));
}

TEST(MultiHeadAttention, SeesNoLaterPositionIfItIsCausal) {
  const Tensor x = pattern({1, 3, 4}, 2);
  const Tensor y = attended(true, x);
  EXPECT_THAT(
      y,
      IsNear(
          tensor("f64[1, 3, 4]{-0.63671875 0.029296875 -0.1640625 -0.701171875 "
                 "-0.3106492749949412 -0.24536120570592646 "
                 "0.14373773147270058 -0.3690126521508218 "
                 "-0.40104979266816443 -0.17339243982228725 "
                 "0.03056165205441186 -0.45182131590902314}"),
          1e-15));
  const Tensor other = concat({x.narrowed(1, 0, 2), pattern({1, 1, 4}, 9)}, 1);
  EXPECT_THAT(attended(true, other).narrowed(1, 0, 2),
              HasBitsOf(y.narrowed(1, 0, 2)));
}

TEST(MultiHeadAttention, NamesItsParameters) {
  Tape tape;
  SplitMix random(3);
  const MultiHeadAttention layer(tape, "layer", 6, 3, random, {.bias = false});
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters(layer, "layer")) {
    names.push_back(name);
    EXPECT_EQ(tape.name(parameter), name);
  }
  EXPECT_THAT(names, ElementsAre("layer.query_key_value.weight",
                                 "layer.output.weight"));
  SplitMix same(3);
  EXPECT_THAT(tape.seal().parameters().of("layer.query_key_value.weight"),
              HasBitsOf(xavier({6, 18}, same)));
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFitAndLeavesTheTapeAsItWas) {
  Tape tape;
  SplitMix random(3);
  const MultiHeadAttention layer(tape, "layer", 6, 3, random);
  const Value flat = tape.input("flat", f32, {4, 6});
  const Value wide = tape.input("wide", f32, {1, 4, 8});
  tape.parameter("other.output.weight", f32, {});
  const std::size_t before = tape.size();

  EXPECT_EQ(user_error<ShapeError>([&] { layer(flat); }),
            "user: MultiHeadAttention: [4, 6] is not [batch, time, 6]");
  EXPECT_EQ(user_error<ShapeError>([&] { layer(wide); }),
            "user: MultiHeadAttention: [1, 4, 8] is not [batch, time, 6]");
  EXPECT_EQ(user_error<ShapeError>(
                [&] { MultiHeadAttention(tape, "new", 6, 4, random); }),
            "user: MultiHeadAttention \"new\": a width of 6 cannot be cut into "
            "4 heads");
  EXPECT_THAT(user_error<ShapeError>(
                  [&] { MultiHeadAttention(tape, "new", 6, 0, random); }),
              HasSubstr("cannot be cut into 0 heads"));
  EXPECT_THAT(user_error<UsageError>(
                  [&] { MultiHeadAttention(tape, "other", 6, 3, random); }),
              AllOf(StartsWith("user: "),
                    HasSubstr("the name \"other.output.weight\" is taken")));
  EXPECT_EQ(tape.size(), before);
}

}  // namespace
}  // namespace topos::nn
