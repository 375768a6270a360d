// One plan, many threads; one result, any number of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/builds.h"
#include "engine/random_network.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::test {
namespace {

struct Net {
  Net() {
    Tape tape;
    w = tape.parameter("w", cast(Random(1).tensor({48, 96}, -1, 1), f32));
    b = tape.parameter("b", cast(Random(2).tensor({96}, -1, 1), f32));
    x = tape.input("x", f32, {96, 48});
    count = tape.input("count", f32, {});
    y = softmax(tanh(matmul(x, w) + b)) * (count + 1);
    total = sum(y * y, 0);
    const Value next = count + 1;
    network.emplace(tape.seal());
    plan.emplace(
        network->lower(Entry().result(y).result(total).carry(count, next)));
    other.emplace(network->lower(Entry().result(total).result(count)));
  }
  Value w, b, x, count, y, total;
  std::optional<Network> network;
  std::optional<Plan> plan, other;
};

Tensor batch(int thread, int run) {
  return cast(Random(static_cast<std::uint64_t>(thread * 1000 + run))
                  .tensor({96, 48}, -1, 1),
              f32);
}

/// BC-40.
TEST(Threads, StepOnePlanInASessionEach) {
  Net net;
  constexpr int threads = 8;
  const int runs = 40 / std::min(slowness, 4);
  std::vector<std::vector<Tensor>> expected(threads);
  for (int t = 0; t < threads; ++t) {
    Session session = native::open(*net.network, SessionOptions{.threads = 1});
    for (int i = 0; i < runs; ++i) {
      const auto& plan = i % 3 == 2 ? *net.other : *net.plan;
      std::vector<Feed> feeds{{net.x, batch(t, i)}};
      expected[static_cast<std::size_t>(t)].push_back(
          session.step(plan, feeds).of(net.total));
    }
  }
  const Placement placement =
      native::engine().place(*net.network, net.network->parameters());
  std::atomic<int> different = 0;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t, network = *net.network, plan = *net.plan,
                          other = *net.other] {
      // Half of them share a placement; they ask for one to three threads.
      const SessionOptions options{.threads = 1 + t % 3};
      Session session = t % 2 == 0 ? native::open(placement, options)
                                   : native::open(network, options);
      for (int i = 0; i < runs; ++i) {
        std::vector<Feed> feeds{{net.x, batch(t, i)}};
        const Tensor found =
            session.step(i % 3 == 2 ? other : plan, feeds).of(net.total);
        different += !bits_equal(
            found,
            expected[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)]);
        if (i % 8 == 0) network.lower(Entry().result(net.total));
      }
    });
  }
  // The others keep what they run.
  net.plan.reset();
  net.other.reset();
  net.network.reset();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(different, 0);
}

