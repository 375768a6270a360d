// Long recordings (BC-31) and many of them (BC-32).

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "topos/engine.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/plan.h"
#include "topos/tape.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOPOS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TOPOS_SANITIZED 1
#endif
#endif

namespace topos {
namespace {

/// Runs `f` in a thread with a stack of 256 KiB and rethrows what it throws.
void on_a_small_stack(const std::function<void()>& f) {
  struct Call {
    const std::function<void()>* f;
    std::exception_ptr error;
  } call{&f, nullptr};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    Call& it = *static_cast<Call*>(argument);
    try {
      (*it.f)();
    } catch (...) {
      it.error = std::current_exception();
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &call), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (call.error) std::rethrow_exception(call.error);
}

/// y = x; n times y = y + y 1e-6.
Value chain(Value x, int n) {
  Value y = x;
  for (int i = 0; i < n; ++i) y = y + y * 1e-6;
  return y;
}

TEST(Scale, Bc31AChainOfAHundredThousand) {
  constexpr int n = 100'000;
  constexpr double expected = 1.1051708628;
  on_a_small_stack([] {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(1.0));
    const Value y = chain(x, n);
    const Value by = tape.differentiate(y, {x})[0];
    const Network network = tape.seal();
    EXPECT_NEAR(network.evaluate(y).item(), expected, 5e-11);
    EXPECT_NEAR(network.evaluate(by).item(), expected, 5e-11);
    EXPECT_GT(network.describe().size(), 100u * n);
    const Plan plan = network.lower(Entry().result(y).result(by));
    EXPECT_GT(plan.describe().size(), 100u * n);
    Session session = interpreter::open(network);
    const topos::Run run = session.step(plan);
    EXPECT_NEAR(run.scalar(by), expected, 5e-11);
  });
}

TEST(Scale, Bc31NeverRun) {
  on_a_small_stack([] {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(1.0));
    const Value y = chain(x, 100'000);
    tape.differentiate(y, {x});
  });
}

TEST(Scale, Bc31SplitAndConcatenate) {
  constexpr int n = 100'000;
  on_a_small_stack([] {
    Tape tape;
    const Value x = tape.parameter("x", Tensor({2}, {1.0, 2.0}));
    Value y = x;
    for (int i = 0; i < n; ++i) {
      y = concat({narrow(y, 0, 1, 1), narrow(y, 0, 0, 1)}, 0);
    }
    const Value by = tape.differentiate(sum(y * y), {x})[0];
    const Network network = tape.seal();
    EXPECT_EQ(network.evaluate(y).to_vector<double>(),
              (std::vector<double>{1, 2}));
    EXPECT_EQ(network.evaluate(by).to_vector<double>(),
              (std::vector<double>{2, 4}));
  });
}

TEST(Scale, Bc31ASumOfSquares) {
  on_a_small_stack([] {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(0.5));
    Value total = x * x;
    for (int i = 1; i < 2048; ++i) total = total + x * x;
    const Value by = tape.differentiate(total, {x})[0];
    const Network network = tape.seal();
    EXPECT_EQ(network.evaluate(total).item(), 512);
    EXPECT_EQ(network.evaluate(by).item(), 2048);
  });
}

// Of tanh, as formulas.md wants: 3 to 5 nodes a link.
TEST(Scale, NodesAreLinearInTheLinks) {
  const auto nodes = [](int n, int order) {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(1.0));
    Value y = x;
    for (int i = 0; i < n; ++i) y = tanh(y);
    std::size_t before = tape.size();
    for (int i = 0; i < order; ++i) {
      before = tape.size();
      y = tape.differentiate(y, {x})[0];
    }
    return static_cast<std::int64_t>(tape.size() - before);
  };
  for (int order : {1, 2, 3}) {
    SCOPED_TRACE(order);
    const std::int64_t once = nodes(500, order);
    const std::int64_t twice = nodes(1000, order);
    const std::int64_t four_times = nodes(2000, order);
    EXPECT_EQ(four_times - twice, 2 * (twice - once));
    if (order == 1) {
      EXPECT_GE(once, 3 * 500);
      EXPECT_LE(once, 5 * 500);
    }
  }
}

TEST(Scale, PlansAreLinearInTheLinks) {
  const auto nodes = [](int n) {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(1.0));
    const Value y = chain(x, n);
    const Value by = tape.differentiate(y, {x})[0];
    const Network network = tape.seal();
    return network.lower(Entry().result(y).result(by)).size();
  };
  const std::size_t once = nodes(500);
  const std::size_t twice = nodes(1000);
  EXPECT_EQ(nodes(2000) - twice, 2 * (twice - once));
}

/// Bytes of memory that the process has resident.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  if (!file) throw std::runtime_error("/proc/self/statm cannot be read");
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Scale, Bc32TenThousandRecordings) {
  const auto step = [] {
    Tape tape;
    const Value x = tape.parameter("x", Tensor::scalar(1.0));
    Value y = x;
    for (int i = 0; i < 10; ++i) y = tanh(y) * 0.5;
    return tape.differentiate(gelu(y), {x}).size();
  };
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(step(), 1u);
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(step(), 1u);
  const std::int64_t grown = resident_bytes() - before;
#if defined(TOPOS_SANITIZED)
  GTEST_SKIP() << "the sanitizer keeps freed memory: grown by " << grown;
#endif
  // A hundred bytes a step would be a megabyte.
  EXPECT_LT(grown, std::int64_t{1} << 20);
}

// The same on one tape that errors interrupt: what they take back stays away.
TEST(Scale, ErrorsLeaveNothingBehind) {
  Tape tape;
  const Value x = tape.input("x", f32, {2});
  const Value y = tape.input("y", f32, {3});
  const Value c = equal(x, 0);
  const std::size_t before = tape.size();
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_THROW(select(c, y, i), ShapeError);
    EXPECT_THROW(tape.input("x", f32, {}), UsageError);
  }
  EXPECT_EQ(tape.size(), before);
}

}  // namespace
}  // namespace topos
