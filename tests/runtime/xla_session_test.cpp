// What is XLA's own in a session: bounds instead of bits, programs compiled
// once, state on devices.

#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/builds.h"
#include "engine/message.h"
#include "engine/on_engine.h"
#include "io/temporary_folder.h"
#include "runtime/makemore_step.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

INSTANTIATE_TEST_SUITE_P(Engines, Sessions,
                         testing::Values("xla", "xla-server"), test_name);

class XlaSessions : public OnEngine {};
INSTANTIATE_TEST_SUITE_P(Engines, XlaSessions,
                         testing::Values("xla", "xla-server"), test_name);

TEST_P(XlaSessions, TrainingStaysInItsEnvelope) {
  const MakemoreStep m(32);
  Session session = tested().open(*m.network);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto feeds = m.feeds(step);
    const auto expected =
        envelopes(*m.network, *m.train, session.parameters(), feeds);
    const auto run = session.step(*m.train, feeds);
    const Difference loss = compare(expected[0], run.of(m.loss));
    EXPECT_TRUE(loss.inside) << "loss of step " << step << ": " << loss.text();
    EXPECT_LT(loss.bound, 1e-4);
    for (std::size_t i = 0; i < m.parameters.size(); ++i) {
      const Difference d =
          compare(expected[i + 1], session.state(m.parameters[i]));
      EXPECT_TRUE(d.inside) << "parameter " << i << ": " << d.text();
      EXPECT_EQ(d.undecided, 0);
    }
  }
  // The other plan finds what was trained.
  const std::vector<Feed> feeds{m.feeds(99)[0]};
  const auto expected =
      envelopes(*m.network, *m.sample, session.parameters(), feeds);
  const Difference d =
      compare(expected[0], session.step(*m.sample, feeds).of(m.logits));
  EXPECT_TRUE(d.inside) << d.text();
}

TEST_P(XlaSessions, KeepNanAndInfinityInExtremaAsTheInterpreterDoes) {
  Tape tape;
  const Value x = tape.input("x", f32, {2, 4});
  const Value y = tape.input("y", f32, {2, 4});
  const Value larger = maximum(x, y);
  const Value row = reduce_max(x, {1});
  const Value at = argmax(x, 1);
  const Network network = tape.seal();
  const Plan plan =
      network.lower(Entry().result(larger).result(row).result(at));
  const std::vector<Feed> feeds{
      {x, tensor("f32[2, 4]{nan 1 2 3 -inf inf 0 nan}")},
      {y, tensor("f32[2, 4]{inf nan -inf 4 nan 1 2 0}")}};
  Session plain = interpreter::open(network);
  Session session = tested().open(network);
  const auto expected = plain.step(plan, feeds);
  const auto found = session.step(plan, feeds);
  for (const Value& value : {larger, row, at}) {
    EXPECT_THAT(found.of(value), HasBitsOf(expected.of(value)));
  }
}

// In bf16 and f16 each operation rounds, as the interpreter's does.
TEST_P(XlaSessions, ShortTypesStayInTheirEnvelope) {
  for (const DType dtype : {bf16, f16}) {
    SCOPED_TRACE(name(dtype));
    Tape tape;
    const Value x = tape.input("x", dtype, {8, 32});
    const Value w =
        tape.parameter("w", cast(Random(5).tensor({32, 16}, -1, 1), dtype));
    const Value hidden = tanh(matmul(x, w));
    const Value rows = softmax(hidden * 3);
    const Value loss = mean(hidden * hidden) + sum(rows * rows);
    const Value gradient = tape.differentiate(loss, {w})[0];
    const Network network = tape.seal();
    const Plan plan = network.lower(
        Entry().result(hidden).result(rows).result(loss).result(gradient));
    const std::vector<Feed> feeds{
        {x, cast(Random(6).tensor({8, 32}, -1, 1), dtype)}};
    const auto expected = envelopes(network, plan, network.parameters(), feeds);
    Session session = tested().open(network);
    const auto run = session.step(plan, feeds);
    std::size_t i = 0;
    for (const Value& value : {hidden, rows, loss, gradient}) {
      const Difference d = compare(expected[i++], run.of(value));
      EXPECT_TRUE(d.inside) << i << ": " << d.text();
      EXPECT_EQ(d.undecided, 0) << i;
    }
  }
}

