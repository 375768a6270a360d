// Random programs with gradients, carries and constants mean the same as text.
// One seed again:
//
//     TOPOS_NETWORK_SEED=1234 build/release/tests/topos_emit_test
//         --gtest_filter='RandomModules.*'   (on one line)

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "emit/catalogue.h"
#include "emit/modules.h"
#include "engine/builds.h"
#include "ops/catalog.h"

namespace topos::test {
namespace {

std::optional<std::uint64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

TEST(RandomModules, MeanTheSame) {
  const auto one = from_environment("TOPOS_NETWORK_SEED");
  const std::uint64_t first = one.value_or(500000);
  const std::uint64_t count =
      one ? 1
          : from_environment("TOPOS_NETWORK_COUNT").value_or(3000 / slowness);
  Tally tally;
  std::vector<std::int64_t> counts(ops::All::size);
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 3; ++seed) {
    const std::int64_t elements = seed % 16 == 0 ? 1500 : 64;
    const Example example = random_example(seed, {32, elements});
    count_operations(example.plan, counts);
    const EmitOptions options{.composites = seed % 3 == 1,
                              .partitions = seed % 5 == 1 ? 2 : 1};
    const std::string what =
        difference(example.network, example.plan, example.feeds, options,
                   example.name, tally);
    if (what.empty()) continue;
    ++failed;
    ADD_FAILURE() << "TOPOS_NETWORK_SEED=" << seed << "\n" << what;
  }
  std::printf("%s\n", tally.text().c_str());
  if (count < 500) return;
  std::size_t at = 0;
  ops::All::for_each([&]<class Op>() {
    EXPECT_GT(counts[at], 0) << Op::name << " never occurred";
    ++at;
  });
  for (const auto& [dtype, of] : tally.types) {
    EXPECT_LT(of.undecided, of.elements / 3) << name(dtype);
  }
}

/// A training step of as many layers.
StablehloModule step_of(int layers, const EmitOptions& options) {
  Tape tape;
  Value x = tape.input("x", f32, {4, 8});
  for (int i = 0; i < layers; ++i) {
    const Value w = tape.parameter("w" + std::to_string(i), f32, {8, 8});
    x = gelu(layer_norm(matmul(x, w),
                        tape.constant(Tensor::full({f32, {8}}, 1)),
                        tape.constant(Tensor::zeros({f32, {8}}))));
  }
  const Value loss = mean(x * x);
  Entry entry;
  entry.result(loss);
  for (const auto& [parameter, gradient] : tape.gradients(loss)) {
    entry.carry(parameter, parameter - 0.1f * gradient);
  }
  return emit_stablehlo(tape.seal().lower(entry), options);
}

TEST(ModuleSize, GrowsByTheSameForEachLayer) {
  for (const bool composites : {false, true}) {
    const EmitOptions options{.composites = composites};
    std::vector<double> operations;
    std::vector<double> bytes;
    for (const int layers : {20, 40, 80}) {
      const StablehloModule module = step_of(layers, options);
      operations.push_back(static_cast<double>(module.operation_count));
      bytes.push_back(static_cast<double>(module.text.size()));
    }
    EXPECT_EQ(operations[2] - operations[1],
              2 * (operations[1] - operations[0]));
    EXPECT_LT(operations[0] / 20, 200);
    // Names become longer.
    EXPECT_NEAR(bytes[2] - bytes[1], 2 * (bytes[1] - bytes[0]),
                0.05 * (bytes[2] - bytes[1]));
  }
}

}  // namespace
}  // namespace topos::test
