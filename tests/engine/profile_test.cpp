// What a profile counts, and that taking times changes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/message.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

/// Two layers, so that there are two products.
struct Layers {
  Symbol x;
  Symbol y;
  Network network;
  Plan plan;

  static Layers recorded() {
    Tape tape;
    SplitMix random(3);
    nn::Linear first(tape, "first", 8, 16, random);
    nn::Linear second(tape, "second", 16, 4, random);
    Value x = tape.input("x", f32, {2, 8});
    Value y = second(tanh(first(x)));
    Network network = tape.seal();
    Plan plan = network.lower(Entry().result(y));
    return {x, y, std::move(network), plan};
  }
};

TEST(Profile, CountsWhatAGroupDoesAndMoves) {
  const Layers layers = Layers::recorded();
  Session session =
      native::open(layers.network, {.threads = 1, .profile = true});
  const Tensor x = uniform({2, 8}, 1.0, 5);
  for (int i = 0; i < 3; ++i) session.step(layers.plan, {{layers.x, x}});
  const Profile profile = session.profile(layers.plan);

  EXPECT_EQ(profile.steps, 3u);
  EXPECT_EQ(profile.limits.threads, 1);
  EXPECT_GT(profile.limits.gigaflops, 0);
  EXPECT_GT(profile.limits.gigabytes, 0);
  ASSERT_EQ(profile.groups.size(), 2u);
  const Profile::Group& first = profile.groups[0];
  EXPECT_EQ(first.kind, "product");
  EXPECT_EQ(first.operations, "matmul add tanh");
  EXPECT_THAT(first.line, StartsWith("profile_test.cpp:"));
  // 2 m n k of the product, one an element of the sum and of tanh.
  EXPECT_EQ(first.flops, 2 * 2 * 16 * 8 + 2 * 16 + 2 * 16);
  // x, weight and bias are read, the hidden layer is written.
  EXPECT_EQ(first.bytes, 4 * (2 * 8 + 8 * 16 + 16 + 2 * 16));
  EXPECT_EQ(profile.groups[1].flops, 2 * 2 * 4 * 16 + 2 * 4);
  double sum = 0;
  for (const Profile::Group& group : profile.groups) {
    EXPECT_GT(group.milliseconds, 0);
    EXPECT_GT(group.share, 0);
    sum += group.milliseconds;
  }
  EXPECT_LE(sum, profile.step_milliseconds);
}

TEST(Profile, SpansAreInOrderAndInATrace) {
  const Layers layers = Layers::recorded();
  Session session =
      native::open(layers.network, {.threads = 1, .profile = true});
  const Tensor x = uniform({2, 8}, 1.0, 5);
  for (int i = 0; i < 3; ++i) session.step(layers.plan, {{layers.x, x}});
  const Profile profile = session.profile(layers.plan);
  ASSERT_EQ(profile.spans.size(), 6u);
  double end = 0;
  for (std::size_t i = 0; i < profile.spans.size(); ++i) {
    const Profile::Span& span = profile.spans[i];
    EXPECT_EQ(span.step, i / 2);
    EXPECT_EQ(span.group, i % 2);
    EXPECT_EQ(span.thread, 0);
    EXPECT_GE(span.begin_microseconds, end);
    EXPECT_GE(span.end_microseconds, span.begin_microseconds);
    end = span.end_microseconds;
  }
  const json trace = json::parse(profile.trace());
  const json& events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 7u);  // the thread's name, and the spans
  EXPECT_EQ(events[0].at("ph"), "M");
  EXPECT_EQ(events[1].at("ph"), "X");
  EXPECT_EQ(events[1].at("name"), "matmul add tanh");
  EXPECT_EQ(events[6].at("args").at("step"), 2);
}

TEST(Profile, OnlyTheLastSpansAreKept) {
  const Layers layers = Layers::recorded();
  Session session =
      native::open(layers.network, {.threads = 1, .profile = true});
  const Tensor x = uniform({2, 8}, 1.0, 5);
  constexpr std::size_t steps = 10'000;
  for (std::size_t i = 0; i < steps; ++i) {
    session.step(layers.plan, {{layers.x, x}});
  }
  const Profile profile = session.profile(layers.plan);
  EXPECT_EQ(profile.steps, steps);
  EXPECT_LT(profile.spans.size(), steps);
  EXPECT_EQ(profile.spans.back().step, steps - 1);
  EXPECT_EQ(profile.spans.front().begin_microseconds, 0);
}

TEST(Profile, TableIsSortedByTime) {
  Profile profile;
  profile.steps = 1;
  profile.step_milliseconds = 4;
  profile.limits = {2, 100, 10};
  profile.groups = {{"rows", "softmax", "a.cpp:1", 1, 2e6, 3e6, 0.25},
                    {"product", "matmul \"x\"", "a.cpp:2", 2, 0, 0, 0}};
  profile.spans = {{0, 1, 0, 0, 1}};
  const std::string table = profile.table();
  EXPECT_LT(table.find("matmul"), table.find("softmax"));
  EXPECT_THAT(table, HasSubstr(" 25.0%"));
  EXPECT_EQ(json::parse(profile.trace()).at("traceEvents")[1].at("name"),
            "matmul \"x\"");
}

TEST(Profile, TakingTimesChangesNoBit) {
  const Layers layers = Layers::recorded();
  const Tensor x = uniform({2, 8}, 1.0, 5);
  Session timed = native::open(layers.network, {.profile = true});
  Session plain = native::open(layers.network);
  EXPECT_TRUE(
      bits_equal(timed.step(layers.plan, {{layers.x, x}}).of(layers.y),
                 plain.step(layers.plan, {{layers.x, x}}).of(layers.y)));
}

TEST(Profile, OnlyOfASessionThatTakesTimes) {
  const Layers layers = Layers::recorded();
  Session plain = native::open(layers.network);
  EXPECT_EQ(message_of<UsageError>([&] { plain.profile(layers.plan); }),
            "profile: this session takes no times: open it with "
            "SessionOptions::profile");
  Session slow = interpreter::open(layers.network, {.profile = true});
  EXPECT_EQ(message_of<UsageError>([&] { slow.profile(layers.plan); }),
            "profile: the engine interpreter takes no times");
}

}  // namespace
}  // namespace topos::test
