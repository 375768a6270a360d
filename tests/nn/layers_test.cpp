#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nn/message.h"
#include "topos/nn.h"
#include "topos/topos.h"

namespace topos::nn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The message, its line in this file as `user`.
template <class E, class F>
std::string user_error(F&& f) {
  return at_a_line_of("layers_test.cpp", message_of<E>(f));
}

TEST(Linear, DeclaresItsWeightAndItsBias) {
  Tape tape;
  SplitMix random(7);
  const Linear hidden(tape, "hidden", 30, 100, random);
  EXPECT_EQ(hidden.weight.type(), (Type{f32, {30, 100}}));
  EXPECT_EQ(hidden.bias->type(), (Type{f32, {100}}));
  EXPECT_EQ(tape.name(hidden.weight), "hidden.weight");
  EXPECT_EQ(tape.name(*hidden.bias), "hidden.bias");

  SplitMix same(7);
  const Parameters parameters = tape.seal().parameters();
  EXPECT_TRUE(
      bits_equal(parameters.of("hidden.weight"), xavier({30, 100}, same)));
  EXPECT_TRUE(
      bits_equal(parameters.of("hidden.bias"), Tensor::zeros({f32, {100}})));
}

TEST(Linear, IsTheAffineMap) {
  Tape tape;
  Linear layer(tape, "layer", 2, 3);
  const Value x = tape.input("x", f32, {2, 2});
  const Value y = layer(x);
  EXPECT_EQ(y.type(), (Type{f32, {2, 3}}));

  const Network network = tape.seal();
  Parameters parameters = network.parameters();
  parameters.set("layer.weight", Tensor({2, 3}, {1.f, 2.f, 3.f,  //
                                                 4.f, 5.f, 6.f}));
  parameters.set("layer.bias", Tensor({3}, {10.f, 20.f, 30.f}));
  Session session = interpreter::open(network, parameters);
  const Plan plan = network.lower(Entry().result(y));
  const topos::Run run =
      session.step(plan, {{x, Tensor({2, 2}, {1.f, 0.f, 1.f, 1.f})}});
  EXPECT_EQ(run.of(y).to_vector<float>(),
            (std::vector<float>{11, 22, 33, 15, 27, 39}));
}

TEST(Linear, TakesAnyNumberOfRowAxes) {
  Tape tape;
  SplitMix random(1);
  const Linear layer(tape, "layer", 4, 5, random);
  EXPECT_EQ(layer(tape.input("x", f32, {2, 3, 4})).shape(), Shape({2, 3, 5}));
  EXPECT_EQ(layer(tape.input("none", f32, {0, 4})).shape(), Shape({0, 5}));
}

TEST(Linear, MayBeWithoutBiasAndOfAnotherDType) {
  Tape tape;
  SplitMix random(1);
  const Linear layer(tape, "layer", 4, 5, random,
                     {.bias = false, .dtype = f64, .initializer = kaiming});
  EXPECT_FALSE(layer.bias);
  EXPECT_EQ(layer.weight.dtype(), f64);
  const Value x = tape.input("x", f64, {1, 4});
  const std::size_t before = tape.size();
  EXPECT_EQ(layer(x).type(), (Type{f64, {1, 5}}));
  EXPECT_EQ(tape.size(), before + 1) << "one product";

  SplitMix same(1);
  EXPECT_TRUE(bits_equal(tape.seal().parameters().of("layer.weight"),
                         kaiming({4, 5}, same, f64)));
}

TEST(Linear, TakesAnInitializerOfTheUsersOwn) {
  Tape tape;
  SplitMix random(1);
  const Linear layer(
      tape, "layer", 2, 3, random,
      {.initializer = [](const Shape& shape, SplitMix&, DType dtype) {
        return Tensor::full({dtype, shape}, 0.5);
      }});
  EXPECT_EQ(tape.seal().parameters().of("layer.bias").to_vector<float>(),
            std::vector<float>(3, 0.5f));
}

TEST(Linear, NamesTheUsersLineAndThenItsOwn) {
  Tape tape;
  SplitMix random(7);
  const Linear hidden(tape, "hidden", 30, 100, random);
  const Value x = tape.input("x", f32, {64, 31});
  const std::size_t before = tape.size();
  const int line = __LINE__ + 1;
  const auto message = message_of<ShapeError>([&] { hidden(x); });
  EXPECT_THAT(message, StartsWith("layers_test.cpp:" + std::to_string(line) +
                                  ": in linear.cpp:"));
  EXPECT_THAT(message, HasSubstr("the inner extents 31 and 30 differ"));
  EXPECT_THAT(message, HasSubstr("parameter \"hidden.weight\""));
  EXPECT_EQ(tape.size(), before) << "the tape is as it was";

  const Value wrong = tape.input("wrong", f64, {64, 30});
  EXPECT_THAT(user_error<DTypeError>([&] { hidden(wrong); }),
              StartsWith("user: in linear.cpp:"));
  EXPECT_THAT(user_error<Error>([&] { hidden(2.5); }),
              StartsWith("user: in linear.cpp:"));
}

