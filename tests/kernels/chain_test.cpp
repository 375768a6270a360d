#include "kernels/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/elementary.h"
#include "kernels/every_target.h"

namespace topos::kernels {
namespace {

using test::random_values;
using test::Values;

constexpr std::size_t greatest_size = 1100;  // some pieces

struct Chain {
  std::vector<ChainStep> steps;
  std::vector<std::vector<float>> operands;
};

bool is_unary(Arithmetic op) { return op >= Arithmetic::neg; }

Chain random_chain(std::mt19937& random) {
  Chain chain;
  const std::size_t count = 1 + random() % 9;
  bool is_aside = false;  // a value is, and functions are not allowed
  for (std::size_t i = 0; i < count; ++i) {
    ChainStep step;
    step.op = static_cast<Arithmetic>(random() % (is_aside ? 11 : 13));
    if (!is_aside && random() % 6 == 0) {
      step.op = Arithmetic::add;
      step.operand = ChainStep::Operand::turn;
      is_aside = true;
    } else if (!is_unary(step.op)) {
      step.operand = static_cast<ChainStep::Operand>(1 + random() % 3);
      step.is_second = random() % 2 != 0;
      if (is_aside && random() % 2 != 0) {
        step.operand = ChainStep::Operand::aside;
        is_aside = false;
      }
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
  std::vector<float> aside;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const ChainStep& step = chain.steps[i];
    if (step.op == Arithmetic::erf) {
      erf(y.data(), y.data(), n);
      continue;
    }
    if (step.op == Arithmetic::logistic) {
      logistic(y.data(), y.data(), n);
      continue;
    }
    if (step.operand == ChainStep::Operand::turn) {
      aside = y;
      std::copy_n(chain.operands[i].begin(), n, y.begin());
      continue;
    }
    const bool is_scalar = step.operand == ChainStep::Operand::scalar;
    const void* x[] = {y.data(), chain.operands[i].data()};
    if (step.operand == ChainStep::Operand::itself) x[1] = y.data();
    if (step.operand == ChainStep::Operand::aside) x[1] = aside.data();
    if (step.is_second) std::swap(x[0], x[1]);
    const Scalars scalars = !is_scalar ? 0 : step.is_second ? 1 : 2;
    arithmetic_function(step.op, Number::f32, scalars)(x, y.data(), n);
  }
  return y;
}

TEST(Chain, IsItsStepsOneByOne) {
  TOPOS_SHOW_SEED();
  std::mt19937 random(test::seed());
  for (std::size_t n = 0; n < greatest_size; n += n < 150 ? 1 : 23) {
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
