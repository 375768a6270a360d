// Every row of every operation and composite, with its first and second
// derivatives, means the same as text: read and run by the independent
// evaluator, it stays within the envelope.

#include "emit/catalogue.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "emit/modules.h"
#include "ops/catalog.h"
#include "ops/composite.h"

namespace topos::test {
namespace {

class Catalogue : public testing::TestWithParam<EmitOptions> {};

TEST_P(Catalogue, MeansTheSame) {
  Tally tally;
  std::set<std::string> operations;
  int failed = 0;
  for (const Example& example : catalogue()) {
    operations.insert(example.operation);
    const std::string what =
        difference(example.network, example.plan, example.feeds, GetParam(),
                   example.name, tally);
    if (what.empty()) continue;
    ADD_FAILURE() << what;
    if (++failed == 10) break;
  }
  std::printf("%s\n", tally.text().c_str());
  EXPECT_EQ(operations.size(), ops::All::size + ops::AllComposites::size);
  // Rows hold few elements whose value hangs on a rounding.
  for (const auto& [dtype, of] : tally.types) {
    EXPECT_LT(of.undecided, of.elements / 10) << name(dtype);
    EXPECT_LE(of.ratio, is_floating(dtype) ? 1 : 0) << name(dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(Emitted, Catalogue,
                         testing::Values(EmitOptions{},
                                         EmitOptions{.composites = true},
                                         EmitOptions{.partitions = 2}),
                         [](const auto& options) -> std::string {
                           if (options.param.composites) return "Composites";
                           if (options.param.partitions > 1) return "Split";
                           return "Plain";
                         });

// The formula is inside and the caller asks by name.
TEST(Composites, KeepTheirNameFieldsAndFormula) {
  Tape tape;
  const Value x = tape.input("x", f32, {2, 3});
  const Value target = tape.input("target", i32, {2});
  // The second one shares the numbers of the first.
  const Value y = gelu(gelu(x, GeluForm::tanh), GeluForm::tanh);
  const Value loss = nn::cross_entropy(y, target);
  const Value gradient = tape.differentiate(loss, {x})[0];
  const Network network = tape.seal();
  const Plan plan = network.lower(Entry().result(loss).result(gradient));
  const StablehloModule module = emit_stablehlo(plan, {.composites = true});
  const auto text = stablehlo_text::Module::parse(module.text);
  EXPECT_EQ(text.operation_count("stablehlo.composite"), 3u);
  for (const char* part :
       {"\"topos.gelu\"", "\"topos.cross_entropy\"", "fields = \"form="}) {
    EXPECT_NE(module.text.find(part), std::string::npos) << part;
  }
  const auto plain = stablehlo_text::Module::parse(emit_stablehlo(plan).text);
  EXPECT_EQ(plain.operation_count("stablehlo.composite"), 0u);
  Tally tally;
  const std::vector<Feed> feeds = {
      {x, Tensor({2, 3}, {0.5f, -1.0f, 2.0f, 0.0f, 3.0f, -0.25f})},
      {target, Tensor({2}, {2, 0})}};
  EXPECT_EQ(difference(network, plan, feeds, {.composites = true}, "", tally),
            "");
}

}  // namespace
}  // namespace topos::test
