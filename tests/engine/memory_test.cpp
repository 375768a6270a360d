// What a session costs: a warmed step allocates nothing, the arena is as large
// as it says, carries are written in place, and long chains stay off the stack.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <new>
#include <regex>
#include <string>
#include <vector>

#include "engine/builds.h"
#include "engine/native_program.h"
#include "engine/random_network.h"
#include "ops/catalog.h"
#include "support/random.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace {

std::atomic<std::int64_t> allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* counted_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return counted(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// Not inlined: GCC would see free meet what it takes for the usual new.
[[gnu::noinline]] void give_back(void* p) noexcept { std::free(p); }
constexpr std::size_t least = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t n) { return counted(n, least); }
void* operator new[](std::size_t n) { return counted(n, least); }
void* operator new(std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return counted(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return counted_or_null(n, least);
}
void* operator new(std::size_t n, std::align_val_t a,
                   const std::nothrow_t&) noexcept {
  return counted_or_null(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  give_back(p);
}

namespace topos::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Tanh layers under SGD, as small as the makemore one is.
struct Mlp {
  Mlp() {
    Tape tape;
    SplitMix rng(7);
    const nn::Embedding table(tape, "table", 27, 10, rng);
    const nn::Linear hidden(tape, "hidden", 30, 50, rng);
    const nn::Linear output(tape, "output", 50, 27, rng);
    contexts = tape.input("contexts", i32, {32, 3});
    targets = tape.input("targets", i32, {32});
    rate = tape.input("rate", f32, {});
    const Value x = reshape(table(contexts), {32, 30});
    loss = nn::cross_entropy(output(tanh(hidden(x))), targets);
    Entry step;
    step.result(loss);
    for (const auto& [parameter, gradient] : tape.gradients(loss)) {
      step.carry(parameter, parameter - rate * gradient);
    }
    network.emplace(tape.seal());
    train.emplace(network->lower(step));
    Random random(3);
    for (int i = 0; i < 96; ++i) {
      context_batch.push_back(static_cast<std::int32_t>(random.below(27)));
    }
    for (int i = 0; i < 32; ++i) {
      target_batch.push_back(static_cast<std::int32_t>(random.below(27)));
    }
  }

  float step(Session& session) const {
    const Feed feeds[] = {
        {contexts, context_batch}, {targets, target_batch}, {rate, 0.1f}};
    float result = 0;
    session.step(*train, feeds).read_into(loss, std::span(&result, 1));
    return result;
  }

  Value contexts, targets, rate, loss;
  std::optional<Network> network;
  std::optional<Plan> train;
  std::vector<std::int32_t> context_batch, target_batch;
};

TEST(Memory, AWarmedTrainingStepAllocatesNothing) {
  const Mlp mlp;
  for (int threads : {1, 2}) {
    Session session =
        native::open(*mlp.network, SessionOptions{.threads = threads});
    const std::int64_t cold = allocations;
    for (int i = 0; i < 3; ++i) mlp.step(session);
    const std::int64_t before = allocations;
    EXPECT_GT(before, cold) << "what is allocated is counted";
    for (int i = 0; i < 20; ++i) mlp.step(session);
    EXPECT_EQ(allocations - before, 0) << threads << " threads";
    EXPECT_EQ(session.report(*mlp.train).reference_nodes, 0u)
        << session.describe(*mlp.train);
  }
}

TEST(Memory, AWarmedStepOfAnyOperationAllocatesNothing) {
  std::vector<std::int64_t> counts;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 600u / slowness; ++seed) {
    const RandomNetwork random = random_network(seed, {32, 64});
    const Plan plan = random.network.lower(random.entry);
    count_operations(plan, counts);
    Session session = native::open(random.network);
    for (const auto& [symbol, value] : random.initial) {
      session.set(symbol, value);
    }
    const OwnedFeeds feeds = random.feeds(0, random.fed);
    for (int i = 0; i < 2; ++i) session.step(plan, feeds.feeds);
    const std::int64_t before = allocations;
    session.step(plan, feeds.feeds);
    const std::int64_t count = allocations - before;
    if (count == 0) continue;
    if (++found <= 3) {
      ADD_FAILURE() << count << " allocations, TOPOS_NETWORK_SEED=" << seed
                    << "\n"
                    << session.describe(plan);
    }
  }
  EXPECT_EQ(found, 0);
  if (slowness > 1) return;
  std::size_t at = 0;
  ops::All::for_each([&]<class Op>() {
    EXPECT_GT(counts[at++], 0) << Op::name << " never occurred";
  });
}

TEST(Memory, TheArenaIsAsLargeAsItSays) {
  const Mlp mlp;
  Session session = native::open(*mlp.network, SessionOptions{.threads = 1});
  const Session::Report report = session.report(*mlp.train);
  EXPECT_GT(report.peak_bytes, 0u);
  EXPECT_EQ(report.peak_bytes, report.allocated_bytes);
  EXPECT_THAT(session.describe(*mlp.train),
              HasSubstr("arena " + std::to_string(report.peak_bytes)));
  EXPECT_EQ(report.nodes, mlp.train->size());
  EXPECT_EQ(report.groups, mlp.train->group_count());
  EXPECT_EQ(report.threads, 1);
}

/// Two blocks that are needed at once do not share a byte, and the peak is
/// where the last one ends; no step may rely on more.
TEST(Memory, BlocksThatLiveAtOnceDoNotOverlap) {
  for (std::uint64_t seed = 1; seed <= 400u / slowness; ++seed) {
    const RandomNetwork random = random_network(seed, {60, 300});
    const Plan plan = random.network.lower(random.entry);
    const engines::NativeProgram native(plan.lowered(), 2);
    std::size_t end = 0;
    const auto& blocks = native.blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto& a = blocks[i];
      if (a.bytes == 0) continue;
      end = std::max(end, a.offset + a.bytes);
      EXPECT_EQ(a.offset % 64, 0u);
      for (std::size_t k = 0; k < i; ++k) {
        const auto& b = blocks[k];
        if (b.bytes == 0 || b.last < a.first || a.last < b.first) continue;
        ASSERT_TRUE(a.offset + a.bytes <= b.offset ||
                    b.offset + b.bytes <= a.offset)
            << "seed " << seed << ", blocks " << k << " and " << i << "\n"
            << native.describe();
      }
    }
    EXPECT_LE(end, native.arena_bytes());
    EXPECT_LT(native.arena_bytes(), end + 64);
  }
}

