#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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
using testing::StartsWith;

template <class E, class F>
std::string user_error(F&& f) {
  return at_a_line_of("adamw_test.cpp", message_of<E>(f));
}

/// One parameter whose gradient is fed.
struct Training {
  Value gradient, rate;
  Network network;
  Plan step;
};

Training training_of(const Tensor& initial, const AdamWOptions& options) {
  Tape tape;
  const Value parameter = tape.parameter("p", initial);
  const Value gradient = tape.input("g", initial.dtype(), initial.shape());
  const Value rate = tape.input("rate", f64, {});
  Entry entry;
  const std::vector<Gradient> gradients = {{parameter, gradient}};
  for (auto [input, next] : AdamW(options).record(tape, gradients, rate)) {
    entry.carry(input, next);
  }
  const Network network = tape.seal();
  return {gradient, rate, network, network.lower(entry)};
}

// The parameters after each of three steps, by NumPy in f64 from 1 - beta^t.
TEST(AdamW, FollowsItsFormula) {
  const Training training =
      training_of(tensor("f64[3]{1 -2 0.5}"), {.decay = 0.02});
  const std::vector<std::string> gradients = {
      "f64[3]{0.5 -1 0}", "f64[3]{-0.25 -3 0.001}", "f64[3]{2 0.125 -0.001}"};
  const std::vector<std::string> expected = {
      "f64[3]{0.8980000019999999 -1.896000001 0.499}",
      "f64[3]{0.8695702987038462 -1.8004298895103323 0.4235893697336898}",
      "f64[3]{0.8007663939277452 -1.7284642538168278 0.42726035964972997}"};
  for (const Engine& engine : {interpreter::engine(), native::engine()}) {
    SCOPED_TRACE(engine.name());
    Session session = engine.open(training.network);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      session.step(training.step, {{training.gradient, tensor(gradients[i])},
                                   {training.rate, 0.1}});
      EXPECT_THAT(session.parameters().of("p"),
                  IsNear(tensor(expected[i]), 1e-14));
    }
    EXPECT_THAT(session.state(training.network.symbol("adamw.steps")),
                HasBitsOf(Tensor::scalar(3)));
  }
}

// In f32, 1 - 0.999^1 rounded would move the first step by 1e-5. The step is
// the rate times the sign of the gradient, whatever its size.
TEST(AdamW, KeepsItsAccuracyAtTheFirstStep) {
  const Training training = training_of(
      tensor("f32[2]{0 0}"), {.epsilon = 0, .decay = 0, .name = "adam"});
  Session session = native::open(training.network);
  session.step(training.step, {{training.gradient, tensor("f32[2]{3 -0.001}")},
                               {training.rate, 1}});
  EXPECT_THAT(session.parameters().of("p"),
              IsNear(tensor("f32[2]{-1 1}"), 3e-7));
}

// In bf16 the second moment would not leave 1: 0.999 is nearest to 1.
TEST(AdamW, ComputesInF32ForParametersOf16Bits) {
  const Training training = training_of(tensor("bf16[2]{1 -2}"), {.decay = 0});
  Session session = native::open(training.network);
  for (int i = 0; i < 2; ++i) {
    session.step(training.step, {{training.gradient, tensor("bf16[2]{0.5 -3}")},
                                 {training.rate, 0.25}});
  }
  EXPECT_THAT(session.parameters().of("p"),
              HasBitsOf(tensor("bf16[2]{0.5 -1.5}")));
  EXPECT_THAT(session.state(training.network.symbol("p.second_moment")),
              IsNear(tensor("f32[2]{0.00049975 0.017991}"), 1e-7));
}

TEST(AdamW, RecordsItsStatesInOrder) {
  Tape tape;
  const Value a = tape.parameter("a", f32, {2});
  const Value b = tape.parameter("b", f64, {3});
  const std::vector<Gradient> gradients = {{a, a * a}, {b, b * b}};
  const std::vector<Update> updates = AdamW().record(tape, gradients, 0.1);
  std::vector<std::string> names;
  for (const auto& [input, next] : updates) {
    names.push_back(tape.name(input));
    EXPECT_EQ(input.type(), next.type());
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "adamw.steps", "a.first_moment", "a.second_moment", "a",
                       "b.first_moment", "b.second_moment", "b"}));
}

TEST(AdamW, RefusesWhatDoesNotFitAndLeavesTheTapeAsItWas) {
  Tape tape;
  const Value a = tape.parameter("a", f32, {2});
  const Value wrong = tape.input("wrong", f32, {3});
  const Value whole = tape.input("whole", i32, {});
  const std::vector<Gradient> gradients = {{a, a}};
  const std::vector<Gradient> misshapen = {{a, wrong}};
  const std::size_t before = tape.size();
  const AdamW adamw;
  EXPECT_EQ(
      user_error<DTypeError>([&] { adamw.record(tape, gradients, whole); }),
      "user: AdamW::record: the rate is i32[], not floating");
  EXPECT_EQ(user_error<ShapeError>([&] { adamw.record(tape, misshapen, 0.1); }),
            "user: AdamW::record: the gradient of \"a\", f32[2], is f32[3]");
  EXPECT_EQ(user_error<UsageError>([&] { adamw.record(tape, {}, 0.1); }),
            "user: AdamW::record: there is no gradient");
  EXPECT_EQ(tape.size(), before);

  EXPECT_THAT(user_error<UsageError>([] { AdamW({.beta1 = 1}); }),
              StartsWith("user: AdamW: beta1 is 1.0"));
  EXPECT_THAT(user_error<UsageError>([] { AdamW({.beta2 = std::nan("")}); }),
              StartsWith("user: AdamW: beta2 is nan"));
  EXPECT_THAT(user_error<UsageError>([] { AdamW({.epsilon = -1}); }),
              StartsWith("user: AdamW: epsilon is -1"));
  EXPECT_THAT(user_error<UsageError>([] {
                AdamW({.decay = std::numeric_limits<double>::infinity()});
              }),
              StartsWith("user: AdamW: the decay is inf"));
}

}  // namespace
}  // namespace topos::nn
