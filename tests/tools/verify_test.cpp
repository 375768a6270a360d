// `topos verify` and `topos engines`.
#include "tools/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "examples/program.h"
#include "io/temporary_folder.h"
#include "runtime/environment.h"
#include "topos/version.h"

namespace topos {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

/// A machine on which no XLA engine can run.
class WithoutXla {
 public:
  WithoutXla()
      : plugin_("TOPOS_PJRT_PLUGIN", "/no/plugin.so"),
        python_("TOPOS_XLA_PYTHON", "/no/python") {}

 private:
  EnvironmentVariable plugin_;
  EnvironmentVariable python_;
};

TEST(Verify, EveryModelOnEveryEngineHere) {
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS, {"verify", "--json", "figures.json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(finished.out, Not(HasSubstr("FAILS")));

  const json figures = json::parse(text_of(folder.path() / "figures.json"));
  EXPECT_EQ(figures.at("topos"), version());
  EXPECT_EQ(figures.at("failed"), 0);
  // What passes says something.
  EXPECT_EQ(figures.at("undecided"), 0);
  EXPECT_EQ(figures.at("passed"), figures.at("checks").size());
  ASSERT_EQ(figures.at("engines").size(), engine_names().size());
  std::size_t running = 0;
  for (const json& engine : figures.at("engines")) {
    if (engine.at("status") == "verified") {
      ++running;
      EXPECT_NE(engine.at("description"), "");
      continue;
    }
    EXPECT_THAT(engine.at("name").get<std::string>(), MatchesRegex("xla.*"));
    EXPECT_THAT(engine.at("reason").get<std::string>(), Not(HasSubstr("\n")));
    EXPECT_NE(engine.at("reason"), "");
  }
  EXPECT_GE(running, 2u);

  std::size_t results = 0;
  for (const models::Model& model : models::models()) {
    if (!model.can_run) continue;
    for (const models::Program& program : model.record().programs) {
      const Entry& entry = program.plan.entry();
      results += entry.results().size() + entry.carries().size();
    }
  }
  EXPECT_EQ(figures.at("checks").size(), results * running);
}

TEST(Verify, ChecksBitsOfNativeAndCountsTheAbsentAsSkipped) {
  const WithoutXla nothing;
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS,
          {"verify", "first_network", "medley", "--json", "figures.json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("xla          cannot run here: "));
  EXPECT_THAT(finished.out, HasSubstr("/no/plugin.so"));
  EXPECT_THAT(finished.out, HasSubstr("/no/python"));
  EXPECT_THAT(finished.out, HasSubstr(" fail; 2 engines skipped\n"));

  const json figures = json::parse(text_of(folder.path() / "figures.json"));
  bool has_carry = false;
  for (const json& check : figures.at("checks")) {
    EXPECT_EQ(check.at("promise"), "bits");
    EXPECT_EQ(check.at("passed"), true);
    EXPECT_EQ(check.at("largest_difference"), 0);
    has_carry = has_carry ||
                (check.at("kind") == "carry" && check.at("result") == "seen" &&
                 check.at("dtype") == "i64" && check.at("elements") == 1);
  }
  EXPECT_TRUE(has_carry);
}

TEST(Verify, ChoosesEngines) {
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS,
          {"verify", "--engine", "native", "makemore_mlp", "gpt_tiny"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(" on 1 engines: "));
  EXPECT_THAT(finished.out, HasSubstr("makemore_mlp, gradients"));
  EXPECT_THAT(finished.out, Not(HasSubstr("medley")));
}

TEST(Verify, SomethingHasToRun) {
  const WithoutXla nothing;
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS, {"verify", "--engine", "xla"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.err,
            "topos: nothing is verified: no such engine runs here\n");
}

TEST(Verify, AnEngineThatBreaksFails) {
  const EnvironmentVariable plugin("TOPOS_PJRT_PLUGIN", FAKE_PLUGIN);
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), TOPOS,
          {"verify", "--engine", "xla", "first_network", "--json", "figures"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.out, HasSubstr("FAILS"));
  EXPECT_THAT(finished.out, HasSubstr(" results on 1 engines: 0 pass, "));
  const json figures = json::parse(text_of(folder.path() / "figures"));
  EXPECT_EQ(figures.at("passed"), 0);
  EXPECT_NE(figures.at("checks").at(0).at("error"), "");
}

TEST(Verify, RefusesWhatThereIsNot) {
  const TemporaryFolder folder;
  const auto error_of = [&](const Arguments& arguments) {
    const Finished finished = run(folder.path(), TOPOS, arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  };
  EXPECT_THAT(error_of({"verify", "gpt5"}),
              HasSubstr("no model \"gpt5\"; present are first_network, "));
  EXPECT_THAT(error_of({"verify", "gpt2"}), HasSubstr("no parameters"));
  EXPECT_THAT(error_of({"verify", "--engine", "tpu"}), HasSubstr("tpu"));
  EXPECT_THAT(error_of({"verify", "--json", "no/folder/figures"}),
              HasSubstr("no/folder/figures: cannot be written"));
}

TEST(Verify, FailsWhereTheFiguresDoNotFit) {
  const TemporaryFolder folder;
  const Finished finished = run(
      folder.path(), TOPOS,
      {"verify", "first_network", "--engine", "native", "--json", "/dev/full"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("No space left on device"));
}

// ---- The report of what no engine here does ------------------------------

tools::Check wrong(tools::Promise promise) {
  tools::Check check;
  check.model = "model";
  check.program = "train";
  check.result = "loss";
  check.engine = "some";
  check.promise = promise;
  check.difference.inside = false;
  check.difference.largest = 0.25;
  check.difference.ratio = 300;
  return check;
}

TEST(VerifyReport, SaysWhatIsWrong) {
  testing::internal::CaptureStdout();
  tools::print_checks({wrong(tools::Promise::envelope)});
  tools::print_checks({wrong(tools::Promise::bits)});
  tools::print_summary({wrong(tools::Promise::bits)}, {});
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, HasSubstr("FAILS 0.25, ratio 3e+02"));
  EXPECT_THAT(out, HasSubstr("FAILS 0.25 "));
  EXPECT_THAT(out, HasSubstr("  some, loss: "));
  EXPECT_THAT(out, HasSubstr("0 pass, 1 fail; "));
}

TEST(VerifyReport, CountsWhatSaysNothing) {
  tools::Check check = wrong(tools::Promise::envelope);
  check.passed = true;
  check.difference = {};
  check.difference.undecided = 1;
  testing::internal::CaptureStdout();
  tools::print_checks({check});
  tools::print_summary({check}, {});
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_THAT(out, HasSubstr("(1 ?)"));
  EXPECT_THAT(out, HasSubstr("1 pass (1 of them are undecided altogether)"));
  EXPECT_EQ(json::parse(tools::json_text({check}, {})).at("undecided"), 1);
}

TEST(Engines, SayWhatRunsThemOrWhyNothingDoes) {
  const WithoutXla nothing;
  const TemporaryFolder folder;
  const Finished finished = run(folder.path(), TOPOS, {"engines"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 4);
  EXPECT_THAT(finished.out, HasSubstr("interpreter  "));
  EXPECT_THAT(finished.out, HasSubstr("\nnative       "));
  EXPECT_THAT(finished.out, HasSubstr("\nxla          cannot run here: "));
  EXPECT_THAT(finished.out, HasSubstr("\nxla-server   cannot run here: "));
}

}  // namespace
}  // namespace topos
