// `topos emit`: what it writes means what the interpreter computes, and what it
// refuses leaves nothing behind.
#include "topos/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "examples/program.h"
#include "io/temporary_folder.h"
#include "models/catalog.h"
#include "stablehlo/module.h"
#include "topos/envelope.h"

namespace topos {
namespace {

using testing::HasSubstr;

/// What `@main` takes, from the parameters and feeds of the program.
std::vector<Tensor> arguments_of(const StablehloModule& module,
                                 const Network& network,
                                 std::vector<Feed>& feeds) {
  const Parameters parameters = network.parameters();
  std::vector<Tensor> arguments;
  for (const EmittedArgument& argument : module.arguments) {
    if (argument.kind == EmittedArgument::Kind::constant) {
      arguments.push_back(*argument.payload);
      continue;
    }
    if (argument.kind == EmittedArgument::Kind::parameter) {
      arguments.push_back(parameters.of(argument.symbol));
      continue;
    }
    Tensor fed = Tensor::zeros(argument.type);  // of a carried input
    bool is_fed = false;
    for (const Feed& feed : feeds) {
      if (feed.symbol != argument.symbol) continue;
      is_fed = true;
      const Number* number = std::get_if<Number>(&feed.what);
      fed = number != nullptr ? Tensor::full(argument.type, *number)
                              : std::get<Tensor>(feed.what);
    }
    if (!is_fed) feeds.emplace_back(argument.symbol, fed);
    arguments.push_back(fed);
  }
  return arguments;
}

class EmittedModel : public testing::TestWithParam<std::string> {};

TEST_P(EmittedModel, MeansWhatTheInterpreterComputes) {
  const TemporaryFolder folder;
  const models::Recorded recorded = models::find_model(GetParam())->record();
  for (const models::Program& program : recorded.programs) {
    for (const Arguments& options : {Arguments{}, Arguments{"--composites"},
                                     Arguments{"--partitions", "2"}}) {
      SCOPED_TRACE(program.name + (options.empty() ? "" : options[0]));
      Arguments arguments = {"emit",       GetParam(), "--plan",
                             program.name, "-o",       "module.mlir"};
      arguments.insert(arguments.end(), options.begin(), options.end());
      const Finished finished = run(folder.path(), TOPOS, arguments);
      ASSERT_EQ(finished.exit_code, 0) << finished.err;
      EXPECT_EQ(finished.out + finished.err, "");

      const auto module =
          stablehlo_text::Module::parse(text_of(folder.path() / "module.mlir"));
      std::vector<Feed> feeds = program.feeds;
      const std::vector<Tensor> tensors =
          arguments_of(emit_stablehlo(program.plan), recorded.network, feeds);
      const std::vector<Tensor> results = module.run(tensors);
      const std::vector<Envelope> expected =
          envelopes(recorded.network, program.plan,
                    recorded.network.parameters(), Feeds(feeds));
      ASSERT_EQ(results.size(), expected.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Difference difference = compare(expected[i], results[i]);
        EXPECT_TRUE(difference.inside)
            << module.results()[i].info << ": " << difference.text();
        EXPECT_EQ(difference.undecided, 0) << module.results()[i].info;
      }
    }
  }
}

std::vector<std::string> models_that_run() {
  std::vector<std::string> names;
  for (const models::Model& model : models::models()) {
    if (model.can_run) names.push_back(model.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EmittedModel,
                         testing::ValuesIn(models_that_run()),
                         [](const auto& model) { return model.param; });

TEST(Emit, ListsTheModels) {
  const TemporaryFolder folder;
  const Finished finished = run(folder.path(), TOPOS, {"emit"});
  EXPECT_EQ(finished.exit_code, 0);
  for (const models::Model& model : models::models()) {
    EXPECT_THAT("\n" + finished.out, HasSubstr("\n" + model.name + "  "));
    EXPECT_THAT(finished.out, HasSubstr("  " + model.description + "\n"));
  }
}

TEST(Emit, WritesTheSameToTheOutputAndToAFile) {
  const TemporaryFolder folder;
  const Finished printed = run(folder.path(), TOPOS, {"emit", "first_network"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_EQ(stablehlo_text::Module::parse(printed.out).results().size(), 6u);
  // With a list beside it.
  const Finished listed = run(
      folder.path(), TOPOS, {"emit", "first_network", "--list", "-o", "text"});
  EXPECT_EQ(text_of(folder.path() / "text"), printed.out);
  EXPECT_THAT(listed.out, HasSubstr("parameter  f32[2, 8]           "
                                    "hidden.weight, donated to result 2\n"));
  EXPECT_THAT(listed.out, HasSubstr("input      f32[4, 2]           x\n"));
  EXPECT_THAT(listed.out, HasSubstr("result     f32[]               loss\n"));
  EXPECT_THAT(listed.out, HasSubstr("carry      f32[1]              "
                                    "output.bias\n"));
  EXPECT_THAT(listed.out,
              HasSubstr(" operations, " + std::to_string(printed.out.size()) +
                        " bytes\n"));
}

TEST(Emit, RefusesWhatThereIsNot) {
  const TemporaryFolder folder;
  const auto error_of = [&](const Arguments& arguments) {
    const Finished finished = run(folder.path(), TOPOS, arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  };
  EXPECT_EQ(error_of({"emit", "gpt5", "-o", "text"}),
            "topos: there is no model \"gpt5\"; present are first_network, "
            "makemore_mlp, gpt_tiny, gpt_tiny_untied, medley, gpt2\n");
  EXPECT_EQ(error_of({"emit", "makemore_mlp", "--plan", "x", "-o", "text"}),
            "topos: the model has no plan \"x\"; present are forward, "
            "gradients, train\n");
  EXPECT_THAT(error_of({"emit", "medley", "--partitions", "0"}),
              HasSubstr("--partitions"));
  EXPECT_THAT(error_of({"emit", "medley", "-o", "no/folder/text"}),
              HasSubstr("no/folder/text: cannot be written: No such file"));
  EXPECT_THAT(error_of({"emit", "medley", "-o", "."}),
              HasSubstr("cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "text"));
}

TEST(Emit, FailsWhereTheTextDoesNotFit) {
  const TemporaryFolder folder;
  const Finished to_file =
      run(folder.path(), TOPOS, {"emit", "medley", "-o", "/dev/full"});
  EXPECT_EQ(to_file.exit_code, 1);
  EXPECT_EQ(to_file.err,
            "topos: /dev/full: cannot be written: No space left on device\n");
  const Finished to_output =
      run(folder.path(), "/bin/sh",
          {"-c", std::string(TOPOS) + " emit medley > /dev/full"});
  EXPECT_EQ(to_output.exit_code, 1);
  EXPECT_EQ(to_output.err, "topos: the output cannot be written\n");
}

}  // namespace
}  // namespace topos
