#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/makemore_options.h"
#include "examples/makemore_training.h"
#include "examples/program.h"
#include "io/temporary_folder.h"
#include "topos/topos.h"

namespace topos {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Runs the program on whatever this machine has, and is skipped, saying why,
/// where it has nothing.
class MakemoreEmitted : public testing::Test {
 protected:
  /// No test may meet what another run has kept. The programs run elsewhere,
  /// and are told of the project's Python.
  static void SetUpTestSuite() {
    ::setenv("TOPOS_CACHE_DIR", "", 1);
    const auto python =
        std::filesystem::path(NAMES).parent_path() / "../.venv/bin/python";
    if (std::filesystem::exists(python)) {
      ::setenv("TOPOS_XLA_PYTHON", python.c_str(), 0);
    }
  }
  static void TearDownTestSuite() { ::unsetenv("TOPOS_CACHE_DIR"); }

  /// \return  why there is none; empty: there is
  static std::string missing(const Engine& engine) {
    try {
      engine.description();
      return "";
    } catch (const RuntimeError& error) {
      // One that was asked for by name is no accident.
      const char* named = std::getenv("TOPOS_PJRT_PLUGIN");
      if (named != nullptr && *named != '\0') throw;
      return error.message();
    }
  }

  /// The figures of a run that has to succeed; each is made once.
  static const json& figures(const Arguments& arguments) {
    static std::map<Arguments, json> known;
    const auto found = known.find(arguments);
    if (found != known.end()) return found->second;
    const TemporaryFolder folder;
    Arguments all = arguments;
    all.insert(all.end(), {"--corpus", NAMES, "--json", "figures.json"});
    const Finished finished = run(folder.path(), MAKEMORE_MLP_EMITTED, all);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    json result = json::parse(text_of(folder / "figures.json"));
    result["out"] = finished.out;
    return known[arguments] = result;
  }

  static std::vector<double> losses(const json& figures, const char* route) {
    return figures["engines"][route]["losses"].get<std::vector<double>>();
  }
};

XlaOptions on_devices(int count) {
  XlaOptions options;
  options.devices = count;
  return options;
}

const Arguments on_one = {"--steps", "520"};
const Arguments on_two = {"--steps", "200", "--devices", "2"};

/// The first loss in a stated envelope: everything that XLA may do to it has a
/// known error, and the sum of these is the bound (docs/envelope.md).
Envelope first_loss_envelope() {
  const examples::Seeds seeds;
  examples::Samples samples =
      examples::training_samples(NAMES, examples::read_words(NAMES));
  SplitMix random(seeds.shuffle);
  examples::shuffle(samples, random);
  const examples::Makemore program = models::record_makemore();
  return envelopes(program.network, program.train, program.network.parameters(),
                   {{program.contexts, samples.contexts_at(0, examples::batch)},
                    {program.targets, samples.targets_at(0, examples::batch)},
                    {program.rate, examples::rate_at(0)}})[0];
}

void expect_inside(const Envelope& envelope, double loss) {
  const Difference difference =
      compare(envelope, Tensor::scalar(static_cast<float>(loss)));
  EXPECT_TRUE(difference.inside) << difference.text();
}

TEST_F(MakemoreEmitted, WritesEveryFigureThatItPrints) {
  if (const auto why = missing(xla::engine()); !why.empty())
    GTEST_SKIP() << why;
  const json& run = figures(on_one);
  EXPECT_EQ(run["version"], TOPOS_VERSION);
  EXPECT_EQ(run["engine"], "xla");
  EXPECT_EQ(run["devices"], 1);
  EXPECT_EQ(run["steps"], 520);
  const auto out = run["out"].get<std::string>();
  for (const char* figure : {"nodes", "text_bytes"}) {
    EXPECT_GT(run[figure].get<int>(), 0) << figure;
    EXPECT_THAT(out, HasSubstr(std::to_string(run[figure].get<int>())));
  }
  // The update is a product and a difference for each of five parameters.
  EXPECT_EQ(run["plans"]["whole"]["nodes"], run["nodes"]);
  EXPECT_GT(run["plans"]["whole"]["operations"],
            run["plans"]["gradient"]["operations"]);
  ASSERT_EQ(run["engines"].size(), 3u);
  for (const char* route : {"native", "xla host update", "xla resident"}) {
    SCOPED_TRACE(route);
    const json& engine = run["engines"][route];
    EXPECT_THAT(out, HasSubstr(route));
    EXPECT_GT(engine["ms_per_step"].get<double>(), 0);
    EXPECT_GE(engine["seconds"].get<double>(), 0);
    EXPECT_THAT(out, HasSubstr(engine["description"].get<std::string>()));
    const auto found = losses(run, route);
    ASSERT_EQ(found.size(), 520u);
    const auto means = engine["means"].get<std::vector<double>>();
    ASSERT_EQ(means.size(), 2u);
    double sum = 0;
    for (std::size_t i = 500; i < 520; ++i) {
      EXPECT_EQ(found[i], static_cast<double>(static_cast<float>(found[i])));
      sum += found[i];
    }
    EXPECT_DOUBLE_EQ(means[1], sum / 20);
  }
}

TEST_F(MakemoreEmitted, TheFirstLossIsInItsEnvelopeAndTheMeansFollow) {
  if (const auto why = missing(xla::engine()); !why.empty())
    GTEST_SKIP() << why;
  const json& run = figures(on_one);
  const auto native = losses(run, "native");
  const Envelope envelope = first_loss_envelope();
  // A bound that would let anything pass shows nothing.
  EXPECT_LT(envelope.bound.item(), 1e-3);
  double drift = 0;
  for (const char* route : {"xla host update", "xla resident"}) {
    SCOPED_TRACE(route);
    const auto found = losses(run, route);
    expect_inside(envelope, found[0]);
    drift = std::max(drift, std::abs(found[0] - native[0]) / native[0]);
    // They did train, and on the same batches.
    EXPECT_LT(found[519], found[0] - 0.5);
    const double mean = run["engines"][route]["means"][0];
    const double expected = run["engines"]["native"]["means"][0];
    EXPECT_NEAR(mean, expected, 1e-3 * expected);
    // The losses are XLA's, not a copy of native's.
    EXPECT_NE(found, native);
  }
  EXPECT_DOUBLE_EQ(run["drift"].get<double>(), drift);
  EXPECT_LT(drift, 1e-3);
}

TEST_F(MakemoreEmitted, TwoDevicesTrainAsOne) {
  const std::string why = missing(xla::engine(on_devices(2)));
  if (!why.empty()) GTEST_SKIP() << why;
  const json& two = figures(on_two);
  EXPECT_EQ(two["devices"], 2);
  const Envelope envelope = first_loss_envelope();
  for (const char* route : {"xla host update", "xla resident"}) {
    SCOPED_TRACE(route);
    const auto one_device = losses(figures(on_one), route);
    const auto two_devices = losses(two, route);
    ASSERT_EQ(two_devices.size(), 200u);
    expect_inside(envelope, two_devices[0]);
    for (std::size_t i = 0; i < two_devices.size(); ++i) {
      ASSERT_NEAR(two_devices[i], one_device[i], 1e-3 * one_device[i])
          << "step " << i;
    }
  }
}

TEST_F(MakemoreEmitted, AServerWithJaxTrainsToo) {
  const std::string why = missing(xla_server::engine());
  if (!why.empty()) GTEST_SKIP() << why;
  const json& run = figures({"--steps", "20", "--engine", "xla-server"});
  EXPECT_EQ(run["engine"], "xla-server");
  const Envelope envelope = first_loss_envelope();
  const auto native = losses(run, "native");
  for (const char* route : {"xla-server host update", "xla-server resident"}) {
    SCOPED_TRACE(route);
    const auto found = losses(run, route);
    ASSERT_EQ(found.size(), 20u);
    expect_inside(envelope, found[0]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], native[i], 1e-3 * native[i]) << "step " << i;
    }
  }
}

