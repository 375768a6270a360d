// What a session promises, on every engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/message.h"
#include "engine/on_engine.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

/// A linear model with momentum-like state: weight, counter, two plans.
struct Model {
  Model() {
    Tape tape;
    weight = tape.parameter("weight", tensor("f32[2]{1 2}"));
    scale = tape.parameter("scale", tensor("f32[]{3}"));
    x = tape.input("x", f32, {2});
    counter = tape.input("counter", i32, {});
    y = weight * x + scale;
    loss = sum(y);
    next_weight = weight - x;
    next_counter = counter + 1;
    network.emplace(tape.seal());
    train.emplace(network->lower(Entry()
                                     .result(loss)
                                     .result(counter)
                                     .carry(weight, next_weight)
                                     .carry(counter, next_counter)));
    sample.emplace(network->lower(Entry().result(y).result(weight)));
    count.emplace(network->lower(Entry().result(next_counter)));
  }

  Value weight, scale, x, counter, y, loss, next_weight, next_counter;
  std::optional<Network> network;
  std::optional<Plan> train, sample, count;
};

TEST_P(Sessions, StepSeveralPlansOverOneState) {
  const Model m;
  Session session = tested().open(*m.network);
  const Tensor x = tensor("f32[2]{1 10}");
  {
    const auto run = session.step(*m.train, {{m.x, x}});
    EXPECT_EQ(run.scalar(m.loss), 1 + 20 + 6);
    EXPECT_EQ(run.scalar(m.counter), 0) << "a carried input starts as zeros";
  }
  {
    const auto run = session.step(*m.sample, {{m.x, x}});
    EXPECT_THAT(run.of(m.weight), HasBitsOf(tensor("f32[2]{0 -8}")));
    EXPECT_THAT(run.of(m.y), HasBitsOf(tensor("f32[2]{3 -77}")));
  }
  // The input that `train` carries is the session's, so `count` finds it.
  EXPECT_EQ(session.step(*m.count).scalar(m.next_counter), 2);
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.counter), 1);
  EXPECT_EQ(session.state(m.counter).item(), 2);
  EXPECT_THAT(session.state(m.weight), HasBitsOf(tensor("f32[2]{-1 -18}")));
  EXPECT_THAT(session.parameters().of("weight"),
              HasBitsOf(tensor("f32[2]{-1 -18}")));
  EXPECT_THAT(session.parameters().of("scale"), HasBitsOf(tensor("f32[]{3}")));
  EXPECT_THAT(m.network->parameters().of("weight"),
              HasBitsOf(tensor("f32[2]{1 2}")))
      << "the network keeps the initial payloads";
}