TEST_P(XlaSessions, LargeConstantsCrossOnceAndSmallOnesAreText) {
  Tape tape;
  const Tensor large = cast(Random(3).tensor({50, 41}, -1, 1), f32);
  const Value x = tape.input("x", f32, {50, 41});
  const Value y = x * tape.constant(large) +
                  tape.constant(Tensor::full({f32, {50, 41}}, 3));
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = tested().open(network);
  const Tensor ones = Tensor::full({f32, {50, 41}}, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(session.step(plan, {{x, ones}}).of(y),
                IsWithinUlps(large + 3.0f, 1));
  }
  const std::string text = session.describe(plan);
  EXPECT_THAT(text, HasSubstr("%constant."));
  EXPECT_LT(text.size(), 2000u);
}

TEST_P(XlaSessions, ThreadsHaveASessionEachOfOnePlacement) {
  const MakemoreStep m(8);
  const Placement placement =
      tested().place(*m.network, m.network->parameters());
  const auto losses = [&](std::uint64_t seed) {
    Session session = tested().open(placement);
    std::vector<double> result;
    for (std::uint64_t step = 0; step < 20; ++step) {
      const auto feeds = m.feeds(seed + step);
      result.push_back(session.step(*m.train, feeds).scalar(m.loss));
      if (step == 10) session = session.fork();
    }
    return result;
  };
  constexpr std::size_t threads = 4;
  std::vector<std::vector<double>> found(threads);
  {
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] { found[t] = losses(100 * t); });
    }
    for (std::thread& worker : workers) worker.join();
  }
  for (std::size_t t = 0; t < threads; ++t) {
    const auto alone = losses(100 * t);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      // One program; only its sums may be divided otherwise.
      EXPECT_NEAR(found[t][i], alone[i], 1e-5) << t << ", step " << i;
    }
  }
}

