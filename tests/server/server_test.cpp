#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "runtime/server_client.h"
#include "runtime/server_connection.h"
#include "server/server_fixture.h"
#include "topos/error.h"

namespace topos::runtime::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// One server for all tests, since it takes a second to start.
class OnServer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (why_no_jax().empty()) client_ = open_server();
  }
  static void TearDownTestSuite() { client_.reset(); }
  void SetUp() override { TOPOS_NEEDS_JAX(); }

  static Client& client() { return *client_; }
  static std::unique_ptr<Executable> compile(const Program& program) {
    return client().compile(program.text, program.signature, {});
  }

 private:
  static std::unique_ptr<Client> client_;
};
std::unique_ptr<Client> OnServer::client_;

/// The message of the error that `call` ends with.
template <class E>
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// As many elements as there are, whose bytes are all different enough.
std::vector<std::byte> some_bytes(const Type& type) {
  std::vector<std::byte> bytes(type.size_bytes());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<std::byte>(i * 151 + i / 256);
    bytes[i] = type.dtype == boolean ? byte & std::byte{1} : byte;
  }
  return bytes;
}

std::vector<std::byte> read_bytes(Client& client, const Buffer& buffer,
                                  const Type& type) {
  std::vector<std::byte> bytes(type.size_bytes());
  client.read(buffer, type, bytes.data());
  return bytes;
}

TEST_F(OnServer, EveryTypeComesBackAsItWent) {
  for (const DType dtype : {f32, f64, bf16, f16, i32, i64, boolean}) {
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{2, 0, 3}, Shape{1}, Shape{7},
          Shape{2, 1, 3, 1, 2, 1, 1, 2}, Shape{300, 100}}) {
      const Type type = {dtype, shape};
      SCOPED_TRACE(type.text());
      const auto bytes = some_bytes(type);
      const auto buffer = client().put(type, bytes.data(), 0);
      EXPECT_EQ(read_bytes(client(), *buffer, type), bytes);
      Buffer* const argument = buffer.get();
      const auto results = compile(identity(type))->execute({&argument, 1});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(read_bytes(client(), *results[0], type), bytes);
    }
  }
}

TEST_F(OnServer, SharedMemoryTakesOverWhereTensorsAreLarge) {
  for (const std::int64_t size : {1 << 10, 1 << 18, 1 << 24}) {
    for (const std::int64_t extent : {size - 1, size, size + 1}) {
      const Type type = {boolean, {extent}};
      const auto bytes = some_bytes(type);
      const auto copy = client().put(type, bytes.data(), 0);
      const auto borrowed = client().borrow(type, bytes.data(), 0);
      EXPECT_EQ(read_bytes(client(), *copy, type), bytes);
      EXPECT_EQ(read_bytes(client(), *borrowed, type), bytes);
    }
  }
}

TEST_F(OnServer, ManyTensorsNeedNotWaitForEachOther) {
  // More files than a process may have open, and more bytes than may be under
  // way.
  const Type type = {f32, {std::int64_t{1} << 16}};
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 1100; ++i) {
    const Tensor tensor = Tensor::full(type, i);
    buffers.push_back(put(client(), tensor));
    if (i >= 100) buffers[static_cast<std::size_t>(i - 100)].reset();
  }
  for (int i = 1000; i < 1100; ++i) {
    const auto& buffer = *buffers[static_cast<std::size_t>(i)];
    EXPECT_EQ(read(client(), buffer, type).at<float>({77}),
              static_cast<float>(i));
  }
}

TEST_F(OnServer, AThousandDonatedStepsStayInPlace) {
  constexpr std::int64_t extent = 100'000;
  const Program program = accumulate(extent);
  const auto step = compile(program);
  const Type state_type = program.signature.results[0];
  ASSERT_TRUE(step->memory());
  EXPECT_EQ(step->memory()->alias_bytes, 4 * extent);
  EXPECT_LT(step->memory()->temporary_bytes, extent);

  auto state = put(client(), Tensor::zeros(state_type));
  for (int i = 0; i < 1000; ++i) {
    const auto x = put(client(), Tensor::scalar(static_cast<float>(i)));
    const std::array<Buffer*, 2> arguments = {state.get(), x.get()};
    auto results = step->execute(arguments);
    ASSERT_EQ(read(client(), *results[1], {f32, {}}).item(), 2 * i);
    if (i % 100 == 0) {
      EXPECT_THAT(
          refusal<UsageError>([&] { step->execute(arguments); }),
          HasSubstr("argument 0 of device 0 was donated to an earlier run"));
      // What has been read may be donated all the same.
      EXPECT_EQ(read(client(), *results[0], state_type).at<float>({extent - 1}),
                0.5f * static_cast<float>(i * (i + 1)));
    }
    state = std::move(results[0]);
  }
  EXPECT_EQ(read(client(), *state, state_type).at<float>({extent / 2}),
            static_cast<float>(999 * 500));
}

