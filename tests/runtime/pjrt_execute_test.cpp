#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "io/temporary_folder.h"
#include "runtime/pjrt_client.h"
#include "topos/error.h"
#include "with_plugin.h"

#if defined(__SANITIZE_ADDRESS__)
#define TOPOS_TEST_UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOPOS_TEST_UNDER_ASAN
#endif
#endif

namespace topos::runtime {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const Tensor one_to_four({4}, {1.0f, 2.0f, 3.0f, 4.0f});

// A state of 64 KiB that every step moves towards a feed: a training loop, in
// small.
constexpr const char* step_text = R"(module {
  func.func public @main(
      %state: tensor<16384xf32> {tf.aliasing_output = 0 : i32},
      %feed: tensor<16384xf32>) -> (tensor<16384xf32>, tensor<f32>) {
    %next = stablehlo.add %state, %feed : tensor<16384xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%next init: %zero) applies stablehlo.add
        across dimensions = [0] : (tensor<16384xf32>, tensor<f32>) -> tensor<f32>
    return %next, %sum : tensor<16384xf32>, tensor<f32>
  }
}
)";
const Type state_type = {f32, {16384}};
const Signature step_signature = {
    {state_type, state_type}, {state_type, {f32, {}}}, {0, std::nullopt}};

// The address sanitizer keeps what is freed for a while; it finds leaks itself.
#ifdef TOPOS_TEST_UNDER_ASAN
constexpr std::int64_t greatest_growth = std::int64_t{32} << 20;
#else
constexpr std::int64_t greatest_growth = std::int64_t{2} << 20;
#endif

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  file >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

class PjrtExecute : public WithPlugin {
 protected:
  std::unique_ptr<Executable> adder(bool donated = false) {
    return client_->compile(add_text("0.5", donated), add_signature(donated),
                            {});
  }
};

TEST_F(PjrtExecute, Adds) {
  const auto program = adder();
  const auto results = run(*program, add_signature(), {one_to_four});
  EXPECT_EQ(results[0].text(), "f32[4]{1.5 2.5 3.5 4.5}");
}

TEST_F(PjrtExecute, MultipliesMatricesAndGivesSeveralResults) {
  const Signature signature = {{{f64, {2, 3}}, {f64, {3, 2}}},
                               {{f64, {2, 2}}, {boolean, {2, 2}}},
                               {std::nullopt, std::nullopt}};
  const auto program = client_->compile(R"(module {
  func.func public @main(%a: tensor<2x3xf64>, %b: tensor<3x2xf64>)
      -> (tensor<2x2xf64>, tensor<2x2xi1>) {
    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
    %t = stablehlo.transpose %c, dims = [1, 0]
        : (tensor<2x2xf64>) -> tensor<2x2xf64>
    %l = stablehlo.compare LT, %c, %t
        : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xi1>
    return %c, %l : tensor<2x2xf64>, tensor<2x2xi1>
  }
}
)",
                                        signature, {});
  const auto results = run(*program, signature,
                           {Tensor({2, 3}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}),
                            Tensor({3, 2}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0})});
  EXPECT_EQ(results[0].text(), "f64[2, 2]{22 28 49 64}");
  EXPECT_EQ(results[1].text(), "boolean[2, 2]{false true false false}");
}

TEST_F(PjrtExecute, MaximumKeepsNan) {
  const auto text = [](const char* type) {
    return fmt::format(
        "func.func @main(%x: {0}, %y: {0}) -> {0} {{\n"
        "  %z = stablehlo.maximum %x, %y : {0}\n"
        "  return %z : {0}\n}}\n",
        type);
  };
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Signature signature = {
      {{f32, {2}}, {f32, {2}}}, {{f32, {2}}}, {std::nullopt, std::nullopt}};
  const auto program = client_->compile(text("tensor<2xf32>"), signature, {});
  EXPECT_EQ(run(*program, signature,
                {Tensor({2}, {nan, inf}), Tensor({2}, {inf, nan})})[0]
                .text(),
            "f32[2]{nan nan}");
}

