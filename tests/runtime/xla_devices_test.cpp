// One program over two devices means what it means on one.

#include <gmock/gmock.h>

#include <vector>

#include "engine/message.h"
#include "engine/on_engine.h"
#include "runtime/makemore_step.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TwoDevices : public OnEngine {
 protected:
  void SetUp() override {
    OnEngine::SetUp();
    if (!IsSkipped() && !tested().description().starts_with("cpu")) {
      GTEST_SKIP() << "asks for two devices of a CPU";
    }
  }

  static Engine on_two() {
    XlaOptions options;
    options.devices = 2;
    return GetParam() == "xla" ? xla::engine(options)
                               : xla_server::engine(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, TwoDevices,
                         testing::Values("xla", "xla-server"), test_name);

TEST_P(TwoDevices, TrainAsOneDoes) {
  // 32 samples are split; 31 are on both devices.
  for (const std::int64_t samples : {32, 31}) {
    SCOPED_TRACE(samples);
    const MakemoreStep m(samples);
    Session session = on_two().open(*m.network);
    for (std::uint64_t step = 0; step < 5; ++step) {
      const auto feeds = m.feeds(step);
      const auto expected =
          envelopes(*m.network, *m.train, session.parameters(), feeds);
      const auto run = session.step(*m.train, feeds);
      const Difference loss = compare(expected[0], run.of(m.loss));
      EXPECT_TRUE(loss.inside) << loss.text();
      for (std::size_t i = 0; i < m.parameters.size(); ++i) {
        const Difference d =
            compare(expected[i + 1], session.state(m.parameters[i]));
        EXPECT_TRUE(d.inside) << "parameter " << i << ": " << d.text();
      }
    }
    // The whole batch's logits, though each device computed a part.
    const std::vector<Feed> feeds{m.feeds(9)[0]};
    const auto expected =
        envelopes(*m.network, *m.sample, session.parameters(), feeds);
    const Difference d =
        compare(expected[0], session.step(*m.sample, feeds).of(m.logits));
    EXPECT_TRUE(d.inside) << d.text();
  }
}

TEST_P(TwoDevices, SplitWhatTheyDivide) {
  const MakemoreStep even(32);
  const MakemoreStep odd(31);
  EmitOptions options;
  options.partitions = 2;
  const auto is_split = [&](const MakemoreStep& m) {
    std::vector<std::string> names;
    for (const auto& argument : emit_stablehlo(*m.train, options).arguments) {
      if (argument.is_split) names.push_back(argument.name);
    }
    return names;
  };
  EXPECT_THAT(is_split(even), testing::ElementsAre("contexts", "targets"));
  EXPECT_THAT(is_split(odd), testing::IsEmpty());
}

TEST_P(TwoDevices, StateOfEveryKindIsOnBoth) {
  Tape tape;
  const Value x = tape.input("x", f32, {4, 2});
  const Value w = tape.parameter("w", tensor("f32[2]{1 2}"));
  const Value none = tape.input("none", f32, {4, 0});
  const Value y = x * w;
  const Value both = concat({y, none}, 1);
  const Value next = x + 1;
  const Network network = tape.seal();
  const Plan forward = network.lower(Entry().result(both));
  const Plan count = network.lower(Entry().result(x).carry(x, next));
  Session session = on_two().open(network);
  const Tensor fed = tensor("f32[4, 2]{1 2 3 4 5 6 7 8}");
  const Tensor empty = Tensor::zeros({f32, {4, 0}});
  EXPECT_THAT(session.step(forward, {{x, fed}, {none, empty}}).of(both),
              HasBitsOf(tensor("f32[4, 2]{1 4 3 8 5 12 7 16}")));
  // Once it is the session's, the same plan takes it from there.
  session.set(x, fed);
  EXPECT_THAT(session.step(forward, {{none, empty}}).of(both),
              HasBitsOf(tensor("f32[4, 2]{1 4 3 8 5 12 7 16}")));
  EXPECT_THAT(session.step(count).of(x), HasBitsOf(fed));
  EXPECT_THAT(session.step(forward, {{none, empty}}).of(both),
              HasBitsOf(tensor("f32[4, 2]{2 6 4 10 6 14 8 18}")));
  EXPECT_THAT(session.fork().state(x),
              HasBitsOf(tensor("f32[4, 2]{2 3 4 5 6 7 8 9}")));
}

TEST_P(TwoDevices, APlanReadsWhatAnotherCarries) {
  Tape tape;
  const Value x = tape.input("x", f32, {4, 2});
  const Value running = tape.input("running", f32, {2});
  const Value ids = tape.input("ids", i32, {2});
  const Value centered = x - running;
  const Value next = running + sum(x, 0);
  const Value row = gather(running, ids);
  const Network network = tape.seal();
  const Plan train = network.lower(Entry().carry(running, next));
  const Plan evaluate = network.lower(Entry().result(centered).result(row));
  Session session = on_two().open(network);
  const Tensor fed = tensor("f32[4, 2]{1 2 3 4 5 6 7 8}");
  session.step(train, {{x, fed}});
  session.set(ids, tensor("i32[2]{1 0}"));
  const auto run = session.step(evaluate, {{x, fed}});
  EXPECT_THAT(run.of(centered),
              HasBitsOf(tensor("f32[4, 2]{-15 -18 -13 -16 -11 -14 -9 -12}")));
  EXPECT_THAT(run.of(row), HasBitsOf(tensor("f32[2]{20 16}")));
  session.set(ids, tensor("i32[2]{1 2}"));
  EXPECT_THAT(message_of<IndexError>([&] {
                session.step(evaluate, {{x, fed}});
              }),
              HasSubstr("the index 2 at position 1 is not in [0, 2)"));
}

TEST_P(TwoDevices, RefuseWhatOneRefuses) {
  const MakemoreStep m(32);
  Session session = on_two().open(*m.network);
  auto feeds = m.feeds(0);
  feeds[1] = {m.targets, Tensor::full({i32, {16}}, 1)};
  EXPECT_THAT(message_of<ShapeError>([&] { session.step(*m.train, feeds); }),
              AllOf(StartsWith("step: input \"targets\", makemore_step.h:"),
                    HasSubstr("is i32[32], but is fed i32[16]")));
  feeds[1] = {m.targets, Tensor::full({i32, {32}}, 27)};
  EXPECT_THAT(message_of<IndexError>([&] { session.step(*m.train, feeds); }),
              HasSubstr("the index 27 at position 0 of input \"targets\""));
  EXPECT_GT(session.step(*m.train, m.feeds(0)).scalar(m.loss), 0);
}

TEST_P(TwoDevices, FindComputedIndicesOutOfRangeOnEither) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value fed = tape.input("fed", i32, {4});
  const Value found = gather(table, fed + 1);
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(found));
  Session session = on_two().open(network);
  EXPECT_THAT(session.step(plan, {{fed, tensor("i32[4]{0 1 -1 0}")}}).of(found),
              HasBitsOf(tensor("f32[4]{2 3 1 2}")));
  EXPECT_THAT(message_of<IndexError>([&] {
                session.step(plan, {{fed, tensor("i32[4]{0 1 -1 7}")}});
              }),
              HasSubstr("the index 8 at position 3 is not in [0, 3)"));
}

}  // namespace
}  // namespace topos::test
