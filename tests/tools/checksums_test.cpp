// `topos checksums`: the same bits from the definition, with any number of
// threads and on every instruction set, as on the machine that first computed
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "examples/program.h"
#include "io/temporary_folder.h"
#include "runtime/environment.h"
#include "topos/io.h"

namespace topos {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ChecksumTable : public testing::Test {
 protected:
  void expect_golden(const Arguments& options) {
    SCOPED_TRACE(testing::PrintToString(options));
    Arguments arguments = {"checksums", "--expect", CHECKSUMS};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Finished finished = run(folder_.path(), TOPOS, arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, StartsWith("243 checksums, 0 differ from "));
  }

  TemporaryFolder folder_;
};

TEST_F(ChecksumTable, IsThatOfTheInterpreter) {
  expect_golden({"--engine", "interpreter"});
}

TEST_F(ChecksumTable, IsThatOfAnyNumberOfThreads) {
  for (const char* threads : {"1", "2", "7"}) {
    expect_golden({"--threads", threads});
  }
}

TEST_F(ChecksumTable, SaysWhatDiffers) {
  std::string table = text_of(CHECKSUMS);
  const std::size_t digit = table.find('\n') - 1;
  table[digit] = table[digit] == '0' ? '1' : '0';
  write_file_atomically(folder_.path() / "table", table + "one more  0123\n");
  const Finished finished =
      run(folder_.path(), TOPOS, {"checksums", "--expect", "table"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, StartsWith("matmul f32 k 0 plain plain"));
  EXPECT_THAT(finished.out, HasSubstr("missing: one more  0123\n"));
  EXPECT_THAT(finished.out, HasSubstr("243 checksums, 2 differ from table"));
}

TEST_F(ChecksumTable, RefusesAFileThatIsNotThere) {
  const Finished finished =
      run(folder_.path(), TOPOS, {"checksums", "--expect", "nowhere"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("nowhere"));
}

class OnTarget : public ChecksumTable,
                 public testing::WithParamInterface<const char*> {};

TEST_P(OnTarget, IsThatOfEveryInstructionSet) {
  const EnvironmentVariable target("TOPOS_TARGET", GetParam());
  const Finished finished = run(folder_.path(), TOPOS, {"engines"});
  if (finished.out.find("no target") != std::string::npos) {
    GTEST_SKIP() << "this machine has no " << GetParam();
  }
  expect_golden({"--threads", "2"});
}

INSTANTIATE_TEST_SUITE_P(ChecksumTable, OnTarget,
                         testing::Values("AVX3", "AVX2", "SSE4", "SSSE3",
                                         "NEON"));

}  // namespace
}  // namespace topos
