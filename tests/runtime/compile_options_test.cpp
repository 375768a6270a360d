#include "runtime/compile_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topos/error.h"

namespace topos::runtime {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes) {
    out += fmt::format("{}{:02x}", out.empty() ? "" : " ",
                       static_cast<unsigned char>(byte));
  }
  return out;
}

std::string text_bytes(const char* text) { return hex(text); }

// The expected bytes are those that XLA's plugins were seen to take.

TEST(CompileOptions, OneDeviceIsTheShortestThatXlaTakes) {
  EXPECT_EQ(hex(compile_options_proto({}, false)), "1a 04 20 01 28 01");
}

TEST(CompileOptions, PartitionsAskForShardy) {
  EXPECT_EQ(
      hex(compile_options_proto({.partitions = 2, .overrides = {}}, false)),
      "1a 09 20 01 28 02 30 01 98 01 01");
  // A varint of two bytes.
  EXPECT_EQ(
      hex(compile_options_proto({.partitions = 300, .overrides = {}}, false)),
      "1a 0a 20 01 28 ac 02 30 01 98 01 01");
}

TEST(CompileOptions, OnCpusMinimumAndMaximumKeepNan) {
  EXPECT_EQ(hex(compile_options_proto({}, true)),
            "1a 04 20 01 28 01 3a 21 0a 1b " +
                text_bytes("xla_cpu_enable_fast_min_max") + " 12 02 10 00");
}

TEST(CompileOptions, TheCallersOverrideWins) {
  CompileOptions options;
  options.overrides["xla_cpu_enable_fast_min_max"] = true;
  EXPECT_EQ(hex(compile_options_proto(options, true)),
            "1a 04 20 01 28 01 3a 21 0a 1b " +
                text_bytes("xla_cpu_enable_fast_min_max") + " 12 02 10 01");
}

TEST(CompileOptions, EveryTypeOfOverrideHasItsField) {
  CompileOptions options;
  options.overrides["a"] = "text";
  options.overrides["b"] = true;
  options.overrides["c"] = std::int64_t{-1};
  options.overrides["d"] = 1.0;
  EXPECT_EQ(hex(compile_options_proto(options, false)),
            "1a 04 20 01 28 01 "
            "3a 0b 0a 01 61 12 06 0a 04 74 65 78 74 "
            "3a 07 0a 01 62 12 02 10 01 "
            "3a 10 0a 01 63 12 0b 18 ff ff ff ff ff ff ff ff ff 01 "
            "3a 0e 0a 01 64 12 09 21 00 00 00 00 00 00 f0 3f");
}

TEST(CompileOptions, NoPartitionsAreRefusedBeforeThePluginSeesThem) {
  EXPECT_THAT(
      [] { compile_options_proto({.partitions = 0, .overrides = {}}, false); },
      ThrowsMessage<UsageError>(HasSubstr("0 partitions")));
}

}  // namespace
}  // namespace topos::runtime
