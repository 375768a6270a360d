#include "runtime/pjrt_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "topos/error.h"
#include "with_plugin.h"

namespace topos::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

class PjrtClient : public WithPlugin {};

TEST_F(PjrtClient, SaysWhatItIs) {
  EXPECT_EQ(client_->device_count(), 1);
  EXPECT_THAT(client_->description(),
              AllOf(HasSubstr(", 1 device, PJRT 0."), HasSubstr(".so")));
}

TEST_F(PjrtClient, EveryDTypeComesBackAsItWent) {
  for (const Tensor& tensor :
       {Tensor({2, 2}, {1.5f, -0.0f, 3.0f, 4.0f}),
        Tensor({2}, {0.1, std::numeric_limits<double>::infinity()}),
        Tensor({3}, {1, -2, std::numeric_limits<std::int32_t>::min()}),
        Tensor({1}, {(std::int64_t{1} << 53) + 1}), Tensor({2}, {true, false}),
        Tensor::scalar(2.5f), Tensor::zeros({f32, {0, 3}})}) {
    const auto buffer = put(tensor);
    EXPECT_TRUE(bits_equal(read(*buffer, tensor.type()), tensor))
        << tensor.text();
  }
}

// One axis is read where it lies, and so not before it has all arrived.
TEST_F(PjrtClient, ALongVectorIsReadOnceItIsThere) {
  std::vector<std::int64_t> numbers(std::size_t{1} << 22);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Tensor tensor({std::int64_t{1} << 22}, numbers);
  for (int i = 0; i < 3; ++i) {
    const auto buffer = put(tensor);
    EXPECT_TRUE(bits_equal(read(*buffer, tensor.type()), tensor));
  }
}

TEST_F(PjrtClient, ReadsOnlyWhatIsThere) {
  const auto buffer = put(Tensor({2}, {1.0f, 2.0f}));
  EXPECT_THAT(
      [&] {
        read(*buffer, {i32, {2}});
      },
      ThrowsMessage<UsageError>(HasSubstr("the buffer is f32[2], not i32[2]")));
  EXPECT_THAT([&] { put(Tensor::scalar(1), 1); },
              ThrowsMessage<UsageError>(HasSubstr("there is no device 1")));
}

TEST_F(PjrtClient, PutCopies) {
  std::array<float, 4> elements = {1, 2, 3, 4};
  const auto buffer =
      client_->put({f32, {4}}, reinterpret_cast<std::byte*>(&elements), 0);
  elements.fill(0);
  EXPECT_EQ(read(*buffer, {f32, {4}}).text(), "f32[4]{1 2 3 4}");
}

TEST_F(PjrtClient, BorrowsAlignedMemoryOfACpuWithoutACopy) {
  if (!client_->description().starts_with("cpu")) {
    GTEST_SKIP() << client_->description() << " has memory of its own";
  }
  alignas(64) std::array<float, 17> elements = {1, 2, 3, 4};
  const auto* aligned = reinterpret_cast<const std::byte*>(elements.data());
  const auto shared = client_->borrow({f32, {4}}, aligned, 0);
  EXPECT_EQ(device_address(*shared), reinterpret_cast<std::uintptr_t>(aligned));
  EXPECT_EQ(read(*shared, {f32, {4}}).text(), "f32[4]{1 2 3 4}");
  // One float further it is a copy, and may be dropped at once.
  const std::byte* odd = aligned + sizeof(float);
  const auto copied = client_->borrow({f32, {4}}, odd, 0);
  EXPECT_NE(device_address(*copied), reinterpret_cast<std::uintptr_t>(odd));
  EXPECT_EQ(read(*copied, {f32, {4}}).text(), "f32[4]{2 3 4 0}");
}

TEST_F(PjrtClient, HandlesMayGoInAnyOrder) {
  auto program = client_->compile(add_text("1.0"), add_signature(), {});
  auto buffer = put(Tensor({4}, {1.0f, 2.0f, 3.0f, 4.0f}));
  client_.reset();
  std::array<Buffer*, 1> arguments = {buffer.get()};
  auto results = program->execute(arguments);
  program.reset();
  buffer.reset();
  EXPECT_NE(device_address(*results[0]), 0U);
}

TEST_F(PjrtClient, CompileErrorsQuoteTheLine) {
  const auto compile = [&](const std::string& line) {
    return [this, text =
                      "module {\n"
                      "  func.func @main(%x: tensor<4xf32>)\n"
                      "      -> tensor<4xf32> {\n"
                      "    " +
                      line +
                      "\n"
                      "    return %y : tensor<4xf32>\n"
                      "  }\n"
                      "}\n"] { client_->compile(text, add_signature(), {}); };
  };
  const auto says = [](const std::string& words, const std::string& line) {
    return ThrowsMessage<RuntimeError>(
        AllOf(StartsWith("PJRT_Client_Compile: "), HasSubstr(words),
              HasSubstr("\nline 4 of the text:     " + line)));
  };
  const std::string unknown = "%y = stablehlo.add %x, %z : tensor<4xf32>";
  EXPECT_THAT(compile(unknown),
              says("-:4:28: error: use of undeclared SSA value name", unknown));
  const std::string wrong_axis =
      "%y = stablehlo.transpose %x, dims = [1] : "
      "(tensor<4xf32>) -> tensor<4xf32>";
  EXPECT_THAT(compile(wrong_axis), says("permutation", wrong_axis));
  // The process and the client live on.
  EXPECT_NO_THROW(client_->compile(add_text("1.0"), add_signature(), {}));
}

TEST_F(PjrtClient, UnknownOverridesAreTheCompilersToRefuse) {
  CompileOptions options;
  options.overrides["xla_no_such_option"] = true;
  EXPECT_THAT(
      [&] { client_->compile(add_text("1.0"), add_signature(), options); },
      ThrowsMessage<RuntimeError>(HasSubstr("xla_no_such_option")));
}

TEST_F(PjrtClient, ATextWithOtherResultsThanItsSignatureIsRefused) {
  Signature more = add_signature();
  more.results.push_back({f32, {4}});
  EXPECT_THAT([&] { client_->compile(add_text("1.0"), more, {}); },
              ThrowsMessage<UsageError>(
                  HasSubstr("the text has 1 results, its signature 2")));
  for (const Type& other : {Type{f64, {4}}, Type{f32, {2, 2}}}) {
    Signature wrong = add_signature();
    wrong.results[0] = other;
    EXPECT_THAT([&] { client_->compile(add_text("1.0"), wrong, {}); },
                ThrowsMessage<UsageError>(
                    HasSubstr("result 0 of the text is not " + other.text())));
  }
}

TEST_F(PjrtClient, MorePartitionsThanDevicesAreRefused) {
  for (const int partitions : {-1, 0, 2}) {
    EXPECT_THROW(client_->compile(add_text("1.0"), add_signature(),
                                  {.partitions = partitions, .overrides = {}}),
                 UsageError);
  }
}

}  // namespace
}  // namespace topos::runtime