TEST_P(Sessions, ReadInputsBeforeTheStepAndStateAfterIt) {
  const Model m;
  const Plan plan = m.network->lower(Entry()
                                         .result(m.weight)
                                         .result(m.next_weight)
                                         .result(m.counter)
                                         .result(m.x)
                                         .carry(m.weight, m.next_weight)
                                         .carry(m.counter, m.next_counter));
  Session session = tested().open(*m.network);
  EXPECT_EQ(session.state(m.counter).item(), 0);
  EXPECT_THAT(session.state(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
  const auto run = session.step(plan, {{m.x, tensor("f32[2]{5 5}")}});
  EXPECT_THAT(run.of(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
  EXPECT_THAT(run.of(m.next_weight), HasBitsOf(tensor("f32[2]{-4 -3}")));
  EXPECT_THAT(run.of(m.x), HasBitsOf(tensor("f32[2]{5 5}")));
  EXPECT_EQ(run.scalar(m.counter), 0);
  EXPECT_THAT(session.state(m.weight), HasBitsOf(tensor("f32[2]{-4 -3}")));
  EXPECT_EQ(session.state(m.counter).item(), 1);
  // Reading the state ends no run.
  EXPECT_THAT(run.of(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
}

TEST_P(Sessions, SharePlacements) {
  const Model m;
  const Placement placement =
      tested().place(*m.network, m.network->parameters());
  Session one = tested().open(placement);
  Session two = tested().open(placement);
  const Tensor x = tensor("f32[2]{1 1}");
  one.step(*m.train, {{m.x, x}});
  one.step(*m.train, {{m.x, x}});
  EXPECT_THAT(two.state(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
  two.step(*m.train, {{m.x, x}});
  EXPECT_THAT(one.state(m.weight), HasBitsOf(tensor("f32[2]{-1 0}")));
  EXPECT_THAT(two.state(m.weight), HasBitsOf(tensor("f32[2]{0 1}")));
  EXPECT_EQ(one.state(m.counter).item(), 2);
  EXPECT_EQ(two.state(m.counter).item(), 1);
}

TEST_P(Sessions, SetMakesAParameterTheSessionsOwn) {
  const Model m;
  const Placement placement =
      tested().place(*m.network, m.network->parameters());
  Session session = tested().open(placement);
  const Tensor x = tensor("f32[2]{1 1}");
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.loss), 9);
  session.set(m.scale, tensor("f32[]{0}"));
  session.set(m.weight, tensor("f32[2]{7 8}"));
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.loss), 15);
  EXPECT_EQ(session.state(m.scale).item(), 0);
  EXPECT_EQ(tested().open(placement).state(m.scale).item(), 3);
  // A view is set as what it shows.
  session.set(m.weight, tensor("f32[2]{1 2}").reversed({0}));
  EXPECT_THAT(session.state(m.weight), HasBitsOf(tensor("f32[2]{2 1}")));
}

TEST_P(Sessions, ResetGoesBackToThePlacementAndToZeros) {
  const Model m;
  Session session = tested().open(*m.network);
  const Tensor x = tensor("f32[2]{1 1}");
  session.set(m.counter, tensor("i32[]{41}"));
  session.set(m.scale, tensor("f32[]{0}"));
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.counter), 41);
  session.reset();
  EXPECT_EQ(session.state(m.counter).item(), 0);
  EXPECT_EQ(session.state(m.scale).item(), 3);
  EXPECT_THAT(session.state(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.loss), 9);
}

TEST_P(Sessions, ForksGoTheirOwnWay) {
  const Model m;
  Session session = tested().open(*m.network);
  const Tensor x = tensor("f32[2]{1 1}");
  session.step(*m.train, {{m.x, x}});
  Session fork = session.fork();
  session.step(*m.train, {{m.x, x}});
  EXPECT_EQ(fork.state(m.counter).item(), 1);
  EXPECT_EQ(fork.step(*m.train, {{m.x, x}}).scalar(m.loss), 7);
  EXPECT_THAT(fork.state(m.weight), HasBitsOf(session.state(m.weight)));
  // reset goes back to the placement, not to the moment of the fork.
  fork.reset();
  EXPECT_THAT(fork.state(m.weight), HasBitsOf(tensor("f32[2]{1 2}")));
}

TEST_P(Sessions, TakeFeedsInEveryForm) {
  Tape tape;
  const Value matrix = tape.input("matrix", f32, {2, 3});
  const Value whole = tape.input("whole", i64, {});
  const Value half = tape.input("half", f64, {});
  const Value flag = tape.input("flag", boolean, {});
  const Value none = tape.input("none", f32, {0, 3});
  const Value twice = matrix + matrix;
  const Network network = tape.seal();
  const Plan plan = network.lower(
      Entry().result(twice).result(whole).result(half).result(flag).result(
          none));
  Session session = tested().open(network);
  const Tensor x = tensor("f32[2, 3]{1 2 3 4 5 6}");
  const Tensor expected = tensor("f32[2, 3]{2 4 6 8 10 12}");
  const std::vector<float> elements{9, 1, 2, 3, 4, 5, 6};
  const std::span<const float> odd = std::span(elements).subspan(1);
  const Tensor strided_x = x.permuted({1, 0}).contiguous().permuted({1, 0});
  ASSERT_FALSE(strided_x.is_contiguous());
  const Feed forms[] = {{matrix, x},
                        {matrix, strided_x},
                        {matrix, odd},
                        {matrix, x.reversed({0}).contiguous().reversed({0})}};
  for (const Feed& form : forms) {
    const Feed feeds[] = {{flag, true},
                          form,
                          {none, Tensor::zeros({f32, {0, 3}})},
                          {half, 0.5},
                          {whole, std::int64_t{1} << 62}};
    const auto run = session.step(plan, feeds);
    EXPECT_THAT(run.of(twice), HasBitsOf(expected));
    EXPECT_THAT(run.of(whole),
                HasBitsOf(Tensor::scalar(std::int64_t{1} << 62)));
    EXPECT_THAT(run.of(half), HasBitsOf(tensor("f64[]{0.5}")));
    EXPECT_THAT(run.of(flag), HasBitsOf(tensor("boolean[]{1}")));
    EXPECT_THAT(run.of(none), HasBitsOf(tensor("f32[0, 3]{}")));
  }
  // Fed elements need to live for the step only.
  std::vector<float> brief{1, 2, 3, 4, 5, 6};
  const auto run = session.step(plan, {{matrix, brief},
                                       {none, std::vector<float>()},
                                       {whole, 7},
                                       {half, 1},
                                       {flag, false}});
  brief.assign(6, -1);
  EXPECT_THAT(run.of(twice), HasBitsOf(expected));
  std::vector<float> out(6);
  run.read_into(twice, std::span(out));
  EXPECT_THAT(out, testing::ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_P(Sessions, CarriesTakeEffectTogether) {
  Tape tape;
  const Value a = tape.parameter("a", tensor("f32[2]{1 2}"));
  const Value b = tape.parameter("b", tensor("f32[2]{3 4}"));
  const Value c = tape.input("c", f32, {2});
  const Value kept = tape.input("kept", i64, {});
  const Value sum_of_all = a + b + c;
  const Network network = tape.seal();
  const Plan rotate = network.lower(Entry()
                                        .result(sum_of_all)
                                        .result(c)
                                        .carry(c, a)
                                        .carry(b, c)
                                        .carry(a, b)
                                        .carry(kept, kept));
  Session session = tested().open(network);
  session.set(c, tensor("f32[2]{5 6}"));
  session.set(kept, Tensor::scalar(std::int64_t{1} << 62));
  const char* const states[] = {"f32[2]{1 2}", "f32[2]{3 4}", "f32[2]{5 6}"};
  for (std::size_t i = 1; i < 8; ++i) {
    const auto run = session.step(rotate);
    EXPECT_THAT(run.of(sum_of_all), HasBitsOf(tensor("f32[2]{9 12}")));
    EXPECT_THAT(run.of(c), HasBitsOf(tensor(states[(i + 1) % 3])));
    EXPECT_THAT(session.state(a), HasBitsOf(tensor(states[i % 3])));
    EXPECT_THAT(session.state(b), HasBitsOf(tensor(states[(i + 1) % 3])));
    EXPECT_THAT(session.state(c), HasBitsOf(tensor(states[(i + 2) % 3])));
    EXPECT_EQ(session.state(kept).item(), 0x1p62);
  }
}

TEST_P(Sessions, OneValueMayBeSeveralResultsAndCarries) {
  Tape tape;
  const Value w = tape.parameter("w", tensor("f32[2]{1 2}"));
  const Value m = tape.input("m", f32, {2});
  const Value next = w + 1;
  const Network network = tape.seal();
  const Plan plan = network.lower(
      Entry().result(next).result(w).carry(w, next).carry(m, next));
  Session session = tested().open(network);
  session.step(plan);
  const auto run = session.step(plan);
  EXPECT_THAT(run.of(next), HasBitsOf(tensor("f32[2]{3 4}")));
  EXPECT_THAT(run.of(w), HasBitsOf(tensor("f32[2]{2 3}")));
  EXPECT_THAT(session.state(w), HasBitsOf(tensor("f32[2]{3 4}")));
  EXPECT_THAT(session.state(m), HasBitsOf(tensor("f32[2]{3 4}")));
}

TEST_P(Sessions, EveryDTypeAndShapeIsFedCarriedAndRead) {
  for (const char* element :
       {"f32[]{-0}", "f64[]{0x1p-1060}", "i32[]{-2147483648}",
        "i64[]{-9223372036854775808}", "boolean[]{1}", "f32[0]{}",
        "i64[2, 0, 3]{}", "boolean[3, 1]{1 0 1}", "f64[1, 2]{inf nan}",
        "i32[1, 1, 1, 1, 1, 1, 1, 2]{7 -7}"}) {
    SCOPED_TRACE(element);
    const Tensor value = tensor(element);
    Tape tape;
    const Value fed = tape.input("fed", value.dtype(), value.shape());
    const Value kept = tape.input("kept", value.dtype(), value.shape());
    const Value w = tape.parameter("w", value);
    const Value flat = reshape(fed, {value.element_count()});
    const Network network = tape.seal();
    const Plan plan = network.lower(
        Entry().result(kept).result(w).result(flat).carry(kept, fed));
    Session session = tested().open(network);
    const Tensor zeros = Tensor::zeros(value.type());
    {
      const auto run = session.step(plan, {{fed, value}});
      EXPECT_THAT(run.of(kept), HasBitsOf(zeros));
      EXPECT_THAT(run.of(w), HasBitsOf(value));
      EXPECT_THAT(run.of(flat),
                  HasBitsOf(value.reshaped({value.element_count()})));
    }
    EXPECT_THAT(session.state(kept), HasBitsOf(value));
    EXPECT_THAT(session.fork().step(plan, {{fed, zeros}}).of(kept),
                HasBitsOf(value));
  }
}

// ---- Misuse ----------------------------------------------------------------

TEST_P(Sessions, RefuseFeedsThatDoNotFit) {
  const Model m;
  Session session = tested().open(*m.network);
  const Tensor x = tensor("f32[2]{1 1}");
  EXPECT_THAT(message_of<UsageError>([&] { session.step(*m.train); }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ "
                           "\\(f32\\[2\\]\\) is not fed"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.train, {{m.x, x}, {m.x, x}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is fed "
                           "twice"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.train, {{m.x, x}, {m.counter, 1}});
              }),
              MatchesRegex("step: input \"counter\", session_test.cpp:[0-9]+ "
                           "is carried by the session and cannot be fed: use "
                           "set"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.sample, {{m.x, x}, {m.weight, x}});
              }),
              MatchesRegex("step: a feed names %0 \\(\"weight\"\\), which is "
                           "no input that this plan reads"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.sample, {{m.x, x}, {m.counter, 1}});
              }),
              MatchesRegex("step: a feed names %3 \\(\"counter\"\\), which is "
                           "no input that this plan reads"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.train, {{m.x, x}, {Symbol{99999, 0}, x}});
              }),
              MatchesRegex("step: a feed names %0 of tape 99999, but the plan "
                           "is of tape [0-9]+"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                session.step(*m.train, {{m.x, tensor("f64[2]{1 1}")}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is "
                           "f32\\[2\\], but is fed f64\\[2\\]"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                session.step(*m.train, {{m.x, tensor("f32[2, 1]{1 1}")}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is "
                           "f32\\[2\\], but is fed f32\\[2, 1\\]"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                session.step(*m.train, {{m.x, 1.0}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is "
                           "f32\\[2\\], but is fed the number 1"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                session.step(*m.train, {{m.x, std::vector<float>{1, 2, 3}}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is "
                           "f32\\[2\\], but is fed 3 elements of f32"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                session.step(*m.train, {{m.x, std::vector<double>{1, 2}}});
              }),
              MatchesRegex("step: input \"x\", session_test.cpp:[0-9]+ is "
                           "f32\\[2\\], but is fed 2 elements of f64"));
  EXPECT_THAT(message_of<DTypeError>([&] {
                session.step(*m.count, {{m.counter, 2.5}});
              }),
              MatchesRegex("step: input \"counter\", session_test.cpp:[0-9]+: "
                           "i32 cannot hold the number 2.5"));
  // Nothing ran.
  EXPECT_EQ(session.step(*m.train, {{m.x, x}}).scalar(m.counter), 0);
}

TEST_P(Sessions, FindAnUncarriedInputFedUntilAStateHoldsIt) {
  const Model m;
  Session session = tested().open(*m.network);
  EXPECT_EQ(session.step(*m.count, {{m.counter, 5}}).scalar(m.next_counter), 6);
  session.step(*m.train, {{m.x, tensor("f32[2]{1 1}")}});
  EXPECT_EQ(session.step(*m.count).scalar(m.next_counter), 2);
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*m.count, {{m.counter, 5}});
              }),
              HasSubstr("is carried by the session and cannot be fed"));
}

TEST_P(Sessions, EndARunWithTheNextStepSetOrReset) {
  const Model m;
  Session session = tested().open(*m.network);
  const Tensor x = tensor("f32[2]{1 1}");
  const std::string over =
      "this run is over: the session was stepped, set or reset since, and its "
      "memory serves the next step";
  const auto first = session.step(*m.train, {{m.x, x}});
  const auto second = session.step(*m.train, {{m.x, x}});
  EXPECT_EQ(message_of<UsageError>([&] { first.of(m.loss); }),
            "Run::of: " + over);
  EXPECT_EQ(message_of<UsageError>([&] { first.scalar(m.loss); }),
            "Run::scalar: " + over);
  float loss = 0;
  EXPECT_EQ(message_of<UsageError>(
                [&] { first.read_into(m.loss, std::span(&loss, 1)); }),
            "Run::read_into: " + over);
  second.read_into(m.loss, std::span(&loss, 1));
  EXPECT_EQ(loss, 7);
  session.set(m.scale, tensor("f32[]{1}"));
  EXPECT_EQ(message_of<UsageError>([&] { second.of(m.loss); }),
            "Run::of: " + over);
  const auto third = session.step(*m.train, {{m.x, x}});
  session.reset();
  EXPECT_EQ(message_of<UsageError>([&] { third.of(m.loss); }),
            "Run::of: " + over);
}

TEST_P(Sessions, KeepARunThroughWhatDoesNotStep) {
  Tape tape;
  const Value x = tape.input("x", f32, {40, 40});
  const Value small = reshape(narrow(exp(x), 0, 0, 1), {40});
  const Value large = matmul(transpose(exp(x)), matmul(x, x)) + 1;
  const Network network = tape.seal();
  const Plan one = network.lower(Entry().result(small));
  const Plan two = network.lower(Entry().result(large).result(x));
  const Plan three = network.lower(Entry().result(large));
  const Tensor ones = Tensor::full({f32, {40, 40}}, 1);
  Session session = tested().open(network);
  const auto run = session.step(one, {{x, ones}});
  const Tensor before = run.of(small);
  // A plan that needs more memory is bound, and a step is refused.
  session.describe(two);
  session.report(two);
  EXPECT_THROW(session.step(three), UsageError);
  EXPECT_THROW(session.step(one, {{x, 1.0}}), ShapeError);
  Session fork = session.fork();
  fork.step(one, {{x, Tensor::zeros({f32, {40, 40}})}});
  EXPECT_THAT(run.of(small), HasBitsOf(before));
}

TEST_P(Sessions, RefuseWhatARunDoesNotHave) {
  const Model m;
  Session session = tested().open(*m.network);
  const auto run = session.step(*m.train, {{m.x, tensor("f32[2]{1 1}")}});
  EXPECT_THAT(message_of<UsageError>([&] { run.of(m.y); }),
              MatchesRegex("Run::of: %[0-9]+ of tape [0-9]+ is not a result of "
                           "this plan's entry: ask for it with Entry::result"));
  EXPECT_THAT(message_of<UsageError>([&] {
                run.of(Symbol{99999, 1});
              }),
              HasSubstr("is not a result of this plan's entry"));
  std::vector<double> doubles(1);
  EXPECT_EQ(message_of<DTypeError>(
                [&] { run.read_into(m.loss, std::span(doubles)); }),
            "Run::read_into: the result is f32[], but is read into 1 elements "
            "of f64");
  std::vector<float> floats(2);
  EXPECT_EQ(
      message_of<ShapeError>([&] { run.read_into(m.loss, std::span(floats)); }),
      "Run::read_into: the result is f32[], but is read into 2 elements "
      "of f32");
  const auto sampled = session.step(*m.sample, {{m.x, tensor("f32[2]{1 1}")}});
  EXPECT_EQ(message_of<ShapeError>([&] { sampled.scalar(m.y); }),
            "Run::scalar: the only element is asked of f32[2]");
}

TEST_P(Sessions, RefuseStateThatDoesNotFit) {
  const Model m;
  Session session = tested().open(*m.network);
  EXPECT_EQ(message_of<DTypeError>(
                [&] { session.set(m.counter, tensor("f32[]{1}")); }),
            "set: \"counter\" is i32[], but is set to f32[]");
  EXPECT_EQ(message_of<ShapeError>(
                [&] { session.set(m.weight, tensor("f32[3]{1 2 3}")); }),
            "set: \"weight\" is f32[2], but is set to f32[3]");
  EXPECT_THAT(
      message_of<UsageError>([&] { session.set(m.y, tensor("f32[2]{1 1}")); }),
      MatchesRegex("set: %[0-9]+ of tape [0-9]+ is neither an input "
                   "nor a parameter of this session's network.*"));
  EXPECT_THAT(message_of<UsageError>([&] { session.state(m.loss); }),
              HasSubstr("is neither an input nor a parameter"));
  EXPECT_THAT(message_of<UsageError>([&] {
                session.state(Symbol{99999, 0});
              }),
              HasSubstr("is neither an input nor a parameter"));
}

TEST_P(Sessions, RefusePlansOfAnotherNetwork) {
  const Model m;
  const Model other;
  Session session = tested().open(*m.network);
  EXPECT_THAT(message_of<UsageError>([&] {
                session.step(*other.train, {{m.x, tensor("f32[2]{1 1}")}});
              }),
              MatchesRegex("step: the plan is of tape [0-9]+, but this "
                           "session's network is of tape [0-9]+"));
  EXPECT_THAT(message_of<UsageError>([&] { session.describe(*other.train); }),
              StartsWith("describe: the plan is of tape"));
  EXPECT_THAT(message_of<UsageError>([&] { session.report(*other.train); }),
              StartsWith("report: the plan is of tape"));
}

TEST_P(Sessions, StepPlansOfTheReopenedNetwork) {
  Tape tape;
  const Value w = tape.parameter("w", tensor("f32[2]{1 2}"));
  const Value y = w * 2;
  Network network = tape.seal();
  const Plan before = network.lower(Entry().result(y));
  Session session = tested().open(network);
  Tape again(std::move(network));
  const Value z = y + 1;
  const Value v = again.parameter("v", tensor("f32[2]{5 5}"));
  const Value u = z + v;
  const Network longer = again.seal();
  EXPECT_THAT(session.step(before).of(y), HasBitsOf(tensor("f32[2]{2 4}")));
  // New operations on old leaves are the session's, too; a new leaf is not.
  EXPECT_THAT(session.step(longer.lower(Entry().result(z))).of(z),
              HasBitsOf(tensor("f32[2]{3 5}")));
  const Plan newer = longer.lower(Entry().result(u));
  EXPECT_THAT(message_of<UsageError>([&] { session.step(newer); }),
              MatchesRegex("step: the plan reads parameter \"v\", "
                           "session_test.cpp:[0-9]+, which was recorded after "
                           "this session's network was sealed"));
  EXPECT_THAT(tested().open(longer).step(newer).of(u),
              HasBitsOf(tensor("f32[2]{8 10}")));
}

TEST_P(Sessions, RefuseParametersThatAreNotThere) {
  Tape tape;
  const Value w = tape.parameter("w", f32, {2});
  const Value v = tape.parameter("v", tensor("f32[]{2}"));
  const Value y = w * v;
  const Network network = tape.seal();
  EXPECT_EQ(message_of<UsageError>([&] { tested().open(network); }),
            "place: parameter \"w\" (f32[2]) has no payload yet: fill it with "
            "Parameters::set or from a file");
  Parameters parameters = network.parameters();
  parameters.set(w, tensor("f32[2]{1 2}"));
  Session session = tested().open(network, parameters);
  EXPECT_THAT(session.step(network.lower(Entry().result(y))).of(y),
              HasBitsOf(tensor("f32[2]{2 4}")));
  EXPECT_EQ(
      message_of<UsageError>([&] { tested().open(network, Parameters()); }),
      "place: 0 parameters are given, but the network has 2");
  const Model m;
  EXPECT_EQ(message_of<UsageError>(
                [&] { tested().place(network, m.network->parameters()); }),
            "place: parameter \"weight\" is not of this network");
  // Parameters that somebody put together by hand.
  const auto item = [](Symbol symbol, const char* text) {
    return Parameters::Item{symbol, "w", tensor(text).type(), tensor(text)};
  };
  const Parameters twice({item(v, "f32[]{1}"), item(v, "f32[]{1}")});
  EXPECT_THAT(message_of<UsageError>([&] { tested().open(network, twice); }),
              StartsWith("place: parameter \"w\""));
  const Parameters mistyped({item(w, "f32[]{1}"), item(v, "f32[]{1}")});
  EXPECT_THAT(message_of<ShapeError>([&] { tested().open(network, mistyped); }),
              StartsWith("place: parameter \"w\""));
  const Parameters wider({item(w, "f64[2]{1 1}"), item(v, "f32[]{1}")});
  EXPECT_THAT(message_of<DTypeError>([&] { tested().open(network, wider); }),
              StartsWith("place: parameter \"w\""));
}

TEST_P(Sessions, RefuseHandlesThatWereMovedFrom) {
  const Model m;
  const Tensor x = tensor("f32[2]{1 1}");
  Session session = tested().open(*m.network);
  auto run = session.step(*m.train, {{m.x, x}});
  const auto moved_run = std::move(run);
  EXPECT_EQ(moved_run.scalar(m.loss), 9);
  EXPECT_THROW(run.scalar(m.loss), UsageError);  // NOLINT: on purpose
  Session moved = std::move(session);
  EXPECT_EQ(message_of<UsageError>([&] { session.step(*m.train); }),  // NOLINT
            "step: the handle was moved from");
  // A run outlives the handle of its session, not its memory.
  const auto last = moved.step(*m.train, {{m.x, x}});
  moved = tested().open(*m.network);
  EXPECT_EQ(last.scalar(m.loss), 7);
  Placement placement = tested().place(*m.network, m.network->parameters());
  const Placement taken = std::move(placement);  // NOLINT
  // A placement and a plan are never empty.
  EXPECT_EQ(tested().open(placement).state(m.scale).item(), 3);  // NOLINT
  EXPECT_EQ(tested().open(taken).state(m.scale).item(), 3);
  Model emptied;
  const Plan plan = std::move(*emptied.train);  // NOLINT: on purpose
  EXPECT_EQ(emptied.train->size(), plan.size());
  const Network network = std::move(*emptied.network);
  EXPECT_THROW(tested().open(*emptied.network), UsageError);
  EXPECT_THROW(tested().place(*emptied.network, Parameters()), UsageError);
  EXPECT_THROW(emptied.network->lower(Entry().result(m.y)), UsageError);
  EXPECT_THROW(emptied.network->evaluate(m.y), UsageError);
  EXPECT_EQ(
      tested().open(network).step(plan, {{emptied.x, x}}).scalar(emptied.loss),
      9);
}

// ---- Indices ---------------------------------------------------------------

TEST_P(Sessions, CheckFedIndicesBeforeAnythingRuns) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3, 2]{1 2 3 4 5 6}"));
  const Value fed = tape.input("fed", i32, {2, 2});
  const Value count = tape.input("count", i32, {});
  // By way of views: the second row, reversed.
  const Value rows = gather(table, reverse(narrow(fed, 0, 1, 1), -1));
  const Value next = count + 1;
  const Value halves = table * 0.5;
  const Network network = tape.seal();
  const Plan plan = network.lower(
      Entry().result(rows).carry(count, next).carry(table, halves));
  Session session = tested().open(network);
  session.step(plan, {{fed, tensor("i32[2, 2]{-9 99 0 2}")}});
  EXPECT_THAT(message_of<IndexError>([&] {
                session.step(plan, {{fed, tensor("i32[2, 2]{0 0 0 3}")}});
              }),
              MatchesRegex("step: gather, session_test.cpp:[0-9]+: the index 3 "
                           "at position 0 of input \"fed\", "
                           "session_test.cpp:[0-9]+ is not in \\[0, 3\\)"));
  EXPECT_THAT(message_of<IndexError>([&] {
                session.step(plan, {{fed, tensor("i32[2, 2]{0 0 -1 0}")}});
              }),
              HasSubstr("the index -1 at position 1 of input \"fed\""));
  // Nothing ran, and the session goes on.
  EXPECT_EQ(session.state(count).item(), 1);
  EXPECT_THAT(session.state(table),
              HasBitsOf(tensor("f32[3, 2]{0.5 1 1.5 2 2.5 3}")));
  const auto run = session.step(plan, {{fed, tensor("i32[2, 2]{0 0 2 0}")}});
  EXPECT_THAT(run.of(rows), HasBitsOf(tensor("f32[1, 2, 2]{0.5 1 2.5 3}")));
  EXPECT_EQ(session.state(count).item(), 2);
}