TEST(Linear, RecordsTheUsersLine) {
  Tape tape;
  SplitMix random(7);
  const Linear hidden(tape, "hidden", 3, 4, random);
  const Value x = tape.input("x", f32, {2, 3});
  const int line = __LINE__ + 1;
  hidden(x);
  EXPECT_THAT(tape.describe(),
              HasSubstr("layers_test.cpp:" + std::to_string(line)));
}

TEST(Linear, RefusesWhatItCannotDeclare) {
  Tape tape;
  SplitMix random(7);
  const Linear hidden(tape, "hidden", 3, 4, random);
  const std::size_t before = tape.size();

  EXPECT_THAT(
      user_error<UsageError>([&] { Linear(tape, "hidden", 3, 4, random); }),
      AllOf(StartsWith("user: "),
            HasSubstr("the name \"hidden.weight\" is taken by ")));
  EXPECT_THAT(
      user_error<ShapeError>([&] { Linear(tape, "minus", -3, 4, random); }),
      StartsWith("user: Linear \"minus\": "));
  EXPECT_EQ(user_error<DTypeError>(
                [&] { Linear(tape, "whole", 3, 4, random, {.dtype = i32}); }),
            "user: Linear \"whole\": a parameter of type i32[3, 4] cannot be "
            "trained: its dtype is not floating");
  const Initializer odd = [](const Shape&, SplitMix&, DType) {
    return Tensor::zeros({f32, {2}});
  };
  EXPECT_EQ(user_error<ShapeError>([&] {
              Linear(tape, "odd", 3, 4, random, {.initializer = odd});
            }),
            "user: Linear \"odd\": the initializer was asked for f32[3, 4] and "
            "gave f32[2]");
  EXPECT_EQ(tape.size(), before);
}

TEST(Embedding, ReadsItsRows) {
  Tape tape;
  SplitMix random(8);
  const Embedding table(tape, "table", 27, 10, random);
  EXPECT_EQ(tape.name(table.weight), "table.weight");
  EXPECT_EQ(table.weight.type(), (Type{f32, {27, 10}}));
  const Value index = tape.input("index", i32, {2, 3});
  const Value rows = table(index);
  EXPECT_EQ(rows.type(), (Type{f32, {2, 3, 10}}));

  const Network network = tape.seal();
  const Tensor weight = network.parameters().of("table.weight");
  EXPECT_TRUE(bits_equal(weight, normal({27, 10}, 1.0, 8)));
  const Tensor read =
      network.evaluate(rows, {{index, Tensor({2, 3}, {0, 1, 26, 1, 1, 0})}});
  EXPECT_TRUE(
      bits_equal(read.narrowed(0, 0, 1).narrowed(1, 2, 1).reshaped({10}),
                 weight.narrowed(0, 26, 1).reshaped({10})));
  EXPECT_TRUE(
      bits_equal(read.narrowed(0, 1, 1).narrowed(1, 0, 1).reshaped({10}),
                 weight.narrowed(0, 1, 1).reshaped({10})));
}

TEST(Embedding, MayBeFilledLater) {
  Tape tape;
  const Embedding table(tape, "table", 27, 10, {.dtype = f64});
  EXPECT_EQ(table.weight.type(), (Type{f64, {27, 10}}));
  EXPECT_FALSE(tape.seal().parameters().items()[0].payload);
}

TEST(Embedding, RefusesWhatIsNoIndex) {
  Tape tape;
  SplitMix random(8);
  const Embedding table(tape, "table", 27, 10, random);
  const Value x = tape.input("x", f32, {2});
  EXPECT_THAT(user_error<DTypeError>([&] { table(x); }),
              StartsWith("user: in embedding.cpp:"));
  EXPECT_THAT(user_error<DTypeError>([&] {
                Embedding(tape, "other", 2, 3, random, {.dtype = boolean});
              }),
              StartsWith("user: Embedding \"other\": "));
  EXPECT_THAT(
      user_error<UsageError>([&] { Embedding(tape, "table", 2, 3, random); }),
      AllOf(StartsWith("user: "),
            HasSubstr("the name \"table.weight\" is taken by ")));
}

TEST(Losses, AreTheOperations) {
  Tape tape;
  const Value logits = tape.input("logits", f32, {4, 3});
  const Value targets = tape.input("targets", i32, {4});
  const Value loss = nn::cross_entropy(logits, targets);
  EXPECT_EQ(loss.shape(), Shape({}));
  const Value column = tape.input("column", i32, {4, 1});
  EXPECT_THAT(
      user_error<ShapeError>([&] { nn::cross_entropy(logits, column); }),
      StartsWith("user: cross_entropy: "));
  EXPECT_EQ(nn::mse(logits, logits).shape(), Shape({}));
}

}  // namespace
}  // namespace topos::nn