TEST_P(XlaSessions, ASecondThreadInOneSessionIsRefused) {
  Tape tape;
  const Value x = tape.input("x", f32, {400, 400});
  const Value y = sum(matmul(matmul(x, x), matmul(x, x)));
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y));
  Session session = tested().open(network);
  const Tensor zeros = Tensor::zeros({f32, {400, 400}});
  session.step(plan, {{x, zeros}});
  std::atomic<int> refused = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < 2; ++t) {
    workers.emplace_back([&] {
      for (int i = 0; i < 100 && refused == 0; ++i) {
        try {
          session.step(plan, {{x, zeros}});
          ++done;
        } catch (const UsageError& error) {
          EXPECT_THAT(error.message(), HasSubstr("another thread is using"));
          ++refused;
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_GT(refused, 0);
  EXPECT_GT(done, 0);
  EXPECT_EQ(session.step(plan, {{x, zeros}}).scalar(y), 0);
}

// ---- Computed indices ------------------------------------------------------

TEST_P(XlaSessions, TheFirstFaultInRecordingOrderIsReported) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[2, 3]{1 2 3 4 5 6}"));
  const Value a = tape.input("a", i32, {2, 2});
  const Value b = tape.input("b", i64, {});
  const Value first = gather(table, a * 2, {1, 1});
  const Value second =
      scatter_add(first, b - 1, reshape(narrow(first, 1, 0, 1), {2}), {1, 0});
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(second));
  Session session = tested().open(network);
  Session plain = interpreter::open(network);
  const auto step = [&](Session& s, const char* rows, std::int64_t column,
                        Site site = Site::here()) {
    const Feed feeds[] = {{a, tensor(rows)}, {b, column}};
    return s.step(plan, feeds, site).of(second);
  };
  EXPECT_THAT(step(session, "i32[2, 2]{0 1 1 0}", 2),
              HasBitsOf(step(plain, "i32[2, 2]{0 1 1 0}", 2)));
  struct Case {
    const char* rows;
    std::int64_t column;
    const char* message;
  };
  for (const Case& row :
       {Case{"i32[2, 2]{0 1 1 2}", 0,
             "step: gather, xla_session_test.cpp:[0-9]+: the index 4 at "
             "position 3 is not in \\[0, 3\\)"},
        Case{"i32[2, 2]{0 -1 5 0}", 2,
             "step: gather, xla_session_test.cpp:[0-9]+: the index -2 at "
             "position 1 is not in \\[0, 3\\)"},
        Case{"i32[2, 2]{0 0 0 0}", std::int64_t{1} << 40,
             "step: scatter_add, xla_session_test.cpp:[0-9]+: the index "
             "1099511627775 at position 0 is not in \\[0, 2\\)"}}) {
    for (Session* s : {&plain, &session}) {
      EXPECT_THAT(
          message_of<IndexError>([&] { step(*s, row.rows, row.column); }),
          MatchesRegex(row.message));
      s->reset();
    }
  }
}

TEST_P(XlaSessions, IndicesThatWereSetAreCheckedAsTheInterpreterDoes) {
  Tape tape;
  const Value table = tape.parameter("table", Tensor::full({f32, {10}}, 1));
  const Value ids = tape.input("ids", i32, {2});
  const Value found = gather(table, ids);
  const Value added = scatter_add(table, ids, found);
  const Network network = tape.seal();
  for (const Value& value : {found, added}) {
    const Plan plan = network.lower(Entry().result(value));
    std::vector<std::string> messages;
    for (const Engine& engine : {interpreter::engine(), tested()}) {
      Session session = engine.open(network);
      // Fed first: what was compiled for that is not taken.
      session.step(plan, {{ids, tensor("i32[2]{9 0}")}});
      session.set(ids, tensor("i32[2]{3 99}"));
      messages.push_back(message_of<IndexError>([&] { session.step(plan); }));
      EXPECT_THAT(messages.back(), HasSubstr("the index 99 at position 1"));
      session.set(ids, tensor("i32[2]{3 4}"));
      EXPECT_NO_THROW(session.step(plan));
    }
    EXPECT_EQ(messages[1], messages[0]);
  }
}

TEST_P(XlaSessions, ProgramsWhoseIndicesAreFedPayNothing) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value fed = tape.input("fed", i32, {2});
  const Value viewed = gather(table, reverse(fed, {0}));
  const Value constant = gather(table, tape.constant(tensor("i32[2]{2 0}")));
  const Value computed = gather(table, fed - 1);
  const Network network = tape.seal();
  Session session = tested().open(network);
  EXPECT_THAT(
      session.describe(network.lower(Entry().result(viewed).result(constant))),
      testing::Not(HasSubstr("index faults")));
  EXPECT_THAT(
      session.describe(network.lower(Entry().result(computed))),
      HasSubstr("tensor<1x2xi64> {jax.result_info = \"index faults\"}"));
}

TEST(XlaText, ListsTheIndexChecksThatItMakes) {
  Tape tape;
  const Value table = tape.parameter("table", tensor("f32[3]{1 2 3}"));
  const Value fed = tape.input("fed", i32, {2});
  const Value carried = tape.input("carried", i32, {2});
  const Value outside = gather(table, tape.constant(tensor("i32[1]{3}")));
  const Value of_fed = gather(table, reshape(fed, {1, 2}));
  const Value of_carried = gather(table, carried);
  const Value none = gather(table, narrow(fed + 1, 0, 0, 0));
  const Value next = carried + fed;
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry()
                                      .result(outside)
                                      .result(of_fed)
                                      .result(of_carried)
                                      .result(none)
                                      .carry(carried, next));
  const StablehloModule plain = emit_stablehlo(plan);
  EXPECT_TRUE(plain.index_checks.empty());
  EXPECT_EQ(plain.results.size(), 5u);
  EmitOptions options;
  options.check_indices = true;
  const StablehloModule checked = emit_stablehlo(plan, options);
  // The constant that is out of range, and what an earlier step computed.
  ASSERT_EQ(checked.index_checks.size(), 2u);
  EXPECT_THAT(checked.index_checks[0].origin,
              MatchesRegex("gather, xla_session_test.cpp:[0-9]+"));
  EXPECT_EQ(checked.index_checks[1].extent, 3);
  ASSERT_EQ(checked.results.size(), 6u);
  EXPECT_EQ(checked.results[5].type, (Type{i64, {2, 2}}));
  EXPECT_FALSE(checked.results[5].is_carry);
  // The carry is still donated to its own next value.
  EXPECT_EQ(checked.arguments.back().name, "carried");
  EXPECT_EQ(checked.arguments.back().donated_to, 4u);
  options.composites = true;
  EXPECT_THAT(message_of<UsageError>([&] { emit_stablehlo(plan, options); }),
              "emit_stablehlo: indices are not checked in composites");
}

}  // namespace
}  // namespace topos::test
