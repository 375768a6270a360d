// One thread records on one tape, different tapes are independent; a network
// is read by any number of threads. Run under the thread sanitizer, too.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/random.h"
#include "support/tensors.h"
#include "topos/engine.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

namespace topos {
namespace {

constexpr int threads = 8;

/// Runs `f(thread)` on eight threads that start together.
void together(const std::function<void(int)>& f) {
  std::barrier start(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      f(i);
    });
  }
  for (std::thread& thread : running) thread.join();
}

/// A network with its gradients, the same on every tape.
struct Recorded {
  Value x;
  Value loss;
  Value by;
};

Recorded record(Tape& tape, int depth) {
  const Value x = tape.input("x", f64, {2, 3});
  const Value w = tape.parameter("w", test::Random(1).tensor({3, 3}, -1, 1));
  Value y = x;
  for (int i = 0; i < depth; ++i) y = tanh(matmul(y, w)) + 0.5 * i;
  const Value loss = mean(layer_norm(y, sum(w, 0), sum(w, 1)) * y);
  const Value by = tape.differentiate(loss, {w})[0];
  return {x, loss, by};
}

TEST(Threads, RecordDifferentTapesAtOnce) {
  constexpr int rounds = 20;
  std::vector<std::string> alone;
  for (int depth = 0; depth < threads; ++depth) {
    Tape tape;
    record(tape, depth);
    alone.push_back(tape.describe());
  }
  std::vector<std::vector<std::string>> recorded(threads);
  std::vector<std::vector<std::uint32_t>> ids(threads);
  together([&](int i) {
    for (int round = 0; round < rounds; ++round) {
      Tape tape;
      ids[i].push_back(record(tape, i).x.symbol().tape);
      recorded[i].push_back(tape.describe());
    }
  });
  std::vector<std::uint32_t> all;
  for (int i = 0; i < threads; ++i) {
    ASSERT_EQ(recorded[i].size(), static_cast<std::size_t>(rounds));
    for (const std::string& text : recorded[i]) EXPECT_EQ(text, alone[i]);
    all.insert(all.end(), ids[i].begin(), ids[i].end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end())
      << "every tape has an id of its own";
}

TEST(Threads, FailOnDifferentTapesAtOnce) {
  std::atomic<int> refused = 0;
  together([&](int) {
    Tape tape;
    const Value x = tape.input("x", f64, {2});
    const Value y = tape.input("y", f64, {3});
    for (int i = 0; i < 50; ++i) {
      try {
        x + y;
      } catch (const ShapeError&) {
        ++refused;
      }
    }
    if (tape.size() != 2) refused = -1'000'000;
  });
  EXPECT_EQ(refused, threads * 50);
}

TEST(Threads, ShareANetwork) {
  Tape tape;
  const Recorded recorded = record(tape, 4);
  const Network network = tape.seal();
  std::vector<Tensor> feeds;
  std::vector<Tensor> expected;
  std::vector<std::string> wrong(threads);
  for (int i = 0; i < threads; ++i) {
    feeds.push_back(test::Random(10 + i).tensor({2, 3}, -1, 1));
    expected.push_back(
        network.evaluate(recorded.by, {{recorded.x, feeds.back()}}));
  }
  const std::string text = network.describe();
  together([&](int i) {
    const Network mine = network;
    for (int round = 0; round < 10; ++round) {
      const Tensor y = mine.evaluate(recorded.by, {{recorded.x, feeds[i]}});
      if (!bits_equal(y, expected[i])) wrong[i] = test::text(y);
    }
    if (mine.describe() != text) wrong[i] = "another description";
    if (mine.parameters().size() != 1) wrong[i] = "other parameters";
  });
  for (int i = 0; i < threads; ++i) EXPECT_EQ(wrong[i], "");
}

TEST(Threads, LowerOneNetworkAndStepOnePlan) {
  Tape tape;
  const Recorded recorded = record(tape, 4);
  const Network network = tape.seal();
  const Plan shared =
      network.lower(Entry().result(recorded.loss).result(recorded.by));
  const Tensor x = test::Random(3).tensor({2, 3}, -1, 1);
  const Tensor expected = network.evaluate(recorded.by, {{recorded.x, x}});
  std::atomic<int> wrong = 0;
  together([&](int i) {
    const Plan own =
        network.lower(Entry().result(recorded.loss).result(recorded.by));
    if (own.describe() != shared.describe()) ++wrong;
    Session session = interpreter::open(network);
    for (int round = 0; round < 10; ++round) {
      const topos::Run run =
          session.step((round + i) % 2 == 0 ? own : shared, {{recorded.x, x}});
      if (!bits_equal(run.of(recorded.by), expected)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// A tape made on one thread is recorded, sealed and reopened on others.
TEST(Threads, PassATapeOn) {
  Tape tape;
  const Value x = tape.input("x", f64, {});
  Value y = x;
  for (int i = 0; i < threads; ++i) {
    std::thread([&] {
      y = y + 1;
      tape = Tape(tape.seal());
    }).join();
  }
  EXPECT_EQ(tape.seal().evaluate(y, {{x, 0}}).item(), threads);
}

// A thread's frames are its own.
TEST(Threads, HaveFramesOfTheirOwn) {
  const Frame frame({"main.cpp", 1});
  std::atomic<int> wrong = 0;
  together([&](int i) {
    if (Frame::outermost().known()) ++wrong;
    const Frame own({"thread.cpp", i + 1});
    for (int round = 0; round < 100; ++round) {
      if (Frame::outermost().line != i + 1) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Frame::outermost().line, 1);
}

}  // namespace
}  // namespace topos