TEST_F(MakemoreEmitted, TheDemoRunsOnXlaToo) {
  if (const auto why = missing(xla::engine()); !why.empty())
    GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const Finished finished =
      run(folder.path(), MAKEMORE_MLP,
          {"--engine", "xla", "--steps", "20", "--compare", "3", "--corpus",
           NAMES, "--json", "figures.json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("engine    xla, cpu, 1 device"));
  EXPECT_THAT(finished.out,
              HasSubstr("compared  3 steps on native and interpreter"));
  const json run = json::parse(text_of(folder / "figures.json"));
  EXPECT_EQ(run["engine"], "xla");
  const auto found = run["losses"].get<std::vector<double>>();
  const auto expected = losses(figures(on_one), "native");
  ASSERT_EQ(found.size(), 20u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-3 * expected[i]) << "step " << i;
  }
}

TEST_F(MakemoreEmitted, ASeedDecidesTheTrajectory) {
  if (const auto why = missing(xla::engine()); !why.empty())
    GTEST_SKIP() << why;
  const json& seeded = figures({"--steps", "3", "--seed", "5"});
  EXPECT_EQ(seeded["seed"], 5);
  EXPECT_NE(losses(seeded, "xla resident")[0],
            losses(figures(on_one), "xla resident")[0]);
}

TEST_F(MakemoreEmitted, WithoutAPluginItSaysWhatToDo) {
  const TemporaryFolder folder;
  ::setenv("TOPOS_PJRT_PLUGIN", "/no/such/plugin.so", 1);
  const Finished finished =
      run(folder.path(), MAKEMORE_MLP_EMITTED, {"--corpus", NAMES});
  ::unsetenv("TOPOS_PJRT_PLUGIN");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_EQ(finished.out, "") << "before any training";
  EXPECT_THAT(finished.err, HasSubstr("makemore_mlp_emitted: "));
  EXPECT_THAT(finished.err, HasSubstr("/no/such/plugin.so"));
  EXPECT_THAT(finished.err, HasSubstr("TOPOS_PJRT_PLUGIN"));
  EXPECT_THAT(finished.err, HasSubstr("--engine xla-server"));
}

}  // namespace
}  // namespace topos
