#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/program.h"
#include "io/temporary_folder.h"
#include "topos/topos.h"

namespace topos {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// A run in a folder of its own, without the comparison unless asked for.
class MakemoreMlp : public testing::Test {
 protected:
  Finished makemore(Arguments arguments) {
    return run(folder_.path(), MAKEMORE_MLP, complete(std::move(arguments)));
  }
  static Arguments complete(Arguments arguments) {
    arguments.insert(arguments.end(), {"--corpus", NAMES, "--threads", "1"});
    return arguments;
  }

  /// The figures of a run that has to succeed.
  json figures(Arguments arguments) {
    arguments.insert(arguments.end(), {"--json", "figures.json"});
    const Finished finished = makemore(std::move(arguments));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.err, "");
    out_ = finished.out;
    return json::parse(text_of(folder_ / "figures.json"));
  }

  TemporaryFolder folder_;
  std::string out_;
};

TEST_F(MakemoreMlp, ComesWithinTheRecipesFigures) {
  const json run = figures({"--compare", "20", "--steps", "500"});
  // The Rust original's first loss, and a plain f32 program's first mean.
  EXPECT_NEAR(run["first_loss"].get<double>(), 3.4845, 0.0005);
  EXPECT_NEAR(run["means"][0].get<double>(), 2.5801, 0.0005);
  EXPECT_THAT(out_, HasSubstr("32033 words, 228146 samples"));
  EXPECT_THAT(out_, HasSubstr("compared  20 steps on native and interpreter"));
}

TEST_F(MakemoreMlp, WritesEveryFigureThatItPrints) {
  const json run = figures({"--compare", "3", "--steps", "520"});
  EXPECT_EQ(run["version"], TOPOS_VERSION);
  EXPECT_EQ(run["engine"], "native");
  EXPECT_EQ(run["threads"], 1);
  EXPECT_EQ(run["steps"], 520);
  EXPECT_EQ(run["first_step"], 0);
  EXPECT_EQ(run["compared_steps"], 3);
  EXPECT_EQ(run["seed"], nullptr);
  EXPECT_EQ(
      run["seeds"],
      (json{{"embedding", 8}, {"layers", 7}, {"shuffle", 9}, {"names", 10}}));
  EXPECT_GT(run["steps_per_second"].get<double>(), 0);

  const auto losses = run["losses"].get<std::vector<double>>();
  ASSERT_EQ(losses.size(), 520u);
  EXPECT_EQ(run["first_loss"].get<double>(), losses[0]);
  for (const double loss : losses) {
    EXPECT_EQ(loss, static_cast<double>(static_cast<float>(loss)))
        << "the very f32";
  }
  const auto means = run["means"].get<std::vector<double>>();
  ASSERT_EQ(means.size(), 2u);
  double sum = 0;
  for (std::size_t i = 500; i < 520; ++i) sum += losses[i];
  EXPECT_DOUBLE_EQ(means[1], sum / 20);

  const auto names = run["names"].get<std::vector<std::string>>();
  EXPECT_EQ(names.size(), 20u);
  for (const std::string& name : names) {
    EXPECT_THAT(out_, HasSubstr(name));
    EXPECT_NE(name, "");
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"),
              std::string::npos);
  }
  EXPECT_THAT(out_, HasSubstr(run["parameters"].get<std::string>()));
  for (const char* count :
       {"forward", "gradient", "update", "recorded", "simplified", "groups"}) {
    EXPECT_GT(run["nodes"][count].get<int>(), 0) << count;
    EXPECT_THAT(out_, HasSubstr(std::to_string(run["nodes"][count].get<int>())))
        << count;
  }
  EXPECT_LE(run["nodes"]["simplified"], run["nodes"]["recorded"]);

  EXPECT_THAT(out_, HasSubstr("loss curve  makemore_mlp.svg"));
  EXPECT_THAT(text_of(folder_ / "makemore_mlp.svg"), HasSubstr("</svg>"));
}

TEST_F(MakemoreMlp, TellsWhereItsTimeWent) {
  figures({"--compare", "0", "--steps", "5", "--profile", "trace.json"});
  EXPECT_THAT(out_, HasSubstr("\n5 steps of "));
  EXPECT_THAT(out_, HasSubstr("matmul add tanh, makemore_mlp.cpp:"));
  EXPECT_FALSE(
      json::parse(text_of(folder_ / "trace.json")).at("traceEvents").empty());
}