TEST(Memory, ParametersOfATrainingStepAreUpdatedInPlace) {
  const Mlp mlp;
  Session session = native::open(*mlp.network);
  const std::string text = session.describe(*mlp.train);
  for (const char* name :
       {"hidden.weight", "hidden.bias", "output.weight", "output.bias"}) {
    EXPECT_THAT(text, HasSubstr(std::string("in place, carry ") + name));
  }
  const engines::NativeProgram native(mlp.train->lowered(), 1);
  EXPECT_EQ(native.commits().size(), 0u) << text;
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  file >> pages >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(Memory, StaysFlatOverTenThousandSteps) {
  const Mlp mlp;
  Session session = native::open(*mlp.network, SessionOptions{.threads = 1});
  const int steps = 10000 / slowness;
  for (int i = 0; i < steps / 10; ++i) mlp.step(session);
  const std::int64_t before = resident_kib();
  for (int i = 0; i < steps; ++i) mlp.step(session);
  EXPECT_LT(resident_kib() - before, 2048) << "KiB grown";
}

TEST(Memory, StaysFlatWhereNetworksAndSessionsComeAndGo) {
  const auto once = [](std::uint64_t seed) {
    const RandomNetwork random = random_network(seed % 50, {20, 64});
    const Plan plan = random.network.lower(random.entry);
    Session session = native::open(random.network);
    for (const auto& [symbol, value] : random.initial) {
      session.set(symbol, value);
    }
    session.step(plan, random.feeds(0, random.fed).feeds);
  };
  const std::uint64_t count = 3000 / slowness;
  for (std::uint64_t i = 0; i < count / 3; ++i) once(i);
  const std::int64_t before = resident_kib();
  for (std::uint64_t i = 0; i < count; ++i) once(i);
  // The sanitizers keep what is freed for a while.
  EXPECT_LT(resident_kib() - before, slowness > 1 ? 400000 : 4096)
      << "KiB grown";
}

// ---- Long chains -----------------------------------------------------------

void on_small_stack(std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* f) -> void* {
                  (*static_cast<std::function<void()>*>(f))();
                  return nullptr;
                },
                &body),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// BC-31 through every engine: value, gradient, carried update.
