#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "topos/nn.h"
#include "topos/topos.h"

namespace topos::nn {
namespace {

struct Mlp {
  Mlp(Tape& tape, std::string_view name, SplitMix& random)
      : hidden(tape, dotted(name, "hidden"), 3, 4, random),
        output(tape, dotted(name, "output"), 4, 2, random, {.bias = false}) {}

  Linear hidden;
  Linear output;

  Value operator()(Operand x) const {
    const Frame frame(x.site);
    return output(tanh(hidden(x)));
  }
  void visit(auto&& visitor) const {
    visitor("hidden", hidden);
    visitor("output", output);
  }
};

// All that a member may be.
struct Model {
  std::vector<Mlp> blocks;
  std::optional<Embedding> embedding;
  std::optional<Linear> absent;
  std::array<Value, 2> gains;
  Value tied;

  void visit(auto&& visitor) const {
    visitor("embedding", embedding);
    visitor("blocks", blocks);
    visitor("absent", absent);
    visitor("gain", gains);
    visitor("head", tied);
  }
};

struct NotAModule {};
struct VisitIsNotConst {
  void visit(auto&& visitor) { visitor("x", x); }
  Value x;
};

static_assert(Module<Linear> && Module<Embedding> && Module<Mlp> &&
              Module<Model>);
static_assert(!Module<NotAModule> && !Module<VisitIsNotConst> &&
              !Module<Value> && !Module<std::vector<Mlp>>);

std::vector<std::string> names(const std::vector<NamedParameter>& list) {
  std::vector<std::string> result;
  for (const auto& [name, parameter] : list) result.push_back(name);
  return result;
}

TEST(Module, ListsItsParametersUnderDottedNames) {
  Tape tape;
  SplitMix random(1);
  const Mlp mlp(tape, "", random);
  const auto list = parameters(mlp);
  EXPECT_EQ(names(list), (std::vector<std::string>{
                             "hidden.weight", "hidden.bias", "output.weight"}));
  EXPECT_EQ(list[0].parameter, mlp.hidden.weight);
  EXPECT_EQ(list[1].parameter, *mlp.hidden.bias);
  EXPECT_EQ(list[2].parameter, mlp.output.weight);
}

TEST(Module, NamesAreThoseOnTheTape) {
  Tape tape;
  SplitMix random(1);
  const Mlp mlp(tape, "model", random);
  for (const auto& [name, parameter] : parameters(mlp, "model")) {
    EXPECT_EQ(tape.name(parameter), name);
  }
  const Network network = tape.seal();
  for (const auto& [name, parameter] : parameters(mlp, "model")) {
    EXPECT_EQ(network.symbol(name), parameter.symbol());
  }
}

TEST(Module, MembersMayBeOptionalRepeatedOrShared) {
  Tape tape;
  SplitMix random(1);
  Model model;
  model.embedding.emplace(tape, "embedding", 5, 3, random);
  for (int i = 0; i < 2; ++i) {
    model.blocks.emplace_back(tape, "blocks." + std::to_string(i), random);
  }
  model.gains = {tape.parameter("gain.0", f32, {}),
                 tape.parameter("gain.1", f32, {})};
  model.tied = model.embedding->weight;
  const auto list = parameters(model);
  EXPECT_EQ(names(list),
            (std::vector<std::string>{
                "embedding.weight", "blocks.0.hidden.weight",
                "blocks.0.hidden.bias", "blocks.0.output.weight",
                "blocks.1.hidden.weight", "blocks.1.hidden.bias",
                "blocks.1.output.weight", "gain.0", "gain.1", "head"}));
  EXPECT_EQ(list.front().parameter, list.back().parameter);
}

TEST(Module, IsOneForEveryUse) {
  Tape tape;
  SplitMix random(1);
  const Mlp mlp(tape, "mlp", random);
  const std::size_t parameters_only = tape.size();
  const Value few = mlp(tape.input("few", f32, {1, 3}));
  const Value many = mlp(tape.input("many", f32, {64, 3}));
  EXPECT_EQ(few.shape(), Shape({1, 2}));
  EXPECT_EQ(many.shape(), Shape({64, 2}));
  EXPECT_EQ(parameters_only, 3u);
  EXPECT_EQ(tape.seal().parameters().size(), 3u);
}

}  // namespace
}  // namespace topos::nn