TEST_P(Sessions, FailOnComputedIndicesUntilSetOrReset) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value base = tape.input("base", i32, {2});
  const Value count = tape.input("count", i32, {});
  const Value found = gather(table, base + 1);
  const Value next = count + 1;
  const Value other = tape.input("other", i32, {});
  const Value next_other = other + 2;
  const Network network = tape.seal();
  const Plan plan = network.lower(
      Entry().result(found).carry(count, next).carry(other, next_other));
  Session session = tested().open(network);
  const Feed good{base, tensor("i32[2]{0 1}")};
  const Feed bad{base, tensor("i32[2]{1 2}")};
  const Feed negative{base, tensor("i32[2]{-5 7}")};
  const auto run = session.step(plan, {good});
  EXPECT_THAT(run.of(found), HasBitsOf(tensor("f32[2]{2 3}")));
  EXPECT_THAT(message_of<IndexError>([&] { session.step(plan, {bad}); }),
              MatchesRegex("step: gather, session_test.cpp:[0-9]+: the index 3 "
                           "at position 1 is not in \\[0, 3\\)"));
  const std::string failed =
      "a step of this session failed, and its state is not defined: set or "
      "reset it";
  EXPECT_EQ(message_of<UsageError>([&] { session.state(count); }),
            "state: " + failed);
  EXPECT_EQ(message_of<UsageError>([&] { session.parameters(); }),
            "parameters: " + failed);
  EXPECT_EQ(message_of<UsageError>([&] { session.step(plan, {good}); }),
            "step: " + failed);
  EXPECT_EQ(message_of<UsageError>([&] { session.fork(); }), "fork: " + failed);
  EXPECT_THROW(run.of(found), UsageError);
  session.reset();
  EXPECT_EQ(session.state(count).item(), 0);
  session.step(plan, {good});
  // The first fault, in the order of the index.
  EXPECT_THAT(message_of<IndexError>([&] { session.step(plan, {negative}); }),
              HasSubstr("the index -4 at position 0 is not in [0, 3)"));
  session.set(count, tensor("i32[]{7}"));
  EXPECT_EQ(session.state(count).item(), 7);
  EXPECT_EQ(session.state(other).item(), 0) << "what failed is not kept";
  EXPECT_THAT(session.step(plan, {good}).of(found),
              HasBitsOf(tensor("f32[2]{2 3}")));
}

