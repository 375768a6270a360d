#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "io/safetensors_bytes.h"
#include "io/temporary_folder.h"
#include "topos/error.h"
#include "topos/io.h"

namespace topos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StrEq;
using testing::ThrowsMessage;

/// What a file holds, in one line.
std::string text_of(const TensorFile& file) {
  std::string result;
  for (const auto& [key, value] : file.metadata) {
    result += key + "=" + value + "; ";
  }
  for (const NamedTensor& item : file.tensors) {
    result += item.name + " " + item.tensor.text() + "; ";
  }
  return result;
}

std::string bytes_of(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * 4};
}

struct Row {
  const char* note;
  std::string file;
  const char* expected;
};

// clang-format off
const Row rows[] = {
    {"BC-34a shape [2, 0]", file_of(R"({"a":{"dtype":"F32","shape":[2,0],"data_offsets":[0,0]}})", ""),
     "a f32[2, 0]{}; "},
    {"none between two", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F64","shape":[0],"data_offsets":[4,4]},"c":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", bytes_of({1, 2})),
     "a f32[1]{1}; b f64[0]{}; c f32[1]{2}; "},
    {"none at the end", file_of(R"({"b":{"dtype":"F64","shape":[0,3],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", bytes_of({1})),
     "b f64[0, 3]{}; a f32[1]{1}; "},
    {"several of nothing", file_of(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}})", ""),
     "a f32[0]{}; b i64[0]{}; "},
    {"BC-34b only metadata", file_of(R"({"__metadata__":{"step":"12"}})", ""),
     "step=12; "},
    {"BC-34b {}", file_of("{}", ""), ""},
    {"BC-34c empty metadata", file_of(R"({"__metadata__":{},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", bytes_of({1})),
     "a f32[1]{1}; "},
    {"metadata last", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"k":"v"}})", bytes_of({1})),
     "k=v; a f32[1]{1}; "},
    {"BC-34d another order", file_of(R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", bytes_of({1, 2})),
     "b f32[1]{2}; a f32[1]{1}; "},
    {"members in another order", file_of(R"({"a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}})", bytes_of({1})),
     "a f32[1]{1}; "},
    {"BC-34e an odd length", file_of(R"({"ab":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", bytes_of({1.5f, -2})),
     "ab f32[2]{1.5 -2}; "},
    {"another odd length", file_of(R"({"abc":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} )", bytes_of({1.5f, -2})),
     "abc f32[2]{1.5 -2}; "},
    {"BC-34f padded with spaces", file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}                )", bytes_of({1})),
     "a f32[1]{1}; "},
    {"white space within", file_of("{ \"a\" :\n{\"dtype\": \"F32\",\t\"shape\": [ ], \"data_offsets\": [0, 4] } }\n", bytes_of({1})),
     "a f32[]{1}; "},
    {"BC-34g rank 0", file_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", bytes_of({3})),
     "a f32[]{3}; "},
    {"BC-34h an odd number of bytes before f32", file_of(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})", std::string("\1\0\1", 3) + bytes_of({1, 2})),
     "a boolean[3]{true false true}; b f32[2]{1 2}; "},
    {"eight axes", file_of(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})", bytes_of({1, 2})),
     "a f32[1, 1, 1, 1, 1, 1, 1, 2]{1 2}; "},
    {"an empty name", file_of(R"({"":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", ""),
     " f32[0]{}; "},
    {"escapes", file_of(R"({"__metadata__":{"\"\\\n":"\u00e9\ud83d\ude00"}})", ""),
     "\"\\\n=\u00e9\U0001F600; "},
    {"a name in other letters", file_of("{\"\u0448\u0430\u0433\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", ""),
     "\u0448\u0430\u0433 f32[0]{}; "},
};
// clang-format on

TEST(Safetensors, LoadsWhatIsValidHoweverUnusual) {  // BC-34
  for (const Row& row : rows) {
    SCOPED_TRACE(row.note);
    EXPECT_EQ(text_of(parse(row.file)), row.expected);
  }
}

TEST(Safetensors, LoadsTheSameFromAFile) {
  const TemporaryFolder folder;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.note);
    const auto path = folder / "x.safetensors";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << row.file;
    EXPECT_EQ(text_of(read_safetensors(path)), row.expected);
    EXPECT_EQ(read_safetensors_metadata(path), parse(row.file).metadata);
  }
}