TEST_F(OnServer, BorrowedMemoryIsReadAndNeverDonated) {
  for (const std::int64_t extent : {10, 100'000}) {
    Program program = accumulate(extent);
    const auto step = compile(program);
    const Type type = program.signature.arguments[0];
    const Tensor ones = Tensor::full(type, 1);
    const auto state = client().borrow(type, ones.data(), 0);
    const auto x = put(client(), Tensor::scalar(3.f));
    const std::array<Buffer*, 2> arguments = {state.get(), x.get()};
    EXPECT_THAT(
        refusal<UsageError>([&] { step->execute(arguments); }),
        HasSubstr("argument 0 of device 0 is donated, but its memory is "
                  "borrowed"));
    const std::string donation = " {tf.aliasing_output = 0 : i32}";
    program.text.erase(program.text.find(donation), donation.size());
    program.signature.donated_to[0].reset();
    const auto add = compile(program);
    for (int i = 0; i < 3; ++i) {
      const auto results = add->execute(arguments);
      EXPECT_EQ(read(client(), *results[0], type).at<float>({9}), 4.f);
      EXPECT_EQ(read(client(), *state, type).at<float>({9}), 1.f);
    }
  }
}

TEST_F(OnServer, AProgramThatDoesNotCompileIsQuotedAndTheNextOneRuns) {
  Program program = accumulate(4);
  const auto good = program.text;
  const std::string word = "stablehlo.add %state";
  program.text.replace(good.find(word), word.size(), "stablehlo.adx %state");
  EXPECT_THAT(
      refusal<RuntimeError>([&] { compile(program); }),
      AllOf(HasSubstr("a program cannot be compiled"),
            HasSubstr("custom op 'stablehlo.adx' is unknown"),
            HasSubstr(
                "line 5 of the text:     %sum = stablehlo.adx %state, %xs")));
  program.text = "";
  EXPECT_THAT(refusal<RuntimeError>([&] { compile(program); }),
              HasSubstr("a program cannot be compiled"));
  program.text = good;
  EXPECT_NE(compile(program), nullptr);
}

TEST_F(OnServer, UnknownOptionsOfXlaAreRefused) {
  const Program program = identity({f32, {2}});
  CompileOptions options;
  options.overrides["xla_no_such_option"] = true;
  EXPECT_THAT(refusal<RuntimeError>([&] {
                client().compile(program.text, program.signature, options);
              }),
              HasSubstr("xla_no_such_option"));
}

TEST_F(OnServer, ArgumentsAreHeldToTheSignature) {
  const Program program = accumulate(6);
  const auto step = compile(program);
  const auto state = put(client(), Tensor::zeros({f32, {6}}));
  const auto x = put(client(), Tensor::scalar(1.f));
  const auto execute = [&](std::vector<Buffer*> arguments) {
    return refusal<UsageError>([&] { step->execute(arguments); });
  };
  EXPECT_THAT(
      execute({state.get()}),
      HasSubstr("takes 2 arguments on each of 1 devices, not 1 in all"));
  EXPECT_THAT(execute({state.get(), nullptr}),
              HasSubstr("argument 1 of device 0 is no buffer"));
  const auto transposed = put(client(), Tensor::zeros({f32, {2, 3}}));
  EXPECT_THAT(execute({transposed.get(), x.get()}),
              HasSubstr("argument 0 of device 0 is f32[2, 3], not f32[6]"));
  const auto integers = put(client(), Tensor::zeros({i32, {6}}));
  EXPECT_THAT(execute({integers.get(), x.get()}),
              HasSubstr("argument 0 of device 0 is i32[6], not f32[6]"));
  EXPECT_THAT(refusal<UsageError>([&] { put(client(), Tensor(), 1); }),
              HasSubstr("no device 1"));
  EXPECT_THAT(refusal<UsageError>([&] {
                read(client(), *state, {i32, {6}});
              }),
              HasSubstr("the buffer is f32[6], not i32[6]"));
  // None of this has harmed anything.
  const std::array<Buffer*, 2> arguments = {state.get(), x.get()};
  EXPECT_EQ(step->execute(arguments).size(), 2u);
}

TEST_F(OnServer, BuffersOfAnotherClientAreRefused) {
  const auto other = open_server();
  EXPECT_NE(process_of(*other), process_of(client()));
  const auto buffer = put(*other, Tensor::scalar(1.f));
  EXPECT_THAT(refusal<UsageError>([&] {
                read(client(), *buffer, {f32, {}});
              }),
              HasSubstr("another client's"));
}

TEST_F(OnServer, ATextOfOtherTypesThanItsSignatureIsNotBelieved) {
  Program program = identity({f32, {2, 3}});
  program.signature.results[0] = {f32, {3, 2}};
  const auto lie = compile(program);
  const auto x = put(client(), Tensor::zeros({f32, {2, 3}}));
  Buffer* const argument = x.get();
  EXPECT_THAT(refusal<RuntimeError>([&] {
                lie->execute({&argument, 1});
              }),
              AllOf(HasSubstr("('float32', (2, 3))"),
                    HasSubstr("('float32', (3, 2))")));
}

TEST_F(OnServer, ProgramsOfNoArgumentsOrResultsRun) {
  const Type type = {i32, {2}};
  const auto seven = client().compile(
      "func.func @main() -> tensor<2xi32> {\n"
      "  %seven = stablehlo.constant dense<7> : tensor<2xi32>\n"
      "  return %seven : tensor<2xi32>\n"
      "}",
      {{}, {type}, {}}, {});
  const auto results = seven->execute({});
  EXPECT_EQ(read(client(), *results.at(0), type).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{7, 7}));
  const auto nothing =
      client().compile("func.func @main() {\n  return\n}", {{}, {}, {}}, {});
  EXPECT_TRUE(nothing->execute({}).empty());
}