TEST_P(Sessions, FindIndicesOutOfRangeWhereverTheyComeFrom) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value pointer = tape.parameter("pointer", tensor("i64[]{1}"));
  const Value token = tape.input("token", i32, {1});
  const Value next = token + 1;
  const Value by_parameter = gather(table, pointer);
  const Value by_carry = gather(table, reshape(token, {}));
  const Network network = tape.seal();
  const Plan parameter = network.lower(Entry().result(by_parameter));
  const Plan carry = network.lower(Entry().result(by_carry).carry(token, next));
  Session session = tested().open(network);
  EXPECT_EQ(session.step(parameter).scalar(by_parameter), 2);
  session.set(pointer, tensor("i64[]{4294967297}"));
  EXPECT_THAT(message_of<IndexError>([&] { session.step(parameter); }),
              HasSubstr("index 4294967297 at position 0 is not in [0, 3)"));
  session.reset();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(session.step(carry).scalar(by_carry), i + 1);
  }
  EXPECT_THAT(message_of<IndexError>([&] { session.step(carry); }),
              HasSubstr("the index 3 at position 0 "));
  EXPECT_THROW(session.state(token), UsageError) << "it failed";
}

TEST_P(Sessions, CheckIndicesThatWereSet) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value rows = tape.input("rows", i32, {2});
  const Value found = gather(table, reverse(rows, {0}));
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(found));
  Session session = tested().open(network);
  session.set(rows, tensor("i32[2]{0 2}"));
  EXPECT_THAT(session.step(plan).of(found), HasBitsOf(tensor("f32[2]{3 1}")));
  session.set(rows, tensor("i32[2]{3 0}"));
  EXPECT_THAT(message_of<IndexError>([&] { session.step(plan); }),
              HasSubstr("the index 3 at position 1 "));
  EXPECT_THROW(session.state(rows), UsageError);
  session.set(rows, tensor("i32[2]{1 1}"));
  EXPECT_THAT(session.step(plan).of(found), HasBitsOf(tensor("f32[2]{2 2}")));
}