TEST_F(PjrtExecute, TakesNothingAndGivesWhatIsEmpty) {
  const Signature signature = {{}, {{i64, {0, 2}}, {i32, {}}}, {}};
  const auto program = client_->compile(R"(module {
  func.func public @main() -> (tensor<0x2xi64>, tensor<i32>) {
    %a = stablehlo.constant dense<7> : tensor<i32>
    %b = stablehlo.constant dense<> : tensor<0x2xi64>
    return %b, %a : tensor<0x2xi64>, tensor<i32>
  }
}
)",
                                        signature, {});
  const auto results = run(*program, signature, {});
  EXPECT_EQ(results[0].text(), "i64[0, 2]{}");
  EXPECT_EQ(results[1].text(), "i32[]{7}");
}

TEST_F(PjrtExecute, RefusesWhatTheSignatureDoesNotHave) {
  const auto program = adder();
  const auto execute = [&](const std::vector<Buffer*>& arguments) {
    return [&program, arguments] { program->execute(arguments); };
  };
  EXPECT_THAT(execute({}), ThrowsMessage<UsageError>(HasSubstr(
                               "takes 1 arguments on each of 1 devices, not "
                               "0 in all")));
  EXPECT_THAT(execute({nullptr}), ThrowsMessage<UsageError>(HasSubstr(
                                      "argument 0 of device 0 is no buffer")));
  // XLA would run both: the sizes are right.
  const auto integers = put(Tensor({4}, {1, 2, 3, 4}));
  EXPECT_THAT(execute({integers.get()}),
              ThrowsMessage<UsageError>(HasSubstr("is i32[4], not f32[4]")));
  const auto square = put(one_to_four.reshaped({2, 2}));
  EXPECT_THAT(execute({square.get()}),
              ThrowsMessage<UsageError>(HasSubstr("is f32[2, 2], not f32[4]")));

  const auto other = make_client();
  const auto foreign = other->put(one_to_four.type(), one_to_four.data(), 0);
  EXPECT_THAT(execute({foreign.get()}),
              ThrowsMessage<UsageError>(HasSubstr("is another client's")));
}

TEST_F(PjrtExecute, DonatedMemoryBecomesTheResult) {
  const auto program =
      client_->compile(step_text, step_signature, CompileOptions{});
  const auto memory = program->memory();
  ASSERT_TRUE(memory);
  const auto bytes = static_cast<std::int64_t>(state_type.size_bytes());
  EXPECT_EQ(memory->argument_bytes, 2 * bytes);
  EXPECT_EQ(memory->alias_bytes, bytes);
  EXPECT_LT(memory->temporary_bytes, bytes);

  auto state = put(Tensor::zeros(state_type));
  const auto feed = put(Tensor::full(state_type, 1));
  const std::uintptr_t address = device_address(*state);
  std::array<Buffer*, 2> arguments = {state.get(), feed.get()};
  const auto results = program->execute(arguments);
  EXPECT_EQ(device_address(*results[0]), address);
  EXPECT_EQ(read(*results[1], {f32, {}}).item(), 16384);
  // What was donated is gone, for us too.
  EXPECT_THAT([&] { program->execute(arguments); },
              ThrowsMessage<UsageError>(HasSubstr(
                  "argument 0 of device 0 was donated to an earlier run")));
  EXPECT_THAT([&] { read(*state, state_type); },
              ThrowsMessage<UsageError>(HasSubstr("donated")));
  EXPECT_THROW(device_address(*state), UsageError);
}

TEST_F(PjrtExecute, ABufferIsDonatedOnceAndNeverWhenBorrowed) {
  const auto program =
      client_->compile(step_text, step_signature, CompileOptions{});
  const Tensor zeros = Tensor::zeros(state_type);
  const auto state = put(zeros);
  std::array<Buffer*, 2> twice = {state.get(), state.get()};
  EXPECT_THAT([&] { program->execute(twice); },
              ThrowsMessage<UsageError>(
                  HasSubstr("a donated buffer is given as two arguments")));
  const auto lent = client_->borrow(state_type, zeros.data(), 0);
  std::array<Buffer*, 2> borrowed = {lent.get(), state.get()};
  EXPECT_THAT([&] { program->execute(borrowed); },
              ThrowsMessage<UsageError>(
                  HasSubstr("is donated, but its memory is borrowed")));
  // Nothing has happened to either.
  EXPECT_EQ(read(*state, state_type).at<float>({0}), 0);
}

