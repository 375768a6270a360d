// `topos profile`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "examples/program.h"
#include "io/temporary_folder.h"

namespace topos {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ProfileCommand, PrintsATableAndWritesATrace) {
  const TemporaryFolder folder;
  const Finished finished = run(folder.path(), TOPOS,
                                {"profile", "makemore_mlp", "--steps", "3",
                                 "--threads", "1", "--trace", "trace.json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, StartsWith("3 steps of "));
  EXPECT_THAT(finished.out, HasSubstr("matmul add tanh, makemore_mlp.cpp:"));
  const json trace = json::parse(text_of(folder.path() / "trace.json"));
  EXPECT_GT(trace.at("traceEvents").size(), 30u);
}

TEST(ProfileCommand, ParametersWithoutPayloadsAreDrawn) {
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS,
          {"profile", "gpt_tiny", "--plan", "forward", "--steps", "1"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST(ProfileCommand, RefusesWhatThereIsNot) {
  const TemporaryFolder folder;
  Finished finished = run(folder.path(), TOPOS, {"profile", "elephant"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, StartsWith("topos: there is no model"));
  finished =
      run(folder.path(), TOPOS, {"profile", "medley", "--plan", "elephant"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, StartsWith("topos: the model has no plan"));
  finished = run(folder.path(), TOPOS,
                 {"profile", "medley", "--trace", "no/such/folder.json"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out, "");
}

}  // namespace
}  // namespace topos
