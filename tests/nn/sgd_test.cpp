#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nn/message.h"
#include "topos/nn.h"
#include "topos/topos.h"

namespace topos::nn {
namespace {

using testing::StartsWith;

/// The message, its line in this file as `user`.
template <class E, class F>
std::string user_error(F&& f) {
  return at_a_line_of("sgd_test.cpp", message_of<E>(f));
}

/// A network of two layers in two dtypes with a loss to train it by.
struct Training {
  explicit Training(Tape& tape) {
    SplitMix random(3);
    const Linear first(tape, "first", 5, 7, random);
    const Linear second(tape, "second", 7, 4, random, {.dtype = f64});
    x = tape.input("x", f32, {6, 5});
    targets = tape.input("targets", i32, {6});
    rate = tape.input("rate", f32, {});
    loss = cross_entropy(second(cast(tanh(first(x)), f64)), targets);
    gradients = tape.gradients(loss);
  }

  Value x, targets, rate, loss;
  std::vector<Gradient> gradients;
};

std::vector<Feed> batch(const Training& training, int step) {
  return {{training.x, normal({6, 5}, 1.0, 100 + step)},
          {training.targets, Tensor({6}, {0, 1, 2, 3, step % 4, 1})},
          {training.rate, step < 3 ? 0.1 : 0.03}};
}

class SgdForms : public testing::TestWithParam<double> {};

TEST_P(SgdForms, RecordedAndHostUpdatesHaveTheSameBits) {
  Tape tape;
  const Training training(tape);
  Sgd sgd({.momentum = GetParam()});
  Entry recorded;
  recorded.result(training.loss);
  for (auto [input, next] :
       sgd.record(tape, training.gradients, training.rate)) {
    recorded.carry(input, next);
  }
  Entry plain;
  for (const auto& [parameter, gradient] : training.gradients) {
    plain.result(gradient);
  }
  const Network network = tape.seal();
  const Plan step = network.lower(recorded);
  const Plan gradients_only = network.lower(plain);

  for (const Engine& engine : {interpreter::engine(), native::engine()}) {
    SCOPED_TRACE(engine.name());
    Session session = engine.open(network);
    Parameters host = network.parameters();
    sgd.set_velocities({});
    for (int i = 0; i < 6; ++i) {
      const std::vector<Feed> feeds = batch(training, i);
      session.step(step, feeds);

      Session reader = engine.open(network, host);
      const topos::Run run =
          reader.step(gradients_only, std::span(feeds).first(2));
      std::vector<Tensor> gradients;
      for (const auto& [parameter, gradient] : training.gradients) {
        gradients.push_back(run.of(gradient));
      }
      host = sgd.step(host, gradients, Tensor::scalar(i < 3 ? 0.1f : 0.03f));

      const Parameters carried = session.parameters();
      ASSERT_EQ(carried.size(), 4u);
      for (std::size_t p = 0; p < carried.size(); ++p) {
        EXPECT_TRUE(
            bits_equal(*carried.items()[p].payload, *host.items()[p].payload))
            << carried.items()[p].name << " after step " << i;
      }
    }
    if (GetParam() == 0) {
      EXPECT_TRUE(sgd.velocities().empty());
      continue;
    }
    ASSERT_EQ(sgd.velocities().size(), 4u);
    EXPECT_TRUE(
        bits_equal(session.state(network.symbol("second.bias.velocity")),
                   sgd.velocities()[3]));
  }
}

INSTANTIATE_TEST_SUITE_P(PlainAndWithMomentum, SgdForms,
                         testing::Values(0.0, 0.9));

TEST(Sgd, FollowsItsFormula) {
  Parameters parameters = [] {
    Tape tape;
    tape.parameter("p", Tensor({2}, {1.f, -2.f}));
    return tape.seal().parameters();
  }();
  const std::vector<Tensor> gradient = {Tensor({2}, {4.f, 8.f})};

  EXPECT_EQ(Sgd().step(parameters, gradient, 0.5).of("p").to_vector<float>(),
            (std::vector<float>{-1, -6}));

  Sgd sgd({.momentum = 0.5});
  parameters = sgd.step(parameters, gradient, 0.5);  // u = 4, 8
  parameters = sgd.step(parameters, gradient, 0.5);  // u = 6, 12
  EXPECT_EQ(parameters.of("p").to_vector<float>(),
            (std::vector<float>{-4, -12}));
  EXPECT_EQ(sgd.velocities()[0].to_vector<float>(),
            (std::vector<float>{6, 12}));
}

TEST(Sgd, RecordsOneInputAParameterWithMomentumAndNoneWithout) {
  Tape tape;
  const Training training(tape);
  const auto plain = Sgd().record(tape, training.gradients, 0.1);
  ASSERT_EQ(plain.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plain[i].input, training.gradients[i].parameter);
    EXPECT_EQ(plain[i].next.type(), plain[i].input.type());
  }
  const auto heavy =
      Sgd({.momentum = 0.9}).record(tape, training.gradients, training.rate);
  ASSERT_EQ(heavy.size(), 8u);
  EXPECT_EQ(tape.name(heavy[0].input), "first.weight.velocity");
  EXPECT_EQ(heavy[1].input, training.gradients[0].parameter);
  for (const auto& [input, next] : heavy) EXPECT_EQ(input.type(), next.type());
}

TEST(Sgd, RefusesWhatDoesNotFitAndLeavesTheTapeAsItWas) {
  Tape tape;
  const Training training(tape);
  const Value three = tape.input("three", f32, {3});
  const Value whole = tape.input("whole", i32, {});
  const std::size_t before = tape.size();
  const Sgd sgd({.momentum = 0.9});
  const auto& gradients = training.gradients;

  EXPECT_EQ(user_error<ShapeError>([&] { sgd.record(tape, gradients, three); }),
            "user: Sgd::record: the rate is f32[3], not a "
            "scalar");
  EXPECT_EQ(user_error<DTypeError>([&] { sgd.record(tape, gradients, whole); }),
            "user: Sgd::record: the rate is i32[], not "
            "floating");
  const std::vector<Gradient> wrong = {
      {gradients[0].parameter, gradients[1].gradient}};
  EXPECT_EQ(user_error<ShapeError>([&] { sgd.record(tape, wrong, 0.1); }),
            "user: Sgd::record: the gradient of "
            "\"first.weight\", f32[5, 7], is f32[7]");
  EXPECT_EQ(tape.size(), before);

  EXPECT_THAT(user_error<UsageError>([] { Sgd({.momentum = -1}); }),
              StartsWith("user: Sgd: the momentum is -1"));
}

TEST(Sgd, RefusesParametersThatItDoesNotRemember) {
  Tape tape;
  tape.parameter("p", Tensor({2}, {1.f, -2.f}));
  const Parameters one = tape.seal().parameters();
  Tape other;
  other.parameter("q", Tensor({3}, {1.f, 2.f, 3.f}));
  const Parameters two = other.seal().parameters();

  const std::vector<Tensor> first = {Tensor({2}, {1.f, 1.f})};
  const std::vector<Tensor> second = {Tensor({3}, {1.f, 1.f, 1.f})};
  Sgd sgd({.momentum = 0.5});
  sgd.step(one, first, 0.1);
  EXPECT_THAT(user_error<UsageError>([&] { sgd.step(two, second, 0.1); }),
              StartsWith("user: Sgd::step: a velocity is "));
  EXPECT_THAT(user_error<ShapeError>([&] { sgd.step(one, {}, 0.1); }),
              StartsWith("user: Sgd::step: "));
  EXPECT_THAT(user_error<ShapeError>([&] { sgd.step(one, second, 0.1); }),
              StartsWith("user: Sgd::step: parameter \"p\""));
  EXPECT_EQ(sgd.velocities()[0].to_vector<float>(), (std::vector<float>{1, 1}))
      << "an error leaves the velocities as they were";
}

}  // namespace
}  // namespace topos::nn
