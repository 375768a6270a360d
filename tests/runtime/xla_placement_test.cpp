// Which programs a placement compiles, who waits for them, and what of them and
// of their results stays. On devices that only count: no XLA is needed.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/message.h"
#include "runtime/arguments.h"
#include "runtime/xla_session.h"
#include "support/tensors.h"
#include "topos/topos.h"

namespace topos::runtime {
namespace {

using test::message_of;
using test::tensor;
using testing::ElementsAre;
using testing::HasSubstr;

/// What lives on the devices and what was asked of them.
struct Counts {
  std::atomic<int> buffers = 0;
  std::atomic<int> programs = 0;
  std::atomic<int> compiled = 0;
  std::atomic<int> reads = 0;
};

class CountedBuffer final : public PlacedBuffer {
 public:
  CountedBuffer(Counts& counts, const Type& type, int device, bool borrowed)
      : PlacedBuffer(&counts, type, device, borrowed), counts_(counts) {
    ++counts_.buffers;
  }
  ~CountedBuffer() override { --counts_.buffers; }

 private:
  Counts& counts_;
};

/// Takes and gives what its signature says, and computes nothing.
class CountedProgram final : public Executable {
 public:
  CountedProgram(Counts& counts, Signature signature, int devices)
      : counts_(counts), signature_(std::move(signature)), devices_(devices) {
    ++counts_.programs;
  }
  ~CountedProgram() override { --counts_.programs; }

  std::vector<std::unique_ptr<Buffer>> execute(
      std::span<Buffer* const> arguments) override {
    check_arguments(signature_, static_cast<std::size_t>(devices_), &counts_,
                    arguments);
    std::vector<std::unique_ptr<Buffer>> results;
    for (int device = 0; device < devices_; ++device) {
      for (const Type& type : signature_.results) {
        results.push_back(
            std::make_unique<CountedBuffer>(counts_, type, device, false));
      }
    }
    return results;
  }
  std::optional<MemoryStats> memory() const override { return std::nullopt; }

 private:
  Counts& counts_;
  Signature signature_;
  int devices_;
};

class CountingClient final : public Client {
 public:
  std::string description() const override { return "counts"; }
  int device_count() const override { return 2; }
  std::unique_ptr<Buffer> put(const Type& type, const std::byte*,
                              int device) override {
    return std::make_unique<CountedBuffer>(counts, type, device, false);
  }
  std::unique_ptr<Buffer> borrow(const Type& type, const std::byte*,
                                 int device) override {
    return std::make_unique<CountedBuffer>(counts, type, device, true);
  }
  /// -1 of an integer: no index is out of range.
  void read(const Buffer&, const Type& type, std::byte* elements) override {
    ++counts.reads;
    std::memset(elements, 0xff, type.size_bytes());
  }
  std::unique_ptr<Executable> compile(std::string_view text,
                                      const Signature& signature,
                                      const CompileOptions& options) override {
    ++counts.compiled;
    if (on_compile) on_compile(text);
    const std::lock_guard lock(mutex_);
    arguments = signature.arguments;
    return std::make_unique<CountedProgram>(counts, signature,
                                            options.partitions);
  }

  Counts counts;
  std::function<void(std::string_view text)> on_compile;
  /// Of the program that was compiled last.
  std::vector<Type> arguments;

 private:
  std::mutex mutex_;
};

class CountingEngine final : public engines::EngineImplementation {
 public:
  std::string_view name() const override { return "counting"; }
  std::string description() const override { return "counts"; }
  std::shared_ptr<engines::SessionState> open(
      std::shared_ptr<const engines::PlacementState> placement,
      SessionOptions options) const override {
    return open_xla_session(placement, options);
  }
};

class XlaPlacements : public testing::Test {
 protected:
  XlaPlacements() : x_(tape_.input("x", f32, {4, 2})) {}

  /// Seals what was recorded.
  void place(int devices) {
    network_.emplace(tape_.seal());
    CompileOptions options;
    options.partitions = devices;
    placement_ = std::make_shared<XlaPlacement>(
        engine_, *network_, network_->parameters(), client_, options);
  }
  Session open() { return Session(open_xla_session(placement_, {})); }