TEST_F(MakemoreMlp, EnginesAndThreadsAgreeBitForBit) {
  const Arguments few = {"--compare",    "0", "--steps", "12",
                         "--checkpoint", "c", "--engine"};
  const auto on = [&](const char* engine, const char* threads) {
    Arguments arguments = few;
    arguments.insert(arguments.end(),
                     {engine, "--json", "figures.json", "--threads", threads,
                      "--corpus", NAMES});
    EXPECT_EQ(run(folder_.path(), MAKEMORE_MLP, arguments).exit_code, 0);
    return json::parse(text_of(folder_ / "figures.json"));
  };
  const json native = on("native", "1");
  const json threads = on("native", "2");
  const json interpreter = on("interpreter", "1");
  EXPECT_EQ(interpreter["engine"], "interpreter");
  for (const char* same : {"losses", "means", "names", "parameters"}) {
    EXPECT_EQ(native[same], interpreter[same]) << same;
    EXPECT_EQ(native[same], threads[same]) << same;
  }
}

TEST_F(MakemoreMlp, ASeedDecidesEverything) {
  const auto with = [&](const char* seed) {
    return figures({"--compare", "0", "--steps", "5", "--seed", seed});
  };
  const json one = with("1");
  const json other = with("2");
  EXPECT_EQ(one["losses"], with("1")["losses"]);
  EXPECT_NE(one["losses"], other["losses"]);
  SplitMix random(1);
  for (const char* part : {"embedding", "layers", "shuffle", "names"}) {
    EXPECT_EQ(one["seeds"][part].get<std::uint64_t>(), random.next()) << part;
  }
}

TEST_F(MakemoreMlp, ResumesWithTheBitsOfAnUninterruptedRun) {
  const json whole = figures({"--compare", "0", "--steps", "60", "--seed", "3",
                              "--checkpoint", "whole"});
  const std::string svg = text_of(folder_ / "makemore_mlp.svg");
  figures({"--compare", "0", "--steps", "25", "--seed", "3"});
  const json resumed = figures({"--compare", "5", "--steps", "60", "--resume"});
  EXPECT_EQ(resumed["first_step"], 25);
  for (const char* same : {"first_loss", "losses", "means", "names",
                           "parameters", "seed", "steps"}) {
    EXPECT_EQ(whole[same], resumed[same]) << same;
  }
  EXPECT_EQ(text_of(folder_ / "makemore_mlp.svg"), svg);
  EXPECT_EQ(text_of(folder_ / "makemore_mlp.safetensors"),
            text_of(folder_ / "whole"))
      << "the checkpoints, byte for byte";

  // Nothing is left to train; the figures are those of before.
  const json again = figures({"--steps", "60", "--resume"});
  EXPECT_EQ(again["names"], whole["names"]);
  EXPECT_EQ(again["parameters"], whole["parameters"]);
}

class Interrupted : public MakemoreMlp,
                    public testing::WithParamInterface<int> {};