void chain(int length, bool check) {
  Tape tape;
  const Value x = tape.parameter("x", tensor("f64[2]{1 1}"));
  Value y = x;
  for (int i = 0; i < length; ++i) y = y + y * 1e-6;
  const Value dx = tape.differentiate(sum(y), {x})[0];
  const Value next = x - dx * 0.0;
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(y).result(dx).carry(x, next));
  Session plain = interpreter::open(network);
  Session session = native::open(network);
  const auto expected = plain.step(plan);
  const auto found = session.step(plan);
  EXPECT_TRUE(bits_equal(found.of(y), expected.of(y)));
  EXPECT_TRUE(bits_equal(found.of(dx), expected.of(dx)));
  if (check) {
    EXPECT_NEAR(narrow(found.of(y), 0, 0, 1).item(), 1.1051708628, 1e-9);
    EXPECT_NEAR(narrow(found.of(dx), 0, 1, 1).item(), 1.1051708628, 1e-9);
  }
}

TEST(LongChains, RunOnASmallStackInLinearTime) {
  const int length = slowness > 1 ? 10000 : 100000;
  on_small_stack([&] {
    chain(length / 10, false);
    const double tenth = seconds_of([&] { chain(length / 10, false); });
    const double whole = seconds_of([&] { chain(length, length == 100000); });
    std::printf("a chain of %d: %.2f s, of %d: %.2f s\n", length / 10, tenth,
                length, whole);
    EXPECT_LT(whole, 60 * tenth + 1.0);
  });
}

/// Many groups, many values alive at once, many results and carries: nothing
/// in lowering or binding may be quadratic.
TEST(LongChains, OfOtherShapesTakeLinearTime) {
  const int length = slowness > 1 ? 400 : 8000;
  const auto wide = [](int n) {
    Tape tape;
    std::vector<Value> leaves;
    for (int i = 0; i < n; ++i) {
      leaves.push_back(
          tape.input("x" + std::to_string(i), f32, {i % 2 == 0 ? 3 : 2}));
    }
    // All alive until the end, in groups of their own.
    std::vector<Value> terms;
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      terms.push_back(sum(exp(reverse(leaves[at], 0)), 0));
    }
    Value total = terms[0];
    for (int i = 1; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      total = total + terms[at] * terms[static_cast<std::size_t>(n - 1 - i)];
    }
    Entry entry;
    entry.result(total);
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      entry.carry(leaves[at], leaves[at] * 0.5 + 0.001);
    }
    const Network network = tape.seal();
    const Plan plan = network.lower(entry);
    Session session = native::open(network);
    Session plain = interpreter::open(network);
    for (int step = 0; step < 2; ++step) {
      EXPECT_TRUE(
          bits_equal(session.step(plan).of(total), plain.step(plan).of(total)));
    }
  };
  wide(length / 8);
  const double eighth = seconds_of([&] { wide(length / 8); });
  const double whole = seconds_of([&] { wide(length); });
  std::printf("%d terms: %.2f s, %d: %.2f s\n", length / 8, eighth, length,
              whole);
  EXPECT_LT(whole, 30 * eighth + 1.0);
}