TEST_P(Sessions, FindComputedIndicesOutOfRangeOfEverything) {
  // Whatever the rest of the shapes: an empty axis, empty slices, an empty
  // base. And the fault that comes first in the recording order is reported.
  struct Case {
    const char* x;
    const char* index;
    IndexOptions at;
    const char* message;
  };
  const Case cases[] = {
      {"f32[0]{}", "i32[1]{0}", {}, "index 0 at position 0 is not in [0, 0)"},
      {"f32[0]{}", "i32[1]{-1}", {}, "index -1 at position 0 is not in [0, 0)"},
      {"f32[0, 2]{}",
       "i64[2]{-3 4}",
       {},
       "index -3 at position 0 is not in "
       "[0, 0)"},
      {"f32[3, 0]{}",
       "i32[2]{1 3}",
       {},
       "index 3 at position 1 is not in "
       "[0, 3)"},
      {"f32[0, 3]{}",
       "i32[2]{1 -7}",
       {1, 0},
       "index -7 at position 1 is not "
       "in [0, 3)"},
      {"f32[2, 3]{1 2 3 4 5 6}",
       "i64[2]{2 3}",
       {1, 1},
       "index 3 at position 1 is not in [0, 3)"},
  };
  for (const Case& row : cases) {
    for (const bool scatter : {false, true}) {
      SCOPED_TRACE(testing::Message() << row.x << " " << row.index
                                      << (scatter ? " scatter_add" : ""));
      const Tensor payload = tensor(row.x);
      const Tensor index = tensor(row.index);
      Tape tape;
      const Value x = tape.parameter("x", payload);
      const Value fed = tape.input("fed", index.dtype(), index.shape());
      const Value computed = fed * 1 + 0;
      Value y = gather(x, computed, row.at);
      const Value ones = full_like(y, y.type(), 1);
      if (scatter) y = scatter_add(x, computed, ones, row.at);
      const Value later = gather(narrow(reshape(y, {-1}), 0, 0, 0),
                                 narrow(reshape(computed, {-1}), 0, 0, 1));
      const Network network = tape.seal();
      Session session = tested().open(network);
      const Plan plan = network.lower(Entry().result(later).result(y));
      const std::string message = message_of<IndexError>([&] {
        session.step(plan, {{fed, index}});
      });
      EXPECT_THAT(message,
                  StartsWith(scatter ? "step: scatter_add, session_test."
                                     : "step: gather, session_test.cpp:"));
      EXPECT_THAT(message, HasSubstr(row.message));
    }
  }
}

}  // namespace
}  // namespace topos::test