TEST(Safetensors, DataAtAnyAlignmentIsRead) {
  const std::string header =
      R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  for (std::size_t padding = 0; padding < 8; ++padding) {
    const std::string file = file_of(header + std::string(padding, ' '),
                                     std::string("\0\0\0\0\0\0\xf8\x3f", 8));
    EXPECT_EQ(text_of(parse(file)), "a f64[1]{1.5}; ");
  }
}

// Written by the reference implementation, safetensors 0.8.0 for Python:
//   save({"w": float32 [[1.5, -2], [nan, 0]], "flags": [True, False, True],
//         "n": int64 7, "none": float64 zeros (2, 0)}, {"step": "12"})
TEST(Safetensors, ReadsAFileOfTheReferenceWriter) {
  const std::string data(
      "\x07\0\0\0\0\0\0\0\0\0\xc0\x3f\0\0\0\xc0\0\0\xc0\x7f\0\0\0\0\x01\0\x01",
      27);
  const std::string header =
      R"({"__metadata__":{"step":"12"},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("none":{"dtype":"F64","shape":[2,0],"data_offsets":[8,8]},)"
      R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]},)"
      R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[24,27]}})";
  std::string padded = header;
  padded.resize(256, ' ');
  EXPECT_EQ(text_of(parse(file_of(padded, data))),
            "step=12; n i64[]{7}; none f64[2, 0]{}; w f32[2, 2]{1.5 -2 nan 0}; "
            "flags boolean[3]{true false true}; ");
}

TEST(Safetensors, WritesTheseBytes) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  const std::vector<NamedTensor> tensors = {
      {"flags", Tensor({3}, {true, false, true})},
      {"w", Tensor({2}, {1.5f, -2.0f})},
      {"n", Tensor::scalar(std::int64_t{7})},
  };
  write_safetensors(path, tensors, {{"step", "12"}});
  std::string header =
      R"({"__metadata__":{"step":"12"},)"
      R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[16,19]},)"
      R"("w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data("\x07\0\0\0\0\0\0\0\0\0\xc0\x3f\0\0\0\xc0\1\0\1", 19);
  EXPECT_EQ(read_file(path), file_of(header, data));
  EXPECT_EQ(folder.size(), 1);
}

TEST(Safetensors, WhatIsWrittenIsAligned) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  std::string name;
  for (int i = 0; i < 9; ++i, name += 'x') {
    write_safetensors(path, {{{name, Tensor::scalar(1.0f)}}});
    const std::string file = read_file(path);
    EXPECT_EQ((file.size() - 4) % 8, 0u);
    EXPECT_EQ(text_of(parse(file)), name + " f32[]{1}; ");
  }
  write_safetensors(path, {}, {});
  EXPECT_EQ(read_file(path), file_of("{}      ", ""));
}

TEST(Safetensors, RoundTripsEveryTensor) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Tensor matrix({2, 3}, {1, 2, 3, 4, 5, 6});
  std::vector<NamedTensor> tensors = {
      {"f32", Tensor({3}, {0.1f, -0.0f, 0x1p-149f})},
      {"f64", Tensor({2}, {0.1, -std::numeric_limits<double>::infinity()})},
      {"i32", Tensor({2}, {7, std::numeric_limits<std::int32_t>::min()})},
      {"i64", Tensor({2}, {(std::int64_t{1} << 53) + 1, least})},
      {"boolean", Tensor({3}, {true, false, true})},
      {"scalar", Tensor::scalar(2.5)},
      {"none", Tensor::zeros({f32, {3, 0, 2}})},
      {"permuted", matrix.permuted({1, 0})},
      {"narrowed", matrix.narrowed(1, 1, 2)},
      {"broadcast", Tensor::scalar(true).broadcasted({5, 7})},
      {"reversed", matrix.reversed({0, 1})},
      {"sliced", matrix.sliced(1, 0, 3, 2)},
      {"", Tensor({1}, {1})},
      {"quote \" backslash \\ line \n zero \x01 \u00e9", Tensor({1}, {2})},
  };
  const Metadata metadata = {{"", ""}, {"step", "12"}, {"\u00e9\n", "\"\\"}};
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  write_safetensors(path, tensors, metadata);
  const TensorFile read = read_safetensors(path);
  EXPECT_EQ(read.metadata, metadata);
  ASSERT_EQ(read.tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    SCOPED_TRACE(tensors[i].name);
    EXPECT_EQ(read.tensors[i].name, tensors[i].name);
    EXPECT_TRUE(bits_equal(read.tensors[i].tensor, tensors[i].tensor));
    EXPECT_TRUE(read.tensors[i].tensor.is_contiguous());
    EXPECT_EQ(read.find(tensors[i].name), &read.tensors[i].tensor);
  }
  EXPECT_EQ(read.find("f16"), nullptr);

  const std::string first = read_file(path);
  write_safetensors(path, read.tensors, read.metadata);
  EXPECT_EQ(read_file(path), first);
}