  std::shared_ptr<CountingClient> client_ = std::make_shared<CountingClient>();
  Counts& counts_ = client_->counts;
  CountingEngine engine_;
  Tape tape_;
  Value x_;
  const Tensor fed_ = Tensor::zeros({f32, {4, 2}});
  std::optional<Network> network_;
  std::shared_ptr<const engines::PlacementState> placement_;
};

TEST_F(XlaPlacements, APlanThatCompilesHoldsUpNoOther) {
  const Value known = x_ + 1;
  const Value slow = tanh(x_);
  place(1);
  const Plan first = network_->lower(Entry().result(known));
  const Plan second = network_->lower(Entry().result(slow));
  Session one = open();
  one.step(first, {{x_, fed_}});

  std::promise<void> started;
  std::promise<void> release;
  client_->on_compile = [&](std::string_view text) {
    if (text.find("tanh") == std::string_view::npos) return;
    started.set_value();
    release.get_future().wait();
  };
  auto compiling = std::async(std::launch::async, [&] {
    Session session = open();
    session.step(second, {{x_, fed_}});
  });
  started.get_future().wait();
  auto others = std::async(std::launch::async, [&] {
    one.step(first, {{x_, fed_}});
    Session session = open();
    session.step(first, {{x_, fed_}});
  });
  EXPECT_EQ(others.wait_for(std::chrono::seconds(20)),
            std::future_status::ready);
  release.set_value();
  compiling.get();
  others.get();
  EXPECT_EQ(counts_.compiled, 2);
}

TEST_F(XlaPlacements, AProgramGoesWithTheLastSessionThatSteppedIt) {
  const Value y = x_ + 1;
  place(1);
  const Plan plan = network_->lower(Entry().result(y));
  {
    Session one = open();
    one.step(plan, {{x_, fed_}});
    {
      Session two = open();
      two.step(plan, {{x_, fed_}});
    }
    EXPECT_EQ(counts_.compiled, 1);
    EXPECT_EQ(counts_.programs, 1);
  }
  EXPECT_EQ(counts_.programs, 0);
  EXPECT_EQ(counts_.buffers, 0);
  Session again = open();
  again.step(plan, {{x_, fed_}});
  EXPECT_EQ(counts_.compiled, 2);
}

TEST_F(XlaPlacements, APlanThatDidNotCompileIsTriedAgain) {
  const Value y = x_ + 1;
  place(1);
  const Plan plan = network_->lower(Entry().result(y));
  Session session = open();
  client_->on_compile = [](std::string_view) {
    throw RuntimeError("no memory");
  };
  EXPECT_THAT(message_of<RuntimeError>([&] {
                session.step(plan, {{x_, fed_}});
              }),
              HasSubstr("no memory"));
  EXPECT_EQ(counts_.programs, 0);
  client_->on_compile = nullptr;
  session.step(plan, {{x_, fed_}});
  EXPECT_EQ(counts_.compiled, 2);
}

TEST_F(XlaPlacements, ResultsEndWithTheNextStepOfAnyPlan) {
  const Value y = x_ + 1;
  const Value z = x_ * 2;
  place(1);
  const Plan two = network_->lower(Entry().result(y).result(z));
  const Plan one = network_->lower(Entry().result(y));
  Session session = open();
  for (int i = 0; i < 3; ++i) {
    session.step(two, {{x_, fed_}});
    EXPECT_EQ(counts_.buffers, 2);
    session.step(one, {{x_, fed_}});
    EXPECT_EQ(counts_.buffers, 1);
  }
}

TEST_F(XlaPlacements, AnInputThatASessionOwnsIsWholeInItsPrograms) {
  const Value y = x_ + 1;
  place(2);
  const Plan plan = network_->lower(Entry().result(y));
  Session feeds = open();
  feeds.step(plan, {{x_, fed_}});
  EXPECT_THAT(client_->arguments, ElementsAre(Type{f32, {2, 2}}));

  Session owns = open();
  owns.step(plan, {{x_, fed_}});
  EXPECT_EQ(counts_.compiled, 1);
  owns.set(x_, fed_);
  owns.step(plan);
  EXPECT_THAT(client_->arguments, ElementsAre(Type{f32, {4, 2}}));
  owns.step(plan);
  owns.fork().step(plan);
  // Those who feed it keep their program.
  feeds.step(plan, {{x_, fed_}});
  EXPECT_EQ(counts_.compiled, 2);
  EXPECT_EQ(counts_.reads, 2 - 1) << "the fork's copy alone";
}

TEST_F(XlaPlacements, WhatAnotherPlanCarriesIsWholeToo) {
  const Value mean = tape_.input("mean", f32, {2});
  const Value centered = x_ - mean;
  const Value next = mean * 0.5 + topos::mean(x_, 0);
  place(2);
  const Plan train =
      network_->lower(Entry().result(centered).carry(mean, next));
  const Plan evaluate = network_->lower(Entry().result(centered));
  Session session = open();
  session.step(train, {{x_, fed_}});
  session.step(evaluate, {{x_, fed_}});
  EXPECT_THAT(client_->arguments,
              ElementsAre(Type{f32, {2, 2}}, Type{f32, {2}}));
  EXPECT_EQ(counts_.reads, 0);
  EXPECT_EQ(counts_.compiled, 2);
}

TEST_F(XlaPlacements, OnOneDeviceAnOwnedInputIsTheSameProgram) {
  const Value y = x_ + 1;
  place(1);
  const Plan plan = network_->lower(Entry().result(y));
  Session session = open();
  session.step(plan, {{x_, fed_}});
  session.set(x_, fed_);
  session.step(plan);
  EXPECT_EQ(counts_.compiled, 1);
}

TEST_F(XlaPlacements, IndicesThatASessionOwnsAreCheckedByItsPrograms) {
  const Value ids = tape_.input("ids", i32, {3});
  const Value rows = gather(x_, ids);
  place(1);
  const Plan plan = network_->lower(Entry().result(rows));
  Session session = open();
  EXPECT_THAT(session.describe(plan), testing::Not(HasSubstr("index faults")));
  session.set(ids, tensor("i32[3]{0 1 2}"));
  EXPECT_THAT(session.describe(plan), HasSubstr("index faults"));
  EXPECT_EQ(counts_.compiled, 2);
}

}  // namespace
}  // namespace topos::runtime