TEST(Threads, RefuseOneSessionToTwoAtATime) {
  const Net net;
  for (const char* engine : {"native", "interpreter"}) {
    Session session = topos::engine(engine).open(*net.network);
    const Tensor x = batch(0, 0);
    const Tensor expected = session.step(*net.plan, {{net.x, x}}).of(net.total);
    std::atomic<int> refused = 0;
    std::atomic<int> done = 0;
    std::atomic<bool> wrong = false;
    std::atomic<bool> stop = false;
    std::vector<std::thread> workers;
    for (int t = 0; t < 3; ++t) {
      workers.emplace_back([&, t] {
        while (!stop) {
          try {
            if (t == 0) {
              session.step(*net.plan, {{net.x, x}});
            } else if (t == 1) {
              session.reset();
              session.set(net.count, Tensor::scalar(1.0f));
            } else {
              wrong =
                  wrong || session.state(net.w).type() != Type{f32, {48, 96}};
              session.fork();
            }
            ++done;
          } catch (const UsageError& error) {
            wrong = wrong || error.message().find(
                                 "another thread is using this session: one "
                                 "thread steps a session at a time; open one "
                                 "for each thread") == std::string::npos;
            ++refused;
          }
        }
      });
    }
    for (int i = 0; i < 2000 && (refused < 5 || done < 20); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    stop = true;
    for (std::thread& worker : workers) worker.join();
    EXPECT_FALSE(wrong);
    EXPECT_GT(refused, 0);
    session.reset();
    EXPECT_TRUE(bits_equal(session.step(*net.plan, {{net.x, x}}).of(net.total),
                           expected));
  }
}

/// BC-17: reductions over a million elements.
TEST(Threads, OfAnyNumberGiveTheSameReductions) {
  const std::int64_t n = slowness > 1 ? 100003 : 1000003;
  std::vector<float> elements;
  Random random(17);
  for (std::int64_t i = 0; i < n; ++i) {
    elements.push_back(static_cast<float>(random.between(-1, 1)));
  }
  // Planted ties of the maximum.
  const std::int64_t ties[] = {n / 3, n / 2, n - 1};
  for (std::int64_t at : ties) elements[static_cast<std::size_t>(at)] = 2;
  Tape tape;
  const Value x = tape.parameter("x", Tensor({n}, elements));
  const Value total = sum(x);
  const Value dot = matmul(reshape(x, {1, n}), reshape(exp(x * 0.5), {n, 1}));
  const Value most = reduce_max(x);
  const Value where = argmax(x);
  const Value tanhs = sum(tanh(x) * x);
  const Network network = tape.seal();
  const std::vector<Value> asked{total, dot, most, where, tanhs};
  Entry entry;
  for (Value y : asked) entry.result(y);
  const Plan plan = network.lower(entry);
  std::vector<Tensor> expected;
  {
    Session session = interpreter::open(network);
    const auto run = session.step(plan);
    for (Value y : asked) expected.push_back(run.of(y));
  }
  const std::int64_t third = n / 3;
  EXPECT_EQ(expected[3].item(), static_cast<double>(third));
  EXPECT_EQ(expected[2].item(), 2);
  for (int threads : {1, 2, 3, 8}) {
    Session session = native::open(network, SessionOptions{.threads = threads});
    for (int repeat = 0; repeat < 20 / std::min(slowness, 5); ++repeat) {
      const auto run = session.step(plan);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        ASSERT_TRUE(bits_equal(run.of(asked[i]), expected[i]))
            << i << ", " << threads << " threads";
      }
    }
  }
}

/// BC-17: a row of a product does not depend on which rows share its batch.
TEST(Threads, AndBatchesOfAnySizeGiveTheSameRows) {
  const Tensor weight = cast(Random(1).tensor({257, 129}, -1, 1), f32);
  const Tensor rows = cast(Random(2).tensor({17, 257}, -1, 1), f32);
  std::optional<Tensor> expected;
  for (std::int64_t count : {17, 1, 2, 3, 8}) {
    Tape tape;
    const Value w = tape.parameter("w", weight);
    const Value x = tape.input("x", f32, {count, 257});
    const Value product = matmul(x, w);
    const Value y = softmax(product);
    const Network network = tape.seal();
    const Plan plan = network.lower(Entry().result(product).result(y));
    for (int threads : {1, 2, 3, 8}) {
      Session session =
          native::open(network, SessionOptions{.threads = threads});
      for (int repeat = 0; repeat < 20 / std::min(slowness, 5); ++repeat) {
        const auto run =
            session.step(plan, {{x, narrow(rows, 0, 17 - count, count)}});
        const Tensor both = concat({run.of(product), run.of(y)}, 1);
        if (!expected) expected = both;
        ASSERT_TRUE(bits_equal(both, narrow(*expected, 0, 17 - count, count)))
            << count << " rows, " << threads << " threads";
      }
    }
  }
}

/// Random programs, each in several threads at once, native threads within.
TEST(Threads, StepRandomNetworksAtOnce) {
  for (std::uint64_t seed = 1; seed <= 40u / std::min(slowness, 4); ++seed) {
    const RandomNetwork random = random_network(seed, {30, 3000});
    std::vector<std::string> differences(4);
    std::vector<std::thread> workers;
    for (std::string& difference : differences) {
      workers.emplace_back([&] {
        difference = compare_engines(random, {1, 2});
      });
    }
    for (std::thread& worker : workers) worker.join();
    for (const std::string& difference : differences) {
      ASSERT_EQ(difference, "") << "TOPOS_NETWORK_SEED=" << seed;
    }
  }
}

}  // namespace
}  // namespace topos::test