TEST_P(Interrupted, SavesAndContinuesWithTheSameBits) {
  Process process(folder_.path(), MAKEMORE_MLP,
                  complete({"--compare", "0", "--steps", "1000000", "--json",
                            "never written.json"}));
  process.wait_for("training: step 500 of 1000000");
  process.send(GetParam());
  const Finished finished = process.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_THAT(finished.err, HasSubstr("saved in makemore_mlp.safetensors"));
  EXPECT_THAT(finished.err,
              HasSubstr("--steps 1000000 --json 'never written.json'"));
  EXPECT_THAT(finished.err, HasSubstr(" --resume\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "never written.json"));

  const Metadata saved =
      read_safetensors_metadata(folder_ / "makemore_mlp.safetensors");
  const int step = std::stoi(saved.at("step"));
  ASSERT_GE(step, 500);
  ASSERT_LT(step, 999'000);
  const std::string steps = std::to_string(step + 40);
  const json resumed =
      figures({"--compare", "0", "--steps", steps, "--resume"});
  const json whole =
      figures({"--compare", "0", "--steps", steps, "--checkpoint", "whole"});
  EXPECT_EQ(resumed["first_step"], step);
  EXPECT_TRUE(resumed["losses"] == whole["losses"]);
  EXPECT_EQ(resumed["means"], whole["means"]);
  EXPECT_EQ(resumed["names"], whole["names"]);
  EXPECT_EQ(resumed["parameters"], whole["parameters"]);
}

INSTANTIATE_TEST_SUITE_P(BySignal, Interrupted,
                         testing::Values(SIGINT, SIGTERM));

TEST_F(MakemoreMlp, InterruptedBeforeTheTrainingItLeavesNothing) {
  Process process(folder_.path(), MAKEMORE_MLP,
                  complete({"--compare", "1000000", "--steps", "1000000"}));
  process.wait_for("comparing:");
  process.send(SIGINT);
  const Finished finished = process.finish();
  EXPECT_EQ(finished.exit_code, 130);
  EXPECT_THAT(finished.err, HasSubstr("nothing to save"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "makemore_mlp.safetensors"));
}

TEST_F(MakemoreMlp, TheCheckpointIsAFileForEveryReader) {
  figures({"--compare", "0", "--steps", "2"});
  const TensorFile file =
      read_safetensors(folder_ / "makemore_mlp.safetensors");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) {
    names.push_back(name + " " + tensor.type().text());
  }
  EXPECT_THAT(names, testing::ElementsAre(
                         "embedding.weight f32[27, 10]",
                         "hidden.weight f32[30, 100]", "hidden.bias f32[100]",
                         "output.weight f32[100, 27]", "output.bias f32[27]"));
  EXPECT_EQ(file.metadata.at("program"), "makemore_mlp");
  EXPECT_EQ(file.metadata.at("step"), "2");
}

TEST_F(MakemoreMlp, ANewRunSaysThatItReplacesAnOldOne) {
  figures({"--compare", "0", "--steps", "7"});
  EXPECT_THAT(out_, Not(HasSubstr("note")));
  figures({"--compare", "0", "--steps", "3"});
  EXPECT_THAT(out_, HasSubstr("it will replace makemore_mlp.safetensors, saved "
                              "at step 7"));
}

TEST_F(MakemoreMlp, DrawsABarOnATerminalAndPlainLinesElsewhere) {
  const Arguments few =
      complete({"--compare", "0", "--steps", "30", "--svg", "loss.svg"});
  const Finished bar = run_on_terminal(folder_.path(), MAKEMORE_MLP, few);
  EXPECT_EQ(bar.exit_code, 0);
  EXPECT_THAT(bar.out, HasSubstr("\r\x1b[Ktraining ["));
  EXPECT_THAT(bar.out, HasSubstr("] 30/30  loss "));
  EXPECT_THAT(bar.out, HasSubstr(" steps/s"));
  const Finished plain = run(folder_.path(), MAKEMORE_MLP, few);
  EXPECT_THAT(plain.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain.out, Not(HasSubstr("\r")));
  EXPECT_THAT(plain.out, HasSubstr("training: step 30 of 30, loss "));
}

TEST_F(MakemoreMlp, FindsItsNamesInTheSourceTree) {
  const Finished finished =
      run(folder_.path(), MAKEMORE_MLP, {"--compare", "0", "--steps", "1"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.out, HasSubstr("data/names.txt: 32033 words"));
}

TEST_F(MakemoreMlp, TakesAnyWordList) {
  std::ofstream words(folder_ / "words");
  for (int i = 0; i < 13; ++i) words << "word\n";  // 65 samples
  words.close();
  const Finished finished =
      run(folder_.path(), MAKEMORE_MLP,
          {"--corpus", "words", "--compare", "2", "--steps", "200"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("13 words, 65 samples"));
}

TEST_F(MakemoreMlp, AnswersWhatItIsAsked) {
  const Finished version = run(folder_.path(), MAKEMORE_MLP, {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out,
            std::string("makemore_mlp of topos ") + TOPOS_VERSION + "\n");
  const Finished help = run(folder_.path(), MAKEMORE_MLP, {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option :
       {"--steps", "--seed", "--threads", "--engine", "--json", "--corpus",
        "--svg", "--checkpoint", "--resume", "--compare"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
}

}  // namespace
}  // namespace topos
