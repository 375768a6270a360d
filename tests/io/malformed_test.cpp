// Files that must be refused (BC-33), each with its exact message, and files
// that somebody broke: whatever the bytes, the answer is a FileError or
// tensors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "io/safetensors_bytes.h"
#include "io/temporary_folder.h"
#include "topos/error.h"
#include "topos/io.h"

namespace topos {
namespace {

using testing::StrEq;
using testing::ThrowsMessage;

std::string message_of(std::string_view file) {
  try {
    parse(file);
    return "it loads";
  } catch (const FileError& error) {
    return error.message();
  }
}

/// A file with one tensor: `inside` are its members.
std::string one_tensor(const std::string& inside, std::size_t data_bytes) {
  return file_of(R"({"a":{)" + inside + "}}", std::string(data_bytes, '\0'));
}

/// A file with two f32 tensors over these ranges of the data.
std::string two_tensors(const std::string& a_shape, const std::string& a_range,
                        const std::string& b_shape, const std::string& b_range,
                        std::size_t data_bytes) {
  return file_of(R"({"a":{"dtype":"F32","shape":)" + a_shape +
                     R"(,"data_offsets":)" + a_range +
                     R"(},"b":{"dtype":"F32","shape":)" + b_shape +
                     R"(,"data_offsets":)" + b_range + "}}",
                 std::string(data_bytes, '\0'));
}

struct Row {
  const char* note;
  std::string file;
  const char* expected;  // after "file: "
};

// clang-format off
const Row rows[] = {
    {"BC-33a length 2^64 - 1", file_of_length(~std::uint64_t{0}, "{}"),
     "the header's length, bytes 0 to 7, is 18446744073709551615, but only 2 bytes follow it"},
    {"BC-33a length 2^63", file_of_length(std::uint64_t{1} << 63, "{}"),
     "the header's length, bytes 0 to 7, is 9223372036854775808, but only 2 bytes follow it"},
    {"BC-33a length 2^32", file_of_length(std::uint64_t{1} << 32, "{}"),
     "the header's length, bytes 0 to 7, is 4294967296, but only 2 bytes follow it"},
    {"BC-33a length of the file less 7", file_of_length(3, "{}"),
     "the header's length, bytes 0 to 7, is 3, but only 2 bytes follow it"},
    {"BC-33b empty", "",
     "has 0 bytes; the length of a safetensors header alone takes 8"},
    {"BC-33b 7 bytes", std::string(7, '\0'),
     "has 7 bytes; the length of a safetensors header alone takes 8"},
    {"length 0", file_of("", ""),
     "the header does not begin with { (byte 8)"},
    {"BC-33b header cut short", file_of(R"({"a":{"dtype":"F32")", ""),
     "the header is not JSON at byte 27 of the file"},
    {"BC-33b data cut short", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 7),
     "the tensor \"a\" has the bytes [0, 8) of 7 bytes of data"},
    {"BC-33c the same range twice", two_tensors("[2]", "[0,8]", "[2]", "[0,8]", 8),
     "the tensors \"a\" and \"b\" overlap: they have the bytes [0, 8) and [0, 8) of the data"},
    {"BC-33c overlap by one byte", two_tensors("[2]", "[0,8]", "[1]", "[7,11]", 11),
     "the tensors \"a\" and \"b\" overlap: they have the bytes [0, 8) and [7, 11) of the data"},
    {"one inside the other", two_tensors("[1]", "[4,8]", "[4]", "[0,16]", 16),
     "the tensors \"b\" and \"a\" overlap: they have the bytes [0, 16) and [4, 8) of the data"},
    {"none inside another", two_tensors("[0]", "[4,4]", "[2]", "[0,8]", 8),
     "the tensors \"b\" and \"a\" overlap: they have the bytes [0, 8) and [4, 4) of the data"},
    {"BC-33c gap", two_tensors("[2]", "[0,8]", "[1]", "[9,13]", 13),
     "no tensor has the bytes [8, 9) of the data, before the tensor \"b\""},
    {"gap at the beginning", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8),
     "no tensor has the bytes [0, 4) of the data, before the tensor \"a\""},
    {"BC-33c trailing bytes", two_tensors("[2]", "[0,8]", "[1]", "[8,12]", 13),
     "no tensor has the bytes [12, 13) at the end of the data"},
    {"trailing bytes of nothing", file_of("{}", "x"),
     "no tensor has the bytes [0, 1) at the end of the data"},
    {"BC-33d a million elements in 4 bytes", one_tensor(R"("dtype":"F32","shape":[1000,1000],"data_offsets":[0,4])", 4),
     "the tensor \"a\" is f32[1000, 1000], which takes 4000000 bytes, but has the bytes [0, 4)"},
    {"BC-33d a million elements that are not there", one_tensor(R"("dtype":"F32","shape":[1000,1000],"data_offsets":[0,4000000])", 4),
     "the tensor \"a\" has the bytes [0, 4000000) of 4 bytes of data"},
    {"BC-33d begin > end", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4),
     "the tensor \"a\" has the bytes [4, 0) of 4 bytes of data"},
    {"BC-33d one offset", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4])", 4),
     "the tensor \"a\" has 1 data_offsets, not 2"},
    {"no offset", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[])", 4),
     "the tensor \"a\" has 0 data_offsets, not 2"},
    {"three offsets", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])", 4),
     "the tensor \"a\" has 4 in its data_offsets"},
    {"BC-33d negative offset", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])", 4),
     "the tensor \"a\" has -4 in its data_offsets"},
    {"BC-33d fractional offset", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4.5])", 4),
     "the tensor \"a\" has 4.5 in its data_offsets"},
    {"whole, but written as real", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4.0])", 4),
     "the tensor \"a\" has 4.0 in its data_offsets"},
    {"offset 2^64", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616])", 4),
     "the tensor \"a\" has 18446744073709551616 in its data_offsets"},
    {"offset as text", one_tensor(R"("dtype":"F32","shape":[1],"data_offsets":["0",4])", 4),
     "the tensor \"a\" has \"0\" in its data_offsets"},
    {"BC-33e shape [2^40, 2^40]", one_tensor(R"("dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,4])", 4),
     "the tensor \"a\": the element count of the shape [1099511627776, 1099511627776] overflows"},
    {"BC-33e wraps to the right count", one_tensor(R"("dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,0])", 0),
     "the tensor \"a\": the element count of the shape [4294967296, 4294967296, 1] overflows"},
    {"BC-33e wraps to the right size", one_tensor(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])", 4),
     "the tensor \"a\": the size of f32[4611686018427387905] in bytes overflows"},
    {"overflow beside a zero", one_tensor(R"("dtype":"F32","shape":[1099511627776,1099511627776,0],"data_offsets":[0,0])", 0),
     "the tensor \"a\": the element count of the shape [1099511627776, 1099511627776, 0] overflows"},
    {"extent 2^63", one_tensor(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has 9223372036854775808 in its shape"},
    {"negative extent", one_tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has -1 in its shape"},
    {"nested extent", one_tensor(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has an array in its shape"},
    {"nine axes", one_tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has more than 8 axes, which is all that a tensor of topos may have"},
    {"shape as a number", one_tensor(R"("dtype":"F32","shape":1,"data_offsets":[0,4])", 4),
     "the tensor \"a\" has 1 as its shape"},
    {"shape as an object", one_tensor(R"("dtype":"F32","shape":{},"data_offsets":[0,4])", 4),
     "the tensor \"a\" has an object as its shape"},
    {"dtype not held", one_tensor(R"("dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1])", 1),
     "the tensor \"a\" has the dtype \"F8_E4M3\", which topos cannot hold: it reads F32, F64, BF16, F16, I32, I64 and BOOL"},
    {"dtype in small letters", one_tensor(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has the dtype \"f32\", which topos cannot hold: it reads F32, F64, BF16, F16, I32, I64 and BOOL"},
    {"dtype as an array", one_tensor(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has an array as its dtype"},
    {"dtype null", one_tensor(R"("dtype":null,"shape":[1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has null as its dtype"},
    {"no dtype", one_tensor(R"("shape":[1],"data_offsets":[0,4])", 4),
     "the tensor \"a\" has no dtype"},
    {"no shape", one_tensor(R"("dtype":"F32","data_offsets":[0,4])", 4),
     "the tensor \"a\" has no shape"},
    {"no offsets", one_tensor(R"("dtype":"F32","shape":[1])", 4),
     "the tensor \"a\" has no data_offsets"},
    {"unknown member", one_tensor(R"("dtype":"F32","shape":[1],"scale":2,"data_offsets":[0,4])", 4),
     "the tensor \"a\" has a member \"scale\", which the format does not know"},
    {"a member twice", one_tensor(R"("dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4])", 4),
     "the header repeats \"dtype\""},
    {"a name twice", file_of(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", ""),
     "the header repeats \"a\""},
    {"the same name, escaped", file_of(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", ""),
     "the header repeats \"a\""},
    {"metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})", ""),
     "the header repeats \"__metadata__\""},
    {"a key of the metadata twice", file_of(R"({"__metadata__":{"k":"1","k":"2"}})", ""),
     "the header repeats \"k\""},
    {"metadata as a number", file_of(R"({"__metadata__":{"step":12}})", ""),
     "the header gives the metadata \"step\" as 12, not a string"},
    {"metadata nested", file_of(R"({"__metadata__":{"step":{}}})", ""),
     "the header gives the metadata \"step\" as an object, not a string"},
    {"metadata as text", file_of(R"({"__metadata__":"step"})", ""),
     "the header gives \"__metadata__\" as \"step\", not an object"},
    {"tensor as an array", file_of(R"({"a":[]})", ""),
     "the header gives \"a\" as an array, not an object"},
    {"tensor as true", file_of(R"({"a":true})", ""),
     "the header gives \"a\" as true, not an object"},
    {"an array", file_of("[]", ""),
     "the header does not begin with { (byte 8)"},
    {"white space before", file_of(" {}", ""),
     "the header does not begin with { (byte 8)"},
    {"a byte order mark before", file_of("\xEF\xBB\xBF{}", ""),
     "the header does not begin with { (byte 8)"},
    {"text after the end", file_of("{} {}", ""),
     "the header is not JSON at byte 11 of the file"},
    {"zeros as padding", file_of(std::string("{}\0\0", 4), ""),
     "the header is not JSON at byte 10 of the file"},
    {"a zero that would hide the rest", file_of(std::string("{}\0 garbage", 11), ""),
     "the header is not JSON at byte 10 of the file"},
    {"not UTF-8", file_of("{\"\xFF\":{}}", ""),
     "the header is not JSON at byte 10 of the file"},
    {"half of a surrogate pair", file_of(R"({"\ud800":{}})", ""),
     "the header is not JSON at byte 16 of the file"},
    {"a line break within a name", file_of("{\"a\nb\":{}}", ""),
     "the header is not JSON at byte 11 of the file"},
    {"a comment", file_of("{/**/}", ""),
     "the header is not JSON at byte 9 of the file"},
    {"a comma too many", file_of(R"({"__metadata__":{},})", ""),
     "the header is not JSON at byte 27 of the file"},
    {"a number beyond all", one_tensor(R"("dtype":"F32","shape":[1e999],"data_offsets":[0,4])", 4),
     "the header is not JSON at byte 41 of the file"},
    {"a bool of 2", file_of(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\1\2", 3)),
     "the tensor \"a\" is BOOL, but its byte 2 is 2, not 0 or 1"},
    {"a bool of 255", file_of(R"({"a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}})", "\xFF"),
     "the tensor \"a\" is BOOL, but its byte 0 is 255, not 0 or 1"},
    {"a name for messages", file_of("{\"a\\n\\u001b\x7f\":7}", ""),
     "the header gives \"a???\" as 7, not an object"},
};
// clang-format on

TEST(Malformed, IsRefusedWithTheTensorOrTheByteAtFault) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.note);
    EXPECT_EQ(message_of(row.file), std::string("file: ") + row.expected);
  }
}

TEST(Malformed, IsRefusedFromAFileAsFromMemory) {
  const TemporaryFolder folder;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.note);
    const auto path = folder / "x.safetensors";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << row.file;
    EXPECT_THAT(
        [&] { return read_safetensors(path); },
        ThrowsMessage<FileError>(StrEq(path.string() + ": " + row.expected)));
  }
}

TEST(Malformed, ALongNameIsCutBetweenCharacters) {
  std::string name(99, 'x');
  for (int i = 0; i < 50; ++i) name += "\u00e9";
  EXPECT_EQ(message_of(file_of("{\"" + name + "\":7}", "")),
            "file: the header gives \"" + std::string(99, 'x') +
                "...\" as 7, not an object");
}

TEST(Malformed, AHeaderAboveTheFormatsBoundIsNotRead) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  std::ofstream(path, std::ios::binary) << file_of_length(100'000'001, "{");
  std::filesystem::resize_file(path, 200'000'000);  // a hole, not a block
  EXPECT_THAT([&] { return read_safetensors(path); },
              ThrowsMessage<FileError>(
                  StrEq(path.string() +
                        ": the header's length, bytes 0 to 7, is 100000001; at "
                        "most 100000000 are read")));
}

/// Runs `body` on a thread with a stack of 256 KiB.
void on_a_small_stack(void (*body)()) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<void (**)()>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Malformed, DeepNestingIsRefusedAtOnce) {  // BC-33f
  on_a_small_stack([] {
    constexpr int depth = 100'000;
    const std::string heads[] = {
        "",
        R"({"a":)",
        R"({"__metadata__":)",
        R"({"__metadata__":{"k":)",
        R"({"a":{"shape":)",
        R"({"a":{"shape":[)",
        R"({"a":{"data_offsets":)",
        R"({"a":{"x":)",
    };
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& head : heads) {
      EXPECT_NE(message_of(file_of(head + repeated("[", depth), "")),
                "it loads");
      EXPECT_NE(
          message_of(file_of(
              head + repeated("[", depth) + repeated("]", depth) + "}}}", "")),
          "it loads");
      EXPECT_NE(message_of(file_of(head + repeated(R"({"a":)", depth), "")),
                "it loads");
    }
    const auto spent = std::chrono::steady_clock::now() - start;
    EXPECT_LT(spent, std::chrono::seconds(5));
  });
}