// As an engine runs: parameters stay, a feed is lent for a step.
TEST_F(PjrtExecute, AThousandStepsKeepTheirMemory) {
  const auto program =
      client_->compile(step_text, step_signature, CompileOptions{});
  const Tensor feed = Tensor::full(state_type, 0.5);
  auto state = put(Tensor::zeros(state_type));
  const std::uintptr_t address = device_address(*state);
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto lent = client_->borrow(state_type, feed.data(), 0);
      std::array<Buffer*, 2> arguments = {state.get(), lent.get()};
      auto results = program->execute(arguments);
      state = std::move(results[0]);
    }
  };
  steps(100);
  const std::int64_t before = resident_bytes();
  steps(1000);
  // A leak of the state alone would be 64 MiB.
  EXPECT_LT(resident_bytes() - before, greatest_growth);
  EXPECT_EQ(device_address(*state), address);
  const Tensor last = read(*state, state_type);
  EXPECT_EQ(last.at<float>({0}), 550);
  EXPECT_EQ(last.at<float>({16383}), 550);
}

TEST_F(PjrtExecute, ThreadsMayShareAProgram) {
  const auto program = adder();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto start = static_cast<float>(thread);
      for (int i = 0; i < 200; ++i) {
        const auto results =
            run(*program, add_signature(), {Tensor::full({f32, {4}}, start)});
        if (results[0].at<float>({3}) != start + 0.5f) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// Rows lie on two devices; the sum over them has to meet.
TEST_F(PjrtExecute, TwoDevicesSumTheirPartsTogether) {
  if (!client_->description().starts_with("cpu")) {
    GTEST_SKIP() << "asks for two devices of a CPU";
  }
  constexpr const char* text = R"(module {
  sdy.mesh @devices = <["device"=2]>
  func.func public @main(
      %x: tensor<4x2xf32> {
          sdy.sharding = #sdy.sharding<@devices, [{"device"}, {}]>})
      -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>},
          tensor<4x2xf32> {
              sdy.sharding = #sdy.sharding<@devices, [{"device"}, {}]>}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add
        across dimensions = [0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
    %rows = stablehlo.broadcast_in_dim %sum, dims = [1]
        : (tensor<2xf32>) -> tensor<4x2xf32>
    %centered = stablehlo.subtract %x, %rows : tensor<4x2xf32>
    return %sum, %centered : tensor<2xf32>, tensor<4x2xf32>
  }
}
)";
  const Type part = {f32, {2, 2}};
  const Signature signature = {{part}, {{f32, {2}}, part}, {std::nullopt}};
  // Compiled, then loaded.
  const TemporaryFolder cache;
  for (int round = 0; round < 2; ++round) {
    client_ = make_client(2, cache.path());
    ASSERT_EQ(client_->device_count(), 2);
    const auto program =
        client_->compile(text, signature, {.partitions = 2, .overrides = {}});
    const auto first = put(Tensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f}), 0);
    const auto second = put(Tensor({2, 2}, {5.0f, 6.0f, 7.0f, 8.0f}), 1);
    std::array<Buffer*, 2> arguments = {first.get(), second.get()};
    const auto results = program->execute(arguments);
    ASSERT_EQ(results.size(), 4U);  // [device][result]
    EXPECT_EQ(read(*results[0], {f32, {2}}).text(), "f32[2]{16 20}");
    EXPECT_EQ(read(*results[1], part).text(), "f32[2, 2]{-15 -18 -13 -16}");
    EXPECT_EQ(read(*results[2], {f32, {2}}).text(), "f32[2]{16 20}");
    EXPECT_EQ(read(*results[3], part).text(), "f32[2, 2]{-11 -14 -9 -12}");

    std::array<Buffer*, 2> swapped = {second.get(), first.get()};
    EXPECT_THAT([&] { program->execute(swapped); },
                ThrowsMessage<UsageError>(HasSubstr("lies on device 1")));
  }
}

}  // namespace
}  // namespace topos::runtime