/// Processor time, which does not depend on who else uses the machine.
double cpu_seconds_of(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// One group with many carries, many loads of blocks and many stored results;
/// and as many carries that change places.
TEST(LongChains, ManyCarriesTakeLinearTime) {
  const auto carried = [](int n) {
    Tape tape;
    const Value table =
        tape.parameter("table", tensor("f32[3, 2]{1 2 3 4 5 6}"));
    Value total = tape.constant(tensor("f32[2]{0 0}"));
    Entry entry;
    std::vector<Value> others;
    for (int i = 0; i < n; ++i) {
      const std::string name = std::to_string(i);
      const Value x = tape.input("x" + name, f32, {2});
      const Value next = x * 0.5 + 1.0;
      // A group of its own, whose block is free once it is added.
      const Value row = gather(table, tape.constant(Tensor::scalar(i % 3)));
      const Value kept = row * 2.0 - x;
      total = total + next * kept;
      others.push_back(tape.input("y" + name, f32, {2}));
      entry.carry(x, next).result(kept);
    }
    for (int i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      entry.carry(others[at], others[static_cast<std::size_t>(n - 1 - i)]);
    }
    const Network network = tape.seal();
    const Plan plan = network.lower(entry.result(total));
    Session session = native::open(network, {.threads = 1});
    Session plain = interpreter::open(network);
    EXPECT_TRUE(
        bits_equal(session.step(plan).of(total), plain.step(plan).of(total)));
  };
  const int count = slowness > 1 ? 800 : 20000;
  carried(count / 8);
  // The least of two: what others do to the caches is not ours.
  const auto least_of = [&](int n) {
    const double once = cpu_seconds_of([&] { carried(n); });
    return std::min(once, cpu_seconds_of([&] { carried(n); }));
  };
  const double eighth = least_of(count / 8);
  const double whole = least_of(count);
  std::printf("%d carries: %.2f s, %d: %.2f s\n", count / 4, eighth, count * 2,
              whole);
  EXPECT_LT(whole, 20 * eighth + 0.3);
}

// ---- Descriptions ----------------------------------------------------------

TEST(Describe, SaysWhereScratchSnapshotsAndCarriesAre) {
  Tape tape;
  const Value w = tape.parameter("w", tensor("f32[2]{1 2}"));
  const Value a = tape.input("a", f32, {2});
  const Value b = tape.input("b", f32, {2});
  const Value same = tape.input("same", f32, {2});
  const Value fed = tape.input("fed", f32, {2});
  const Value next = exp(w) * fed;
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry()
                                      .carry(w, next)
                                      .carry(a, b)
                                      .carry(b, a)
                                      .carry(same, same)
                                      .result(fed));
  const std::string text = native::open(network).describe(plan);
  EXPECT_THAT(text, ContainsRegex("scratch [0-9]+ \\+ [0-9]+\n"));
  EXPECT_THAT(text,
              ContainsRegex("snapshot %[0-9]+ \"a\" to arena [0-9]+ \\+ 8"));
  EXPECT_THAT(text,
              ContainsRegex("snapshot %[0-9]+ \"b\" to arena [0-9]+ \\+ 8"));
  EXPECT_THAT(text,
              ContainsRegex("snapshot %[0-9]+ \"fed\" to arena [0-9]+ \\+ 8"));
  EXPECT_THAT(text,
              ContainsRegex("carry %[0-9]+ \"w\" <- %[0-9]+, in place\n"));
  EXPECT_THAT(text, ContainsRegex(
                        "carry %[0-9]+ \"a\" <- %[0-9]+, copied at the end\n"));
  EXPECT_THAT(text,
              ContainsRegex("carry %[0-9]+ \"same\" <- %[0-9]+, as it is\n"));
}

}  // namespace
}  // namespace topos::test
