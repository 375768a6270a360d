#include "kernels/chain.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/every_target.h"

namespace topos::kernels {
namespace {

using test::random_values;
using test::Values;

constexpr std::size_t greatest_size = 300;

struct Chain {
  std::vector<ChainStep> steps;
  std::vector<std::vector<float>> operands;
};

bool is_unary(Arithmetic op) { return op >= Arithmetic::neg; }

Chain random_chain(std::mt19937& random) {
  Chain chain;
  const std::size_t count = 1 + random() % 9;
  for (std::size_t i = 0; i < count; ++i) {
    ChainStep step;
    step.op = static_cast<Arithmetic>(random() % 11);
    if (!is_unary(step.op)) {
      step.operand = static_cast<ChainStep::Operand>(1 + random() % 3);
      step.is_second = random() % 2 != 0;
    }
    chain.steps.push_back(step);
    chain.operands.push_back(
        random_values<float>(random, greatest_size, Values::special));
  }
  return chain;
}

/// Step by step.
std::vector<float> expected(const Chain& chain, std::vector<float> y,
                            std::size_t n) {
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const ChainStep& step = chain.steps[i];
    const bool is_scalar = step.operand == ChainStep::Operand::scalar;
    const void* x[] = {y.data(), step.operand == ChainStep::Operand::itself
                                     ? y.data()
                                     : chain.operands[i].data()};
    if (step.is_second) std::swap(x[0], x[1]);
    const Scalars scalars = !is_scalar ? 0 : step.is_second ? 1 : 2;
    arithmetic_function(step.op, Number::f32, scalars)(x, y.data(), n);
  }
  return y;
}

TEST(Chain, IsItsStepsOneByOne) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (std::size_t n = 0; n < greatest_size; ++n) {
    SCOPED_TRACE(n);
    const Chain chain = random_chain(random);
    const auto x = random_values<float>(random, greatest_size, Values::wild);
    test::on_every_target([&] {
      const ChainFunction run = chain_function();
      if (run == nullptr) return;
      std::vector<const float*> operands;
      for (const auto& each : chain.operands) operands.push_back(each.data());
      std::vector<float> y = x;
      run(y.data(), chain.steps.data(), operands.data(), chain.steps.size(),
          y.data(), n);
      test::expect_same_bits(y, expected(chain, x, n));
    });
  }
}

}  // namespace
}  // namespace topos::kernels