TEST_F(OnServer, ThreadsMayShareAClient) {
  const Program program = accumulate(1000);
  const auto step = compile(program);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto state = put(client(), Tensor::zeros({f32, {1000}}));
      const auto x = put(client(), Tensor::scalar(static_cast<float>(t)));
      for (int i = 0; i < 100; ++i) {
        const std::array<Buffer*, 2> arguments = {state.get(), x.get()};
        state = std::move(step->execute(arguments)[0]);
      }
      EXPECT_EQ(read(client(), *state, {f32, {1000}}).at<float>({999}),
                static_cast<float>(100 * t));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Server, ProgramsArePartitionedOverDevices) {
  TOPOS_NEEDS_JAX();
  ServerOptions server;
  server.platform = "cpu";
  server.cpu_devices = 2;
  const auto client = open_server(server);
  ASSERT_EQ(client->device_count(), 2);
  // Each device holds two rows of four; the sum needs them all.
  const std::string text = R"(module {
  sdy.mesh @devices = <["device"=2]>
  func.func @main(
      %x: tensor<4x2xf32> {
          sdy.sharding = #sdy.sharding<@devices, [{"device"}, {}]>,
          tf.aliasing_output = 0 : i32},
      %y: tensor<f32> {sdy.sharding = #sdy.sharding<@devices, []>})
      -> (tensor<4x2xf32> {
              sdy.sharding = #sdy.sharding<@devices, [{"device"}, {}]>},
          tensor<f32> {sdy.sharding = #sdy.sharding<@devices, []>}) {
    %ys = stablehlo.broadcast_in_dim %y, dims = []
        : (tensor<f32>) -> tensor<4x2xf32>
    %sum = stablehlo.add %x, %ys : tensor<4x2xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %total = stablehlo.reduce(%x init: %zero) applies stablehlo.add
        across dimensions = [0, 1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
    return %sum, %total : tensor<4x2xf32>, tensor<f32>
  }
}
)";
  const Type rows = {f32, {2, 2}};
  const Type scalar = {f32, {}};
  CompileOptions options;
  options.partitions = 2;
  const auto step = client->compile(
      text, {{rows, scalar}, {rows, scalar}, {0, std::nullopt}}, options);
  const Tensor upper({2, 2}, {1.f, 2.f, 3.f, 4.f});
  const Tensor lower({2, 2}, {5.f, 6.f, 7.f, 8.f});
  std::vector<std::unique_ptr<Buffer>> results(4);
  results[0] = put(*client, upper, 0);
  results[2] = put(*client, lower, 1);
  for (int i = 0; i < 10; ++i) {
    const auto y0 = put(*client, Tensor::scalar(1.f), 0);
    const auto y1 = put(*client, Tensor::scalar(1.f), 1);
    const std::array<Buffer*, 4> arguments = {results[0].get(), y0.get(),
                                              results[2].get(), y1.get()};
    if (i == 5) {
      const std::array<Buffer*, 4> crossed = {arguments[2], arguments[1],
                                              arguments[0], arguments[3]};
      EXPECT_THAT(refusal<UsageError>([&] { step->execute(crossed); }),
                  HasSubstr("argument 0 of device 0 lies on device 1"));
    }
    results = step->execute(arguments);
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(read(*client, *results[1], scalar).item(), 36 + 8 * i);
    EXPECT_EQ(read(*client, *results[3], scalar).item(), 36 + 8 * i);
  }
  EXPECT_EQ(read(*client, *results[0], rows).to_vector<float>(),
            (std::vector<float>{11, 12, 13, 14}));
  EXPECT_EQ(read(*client, *results[2], rows).to_vector<float>(),
            (std::vector<float>{15, 16, 17, 18}));
  options.partitions = 3;
  EXPECT_THAT(refusal<UsageError>([&] {
                client->compile(text, {{}, {}, {}}, options);
              }),
              HasSubstr("a program for 3 devices, of which there are 2"));
}

TEST(Server, WhatCannotBePutIsToldToWhoeverUsesIt) {
  TOPOS_NEEDS_JAX();
  server::Connection connection(server_command({}));
  server::Frame hello(server::Kind::hello);
  hello << std::uint32_t{1};
  const auto ignore = [](server::Fields& fields) {
    fields.take<std::uint32_t>();
    for (int i = 0; i < 5; ++i) fields.text();
  };
  connection.ask("hello", std::move(hello), std::chrono::minutes(1), ignore);
  const auto put = [&](std::uint64_t number, std::uint8_t dtype) {
    server::Frame frame(server::Kind::put);
    frame << number << std::uint32_t{0} << dtype;
    frame << std::uint8_t{0} << std::uint16_t{0} << std::int32_t{7};
    connection.post(std::move(frame));
  };
  const auto ask_for = [&](std::uint64_t number) {
    std::int32_t element = 0;
    server::Frame frame(server::Kind::read);
    frame << number;
    connection.ask(
        "read", std::move(frame), std::chrono::minutes(1),
        [&](server::Fields& fields) { element = fields.take<std::int32_t>(); });
    return element;
  };
  constexpr std::uint8_t unknown = 99;
  constexpr std::uint8_t i32_there = 4;
  put(1, unknown);
  put(2, i32_there);
  EXPECT_EQ(ask_for(2), 7) << "another session's";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(refusal<RuntimeError>([&] { ask_for(1); }),
              "xla-server: read: there is no element type 99");
  }
  connection.post(
      std::move(server::Frame(server::Kind::free) << std::uint64_t{1}));
  EXPECT_EQ(refusal<RuntimeError>([&] { ask_for(1); }),
            "xla-server: read: there is no buffer 1");
  EXPECT_EQ(ask_for(2), 7);
}

TEST(Server, NothingIsLeftWhenItIsClosed) {
  TOPOS_NEEDS_JAX();
  const int before = open_descriptors();
  auto client = open_server();
  const auto buffer = put(*client, Tensor::zeros({f32, {100'000}}));
  EXPECT_EQ(read(*client, *buffer, {f32, {100'000}}).at<float>({5}), 0.f);
  const int process = process_of(*client);
  EXPECT_TRUE(is_running(process));
  client.reset();
  EXPECT_FALSE(is_running(process));
  EXPECT_FALSE(has_children());
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace topos::runtime::test