// The bytes are those of the format: little-endian, by the header's names.
TEST(Safetensors, HoldsTheShortTypes) {
  const Tensor brain({2}, {BFloat16::from_bits(0x3F80), BFloat16(1e-8)});
  const Tensor half({2}, {Float16::from_bits(0x3C00), Float16(0.1)});
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  write_safetensors(path, {{{"b", brain}, {"h", half.reversed(0)}}});
  const std::string bytes = read_file(path);
  EXPECT_NE(bytes.find("\"BF16\""), bytes.npos);
  EXPECT_NE(bytes.find("\"F16\""), bytes.npos);
  using namespace std::string_view_literals;
  EXPECT_TRUE(bytes.ends_with("\x80\x3F\x2C\x32\x66\x2E\x00\x3C"sv));
  const TensorFile read = read_safetensors(path);
  EXPECT_TRUE(bits_equal(*read.find("b"), brain));
  EXPECT_TRUE(bits_equal(*read.find("h"), half.reversed(0)));
}

TEST(Safetensors, KeepsThePayloadsOfNaN) {
  const std::uint32_t narrow[] = {0x7fc00000, 0xffc12345, 0x7f800001,
                                  0xff9abcde};
  const std::uint64_t wide[] = {0x7ff0000000000001, 0xfff8dead0000beef};
  std::vector<float> f;
  for (std::uint32_t bits : narrow) f.push_back(std::bit_cast<float>(bits));
  std::vector<double> d;
  for (std::uint64_t bits : wide) d.push_back(std::bit_cast<double>(bits));

  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  // Reversed and back: a view is gathered on its way, bit for bit, too.
  write_safetensors(path, {{{"f", Tensor({4}, f)},
                            {"r", Tensor({4}, f).reversed(0)},
                            {"d", Tensor({2}, d).reversed(0)}}});
  const TensorFile read = read_safetensors(path);
  const auto bits_at = [](const Tensor& tensor, std::size_t i) {
    return std::bit_cast<std::uint32_t>(tensor.span<float>()[i]);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bits_at(*read.find("f"), i), narrow[i]);
    EXPECT_EQ(bits_at(*read.find("r"), i), narrow[3 - i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(read.find("d")->span<double>()[i]),
              wide[1 - i]);
  }
}

TEST(Safetensors, RefusesNamesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  const std::string prefix = path.string() + ": cannot be written: ";
  const Tensor one = Tensor::scalar(1);
  EXPECT_THAT(([&] {
                write_safetensors(path, {{{"a", one}, {"b", one}, {"a", one}}});
              }),
              ThrowsMessage<FileError>(
                  StrEq(prefix + "two tensors have the name \"a\"")));
  EXPECT_THAT(([&] {
                write_safetensors(path, {{{"__metadata__", one}}});
              }),
              ThrowsMessage<FileError>(StrEq(
                  prefix + "the name \"__metadata__\" belongs to the format")));
  EXPECT_THAT(([&] {
                write_safetensors(path, {{{"a\xff", one}}});
              }),
              ThrowsMessage<FileError>(StrEq(
                  prefix + "the name of the tensor \"a\xff\" is not UTF-8")));
  EXPECT_THAT(([&] {
                write_safetensors(path, {}, {{"k", "\xff"}});
              }),
              ThrowsMessage<FileError>(
                  StrEq(prefix + "the metadata \"k\" is not UTF-8")));
  EXPECT_EQ(folder.size(), 0);
}

}  // namespace
}  // namespace topos
