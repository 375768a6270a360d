#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "examples/program.h"
#include "io/temporary_folder.h"

namespace topos {
namespace {

TEST(FirstNetwork, LearnsTheExclusiveOr) {
  const TemporaryFolder folder;
  const Finished finished = run(folder.path(), FIRST_NETWORK, {});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.err, "");
  double loss = 1;
  double guesses[4] = {};
  std::istringstream lines(finished.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(
        std::sscanf(line.c_str(),
                    "step %*d, loss %lf: f32[4, 1]{%lf %lf %lf %lf}", &loss,
                    &guesses[0], &guesses[1], &guesses[2], &guesses[3]),
        5)
        << line;
  }
  EXPECT_EQ(count, 5);
  EXPECT_LT(loss, 0.001);
  EXPECT_LT(guesses[0], 0.1);
  EXPECT_GT(guesses[1], 0.9);
  EXPECT_GT(guesses[2], 0.9);
  EXPECT_LT(guesses[3], 0.1);
}

}  // namespace
}  // namespace topos
