// The form of the text: what example.mlir holds, reviewed when it changes.
//
//     TOPOS_UPDATE_GOLDEN=1 build/release/tests/topos_emit_test
//         --gtest_filter='Golden.*'   (on one line) writes it again

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "emit/modules.h"

namespace topos::test {
namespace {

const char* const path = "tests/emit/example.mlir";

/// A bit of everything: parameters, a large constant and small ones, indices,
/// reductions, a composite, gradients and carries.
StablehloModule example(const EmitOptions& options) {
  Tape tape;
  const Value table = tape.parameter("table", f32, {5, 4});
  const Value bias = tape.parameter("bias", f32, {4});
  const Value letters = tape.input("letters", i32, {2});
  const Value steps = tape.input("steps taken", i64, {});
  const Value mask = tape.constant(
      Tensor({2, 4}, {true, false, true, true, true, true, false, true}));
  const Value large = tape.constant(cast(iota({i32, {40, 30}}, 1), f32) * 0.5f);
  const Value x = gelu(gather(table, letters) + bias, GeluForm::tanh);
  const Value kept = select(mask, x, 0.1f);
  // Named: in which order operands are evaluated is the compiler's choice.
  const Value total = sum(kept);
  const Value loss = total + reduce_max(large);
  tape.name(loss, "loss");
  const Value best = argmax(kept);
  Entry entry;
  entry.result(loss).result(best);
  for (const auto& [parameter, gradient] : tape.gradients(loss)) {
    entry.carry(parameter, parameter - 0.25f * gradient);
  }
  entry.carry(steps, steps + 1);
  return emit_stablehlo(tape.seal().lower(entry), options);
}

TEST(Golden, TheTextOfAnExample) {
  const std::string found = example({.partitions = 2}).text + "\n" +
                            example({.composites = true}).text;
  if (std::getenv("TOPOS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << found;
  }
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(found, expected.str());
}

// Four layers and their gradients; an operation more has a reason.
TEST(Golden, TheOperationsOfAMakemoreStep) {
  Tape tape;
  SplitMix rng(7);
  const nn::Embedding table(tape, "table", 27, 10, rng);
  const nn::Linear hidden(tape, "hidden", 30, 200, rng);
  const nn::Linear output(tape, "output", 200, 27, rng);
  const Value contexts = tape.input("contexts", i32, {32, 3});
  const Value targets = tape.input("targets", i32, {32});
  const Value rate = tape.input("rate", f32, {});
  const Value x = reshape(table(contexts), {32, 30});
  const Value loss = nn::cross_entropy(output(tanh(hidden(x))), targets);
  Entry entry;
  entry.result(loss);
  for (const auto& [parameter, gradient] : tape.gradients(loss)) {
    entry.carry(parameter, parameter - rate * gradient);
  }
  const StablehloModule module = emit_stablehlo(tape.seal().lower(entry));
  const auto text = stablehlo_text::Module::parse(module.text);
  EXPECT_EQ(text.operation_count(), 83u);
  EXPECT_EQ(text.operation_count("stablehlo.dot_general"), 6u);
  EXPECT_EQ(text.operation_count("stablehlo.gather"), 2u);
  EXPECT_EQ(text.operation_count("stablehlo.scatter"), 2u);
  EXPECT_EQ(text.operation_count("stablehlo.tanh"), 1u);
}

}  // namespace
}  // namespace topos::test