/// A valid file with a bit of everything.
std::string valid_file() {
  std::string data;
  for (int i = 0; i < 8; ++i) data += static_cast<char>(i * 31);
  data += std::string(24, '\x3f');
  data += std::string("\0\1\1", 3);
  return file_of(
      R"({"__metadata__":{"step":"12"},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("w":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
      R"("none":{"dtype":"F64","shape":[2,0],"data_offsets":[32,32]},)"
      R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[32,35]}})",
      data);
}

TEST(Broken, EveryTruncationIsRefused) {
  const std::string file = valid_file();
  ASSERT_EQ(message_of(file), "it loads");
  for (std::size_t size = 0; size < file.size(); ++size) {
    // In a block of its own, so that the sanitizer sees its end.
    const std::vector<char> cut(
        file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(message_of({cut.data(), cut.size()}), "it loads") << size;
  }
}

TEST(Broken, AnyByteOfTheHeaderFlippedIsRefusedOrLoads) {
  const std::string file = valid_file();
  const std::size_t header = file.size() - 35;
  // Each bit flipped, and each character that JSON gives a meaning.
  constexpr char meaningful[] =
      "{}[]\":,\\+-.019eEntf \n\x7f\x80\xff";  // and 0
  int tried = 0;
  int loaded = 0;
  for (std::size_t at = 0; at < header; ++at) {
    std::string bytes(meaningful, sizeof meaningful);
    for (int bit = 0; bit < 8; ++bit) {
      bytes += static_cast<char>(file[at] ^ (1 << bit));
    }
    for (const char byte : bytes) {
      std::string broken = file;
      broken[at] = byte;
      ++tried;
      loaded += message_of(broken) == "it loads" ? 1 : 0;
    }
  }
  // Another letter in a name or in the metadata, I64 as F64, ...: some do.
  EXPECT_GT(loaded, tried / 20);
  EXPECT_LT(loaded, tried / 4);
}

TEST(Broken, RandomDamageIsRefusedOrLoads) {
  const std::string file = valid_file();
  const std::string pieces[] = {
      "{",
      "}",
      "[",
      "]",
      "\"",
      ",",
      ":",
      "\\",
      "-1",
      "0",
      "1e5",
      "4294967296",
      "null",
      "\"shape\"",
      "\"F64\"",
      "\\u00e",
      "[0,8]",
      "{}",
      " ",
      "9223372036854775807",
      "18446744073709551615",
      "\"data_offsets\":[0,8]",
      std::string(1, '\0'),
  };
  constexpr std::uint64_t seed = 33;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    std::string broken = file;
    const auto changes = 1 + random() % 4;
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t at = 8 + random() % (broken.size() - 8);
      const std::string& piece = pieces[random() % std::size(pieces)];
      broken.replace(at, random() % 3 == 0 ? 0 : random() % 12, piece);
    }
    if (random() % 2 == 0) {  // so that damage reaches behind the length
      broken = file_of_length(broken.size() - 8 - 35, broken.substr(8));
    }
    message_of(broken);
  }
}

}  // namespace
}  // namespace topos
