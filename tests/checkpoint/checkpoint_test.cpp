#include "topos/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/temporary_folder.h"
#include "topos/error.h"
#include "topos/network.h"
#include "topos/tape.h"

namespace topos {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StrEq;
using testing::ThrowsMessage;

const Tensor w({2, 3}, {0.1f, -0.0f, 0x1p-149f, 4.0f, 5.0f, 6.0f});
const Tensor count = Tensor::scalar((std::int64_t{1} << 53) + 1);
const Tensor mask({3}, {true, false, true});

/// A network of three parameters of as many types, all with payloads.
Network three_parameters() {
  Tape tape;
  tape.parameter("layer.w", w);
  tape.input("x", f32, {2});  // inputs are no parameters
  tape.parameter("count", count);
  tape.parameter("mask", mask);
  return tape.seal();
}

/// The same parameters by type alone, in another order.
Network same_without_payloads() {
  Tape tape;
  tape.parameter("mask", boolean, {3});
  tape.parameter("count", i64, {});
  tape.parameter("layer.w", f32, {2, 3});
  return tape.seal();
}

class Checkpoint : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "x.safetensors";
  Network network_ = three_parameters();
};

TEST_F(Checkpoint, RestoresEveryParameterToTheBit) {
  save_safetensors(path_, network_, network_.parameters());
  const Parameters initial = network_.parameters();
  const Parameters loaded = load_safetensors(path_, network_);
  ASSERT_EQ(loaded.size(), 3u);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    const Parameters::Item& item = loaded.items()[i];
    const Parameters::Item& expected = initial.items()[i];
    EXPECT_EQ(item.symbol, expected.symbol);
    EXPECT_EQ(item.name, expected.name);
    EXPECT_EQ(item.type, expected.type);
    EXPECT_TRUE(bits_equal(*item.payload, *expected.payload)) << item.name;
  }
}

TEST_F(Checkpoint, SavesTheCallersStateAndNotTheInitialOne) {
  Parameters trained = network_.parameters();
  trained.set("layer.w", Tensor::full({f32, {2, 3}}, 7));
  save_safetensors(path_, network_, trained);
  const Parameters loaded = load_safetensors(path_, network_);
  EXPECT_EQ(loaded.of("layer.w").text(), "f32[2, 3]{7 7 7 7 7 7}");
  EXPECT_TRUE(bits_equal(loaded.of("count"), count));
}

TEST_F(Checkpoint, FillsParametersDeclaredByTypeAloneInAnyOrder) {
  save_safetensors(path_, network_, network_.parameters());
  const Network other = same_without_payloads();
  const Parameters loaded = load_safetensors(path_, other);
  EXPECT_EQ(loaded.items()[0].name, "mask");
  EXPECT_TRUE(bits_equal(loaded.of("mask"), mask));
  EXPECT_TRUE(bits_equal(loaded.of("count"), count));
  EXPECT_TRUE(bits_equal(loaded.of(other.symbol("layer.w")), w));
}

TEST_F(Checkpoint, CarriesMetadata) {
  const Metadata state = {{"step", "4000"}, {"shuffle", "0x9e3779b97f4a7c15"}};
  save_safetensors(path_, network_, network_.parameters(), state);
  Metadata loaded = {{"stale", "yes"}};
  load_safetensors(path_, network_, &loaded);
  EXPECT_EQ(loaded, state);
  EXPECT_EQ(read_safetensors_metadata(path_), state);
  save_safetensors(path_, network_, network_.parameters());
  load_safetensors(path_, network_, &loaded);
  EXPECT_THAT(loaded, IsEmpty());
}

TEST_F(Checkpoint, AnEmptyNetworkHasAnEmptyFile) {
  Tape tape;
  tape.input("x", f32, {});
  const Network none = tape.seal();
  save_safetensors(path_, none, none.parameters(), {{"step", "0"}});
  EXPECT_EQ(load_safetensors(path_, none).size(), 0u);
}

struct RefusalRow {
  const char* note;
  std::vector<NamedTensor> tensors;
  const char* expected;  // after the path
};

TEST_F(Checkpoint, AFileThatDoesNotFitIsRefused) {
  const RefusalRow rows[] = {
      {"missing",
       {{"layer.w", w}, {"mask", mask}},
       "has no tensor \"count\", the network's parameter i64[]"},
      {"empty",
       {},
       "has no tensor \"layer.w\", the network's parameter f32"
       "[2, 3]"},
      {"unexpected",
       {{"layer.w", w}, {"count", count}, {"mask", mask}, {"layer.b", w}},
       "the tensor \"layer.b\" f32[2, 3] is no parameter of the network"},
      {"another shape",
       {{"layer.w", w.permuted({1, 0})}, {"count", count}, {"mask", mask}},
       "the tensor \"layer.w\" is f32[3, 2], but the network's parameter is "
       "f32[2, 3]"},
      {"another rank",
       {{"layer.w", w}, {"count", count.reshaped({1})}, {"mask", mask}},
       "the tensor \"count\" is i64[1], but the network's parameter is i64[]"},
      {"another dtype",
       {{"layer.w", w}, {"count", count}, {"mask", Tensor({3}, {1, 0, 1})}},
       "the tensor \"mask\" is i32[3], but the network's parameter is "
       "boolean[3]"},
  };
  for (const RefusalRow& row : rows) {
    SCOPED_TRACE(row.note);
    write_safetensors(path_, row.tensors, {{"step", "12"}});
    Metadata metadata = {{"before", "kept"}};
    EXPECT_THAT(
        [&] { return load_safetensors(path_, network_, &metadata); },
        ThrowsMessage<FileError>(StrEq(path_.string() + ": " + row.expected)));
    EXPECT_THAT(metadata, testing::ElementsAre(Pair("before", "kept")));
  }
  EXPECT_THROW(load_safetensors(folder_ / "missing", network_), FileError);
}

TEST_F(Checkpoint, ParametersThatAreNotTheNetworksAreNotSaved) {
  save_safetensors(path_, network_, network_.parameters());
  const std::string old = read_file(path_);

  const Network bare = same_without_payloads();
  EXPECT_THAT([&] { save_safetensors(path_, bare, bare.parameters()); },
              ThrowsMessage<UsageError>(testing::MatchesRegex(
                  "checkpoint_test.cpp:[0-9]+: save_safetensors: the "
                  "parameter \"mask\" boolean.3. has no payload")));
  EXPECT_THAT([&] { save_safetensors(path_, network_, Parameters{}); },
              ThrowsMessage<UsageError>(
                  HasSubstr("save_safetensors: 0 parameters were given, but "
                            "the network has 3")));
  const Network twin = three_parameters();
  EXPECT_THAT([&] { save_safetensors(path_, network_, twin.parameters()); },
              ThrowsMessage<UsageError>(HasSubstr(
                  "the parameter \"layer.w\" was given where the network has "
                  "\"layer.w\", or is another network's")));
  std::vector<Parameters::Item> items = network_.parameters().items();
  items[0].payload = mask;
  EXPECT_THAT(
      [&] { save_safetensors(path_, network_, Parameters(items)); },
      ThrowsMessage<UsageError>(HasSubstr("the parameter \"layer.w\" is f32"
                                          "[2, 3], but its payload is "
                                          "boolean[3]")));
  EXPECT_THROW(
      save_safetensors(folder_ / "missing/x", network_, network_.parameters()),
      FileError);
  EXPECT_EQ(read_file(path_), old);
  EXPECT_EQ(folder_.size(), 1);
}

}  // namespace
}  // namespace topos
