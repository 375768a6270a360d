#include "floors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace topos::house {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// ctest runs every test from the project's root.
TEST(House, EveryIncludeKeepsToTheFloorPlan) {
  ASSERT_TRUE(fs::exists("include/topos/version.h"));
  for (const auto& [where, what] : check_includes(".")) {
    ADD_FAILURE() << where << ": " << what;
  }
}

TEST(House, EveryFolderOfSrcOpensWithAReadme) {
  for (const std::string& folder : folders_without_readme("src")) {
    ADD_FAILURE() << folder << "/ has no README.md";
  }
}

// A project of a few files, to see that the check above can fail.
class Project : public testing::Test {
 protected:
  // The builds of several presets may be at it at once.
  Project()
      : root_(fs::path(testing::TempDir()) /
              ("topos_house_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    write("src/tensor/shape.h", "");
    write("src/ops/sum_reference.h", "");
    write("src/ops/sum.h", "");
    write("src/kernels/pool.h", "");
    write("include/topos/tensor.h", "");
  }
  ~Project() override { fs::remove_all(root_); }

  void write(const fs::path& file, std::string_view text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  // What is said of a project that has this file, too.
  std::vector<std::string> complaints(const fs::path& file,
                                      std::string_view text) const {
    write(file, text);
    std::vector<std::string> out;
    for (const auto& [where, what] : check_includes(root_)) {
      out.push_back(where + ": " + what);
    }
    return out;
  }

  fs::path root_;
};

TEST_F(Project, LooksDownAndBesideItself) {
  EXPECT_THAT(complaints("src/ops/sum.cpp",
                         "#include \"sum.h\"\n#include \"ops/sum.h\"\n"
                         "#include \"tensor/shape.h\"\n#include <fmt/core.h>\n"
                         "#include <topos/tensor.h>\n#include <vector>\n"),
              IsEmpty());
}

TEST_F(Project, NeverLooksUp) {
  EXPECT_THAT(
      complaints("src/tensor/shape.cpp", "\n  # include \"ops/sum.h\"\n"),
      ElementsAre("src/tensor/shape.cpp:2: tensor may not include from "
                  "ops: ops/sum.h"));
}

TEST_F(Project, NeverLooksSideways) {
  EXPECT_THAT(
      complaints("src/ops/sum.cpp", "#include \"kernels/pool.h\"\n"),
      ElementsAre("src/ops/sum.cpp:1: ops may not include from kernels: "
                  "kernels/pool.h"));
}

TEST_F(Project, KernelsSeeTheReferencesOfOpsAndNothingElseThere) {
  EXPECT_THAT(complaints("src/kernels/sum.cpp",
                         "#include \"ops/sum_reference.h\"\n"
                         "#include \"ops/sum.h\"\n"),
              ElementsAre("src/kernels/sum.cpp:2: kernels may not include from "
                          "ops: ops/sum.h"));
}

TEST_F(Project, PublicHeadersHideTheSourcesAndThePackages) {
  EXPECT_THAT(
      complaints("include/topos/dtype.h",
                 "#include \"tensor/shape.h\"\n#include <fmt/core.h>\n"),
      ElementsAre("include/topos/dtype.h:1: a public header includes "
                  "tensor/shape.h of src/",
                  "include/topos/dtype.h:2: a public header may not include "
                  "<fmt/core.h>"));
}

TEST_F(Project, PublicHeadersLieOnFloorsToo) {
  write("include/topos/functions.h", "");
  EXPECT_THAT(
      complaints("include/topos/shape.h", "#include \"topos/functions.h\"\n"),
      ElementsAre("include/topos/shape.h:1: tensor may not include "
                  "topos/functions.h, which belongs to ops"));
}

TEST_F(Project, AStrangerAmongPublicHeadersIsNamed) {
  EXPECT_THAT(complaints("include/topos/stranger.h", ""),
              ElementsAre("include/topos/stranger.h: is in no row of the floor "
                          "table (tests/house/floors.cpp)"));
}

TEST_F(Project, LayersAndProgramsSeeThePublicFaceAlone) {
  EXPECT_THAT(
      complaints("src/nn/linear.cpp",
                 "#include <topos/tensor.h>\n#include \"tensor/shape.h\"\n"),
      ElementsAre("src/nn/linear.cpp:2: nn may include <topos/...> only, not "
                  "tensor/shape.h"));
  fs::remove(root_ / "src/nn/linear.cpp");
  EXPECT_THAT(
      complaints("examples/first.cpp", "#include \"tensor/shape.h\"\n"),
      ElementsAre("examples/first.cpp:1: examples may include <topos/...> "
                  "only, not tensor/shape.h"));
}

TEST_F(Project, ProgramsShareTheirModelsAndNothingElse) {
  EXPECT_THAT(complaints("tools/emit.cpp", "#include \"models/catalog.h\"\n"),
              IsEmpty());
  EXPECT_THAT(
      complaints("tools/emit.cpp", "#include \"examples/corpus.h\"\n"),
      ElementsAre("tools/emit.cpp:1: tools may include <topos/...> only, not "
                  "examples/corpus.h"));
  fs::remove(root_ / "tools/emit.cpp");
  EXPECT_THAT(
      complaints("examples/models/gpt.cpp",
                 "#include \"gpt.h\"\n#include \"examples/corpus.h\"\n"
                 "#include <CLI/CLI.hpp>\n"),
      ElementsAre("examples/models/gpt.cpp:2: models may include <topos/...> "
                  "only, not examples/corpus.h",
                  "examples/models/gpt.cpp:3: models may not include "
                  "<CLI/CLI.hpp>"));
}

TEST_F(Project, PackagesBelongToTheirFolders) {
  EXPECT_THAT(complaints("src/ops/sum.cpp", "#include <hwy/highway.h>\n"),
              ElementsAre("src/ops/sum.cpp:1: ops may not include "
                          "<hwy/highway.h>"));
  EXPECT_THAT(complaints("src/ops/sum.cpp", "#include <boost/any.hpp>\n"),
              ElementsAre("src/ops/sum.cpp:1: <boost/any.hpp> is of no package "
                          "known to tests/house/floors.cpp"));
}

TEST_F(Project, AFolderWithoutAReadmeIsFound) {
  write("src/tensor/README.md", "Tensors.\n");
  write("src/ops/README.md", "Operations.\n");
  EXPECT_THAT(folders_without_readme(root_ / "src"),
              ElementsAre((root_ / "src/kernels").string()));
}

}  // namespace
}  // namespace topos::house
