// Envelopes hold for every engine that rounds as XLA may, hold for no wrong
// program, and are narrow enough to be of use.

#include "topos/envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "engine/builds.h"
#include "engine/lowered_plan.h"
#include "engine/perturbed.h"
#include "engine/random_network.h"
#include "support/random.h"
#include "support/tensors.h"

namespace topos::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double u = 0x1p-24;

/// The envelope of a function of inputs that are fed the tensors of `text`.
template <class F>
Envelope envelope_of(std::string_view text, F&& f) {
  Tape tape;
  std::vector<Value> inputs;
  std::vector<Feed> feeds;
  for (const Tensor& x : tensors(text)) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(tape.input(name, x.dtype(), x.shape()));
    feeds.emplace_back(inputs.back(), x);
  }
  const Value y = f(inputs);
  const Network network = tape.seal();
  return envelopes(network, network.lower(Entry().result(y)),
                   network.parameters(), feeds)
      .at(0);
}

std::vector<double> bounds_of(const Envelope& envelope) {
  return envelope.bound.to_vector<double>();
}

using Inputs = const std::vector<Value>&;

// ---- Rules, against bounds worked out by hand ---------------------------

TEST(Bound, OfALeafAndItsViewsIsZero) {
  const Envelope e = envelope_of("f32[2, 2]{1 2 3 4}", [](Inputs x) {
    return reverse(transpose(x[0]), {0});
  });
  EXPECT_EQ(bounds_of(e), std::vector<double>(4, 0));
}

TEST(Bound, OfASumOfTwoIsOneRoundingOfEachSide) {
  const Envelope e =
      envelope_of("f32[]{1} f32[]{2}", [](Inputs x) { return x[0] + x[1]; });
  EXPECT_NEAR(bounds_of(e)[0], 2 * u * 3, 1e-15);
}

TEST(Bound, OfAProductCarriesTheErrorsOfItsFactors) {
  const Envelope e = envelope_of("f32[]{3} f32[]{5}", [](Inputs x) {
    return (x[0] + x[0]) * (x[1] + x[1]);
  });
  // 6 (20 u) + 10 (12 u) + 2 u 60, and what is of second order.
  EXPECT_GE(bounds_of(e)[0], 360 * u);
  EXPECT_LT(bounds_of(e)[0], 360.01 * u);
}

TEST(Bound, OfASumGrowsWithItsTermsAndSkipsZeros) {
  const auto total = [](Inputs x) { return sum(x[0]); };
  EXPECT_NEAR(bounds_of(envelope_of("f32[4]{1 -1 1 -1}", total))[0],
              (3 + 1) * u * 4, 1e-12);
  EXPECT_EQ(bounds_of(envelope_of("f32[4]{0 0 7 -0}", total))[0], 0);
  EXPECT_EQ(bounds_of(envelope_of("i32[3]{1 2 3}", total))[0], 0);
  EXPECT_NEAR(bounds_of(envelope_of("f64[2]{1 1}", total))[0], 4 * 0x1p-53,
              1e-24);
}

TEST(Bound, OfAMatrixProductIsThatOfItsDotProducts) {
  const Envelope e = envelope_of("f32[1, 3]{1 -2 0} f32[3, 1]{4 5 6}",
                                 [](Inputs x) { return matmul(x[0], x[1]); });
  EXPECT_NEAR(bounds_of(e)[0], (2 + 2) * u * 14, 1e-12);
}

TEST(Bound, FollowsASlopeThatIsSteepNextDoor) {
  // sqrt of 1e-8 +- 2e-8: the slope at the middle says too little.
  const Envelope e = envelope_of("f32[]{0.1} f32[]{0.1}", [](Inputs x) {
    return sqrt(x[0] * x[0] - x[1] * x[1] + 1e-9f);
  });
  EXPECT_EQ(bounds_of(e)[0], inf);  // may be the root of a negative number
  const Envelope far = envelope_of("f32[]{1} f32[]{1}", [](Inputs x) {
    return sqrt(x[0] * x[0] - x[1] * x[1] + 4.0f);
  });
  EXPECT_LT(bounds_of(far)[0], 20 * u);
}

TEST(Bound, OfADecisionIsNothingOrEverything) {
  // 2 x is x + x on every engine, but its bound doesn't know that.
  const auto close = [](Inputs x) { return less(x[0] + x[0], x[1]); };
  EXPECT_EQ(bounds_of(envelope_of("f32[2]{1 1} f32[2]{2 3}", close)),
            (std::vector<double>{inf, 0}));
  const auto leaves = [](Inputs x) { return less(x[0], x[1]); };
  EXPECT_EQ(bounds_of(envelope_of("f32[2]{2 1} f32[2]{2 3}", leaves)),
            (std::vector<double>{0, 0}));
  const auto best = [](Inputs x) { return argmax(x[0] * x[0], -1); };
  EXPECT_EQ(bounds_of(envelope_of("f32[2, 2]{1 2 3 3}", best)),
            (std::vector<double>{0, inf}));
  const auto truncated = [](Inputs x) { return cast(x[0] * x[0], i32); };
  EXPECT_EQ(bounds_of(envelope_of("f32[2]{1.5 2}", truncated)),
            (std::vector<double>{0, inf}));
}

TEST(Bound, OfAnUndecidedChoiceIsTheGapBetweenTheTwo) {
  const Envelope e = envelope_of(
      "f32[]{1} f32[]{2} f32[]{10} f32[]{13}",
      [](Inputs x) { return select(less(x[0] + x[0], x[1]), x[2], x[3]); });
  EXPECT_NEAR(bounds_of(e)[0], 3, 1e-9);
}

TEST(Bound, OfAnUndecidedIndexIsUnbounded) {
  const Envelope e = envelope_of("f32[2]{2 2} f32[2]{5 6}", [](Inputs x) {
    return gather(x[1], argmax(x[0] * x[0], 0), {0});
  });
  EXPECT_EQ(bounds_of(e)[0], inf);
}

TEST(Bound, AllowsSubnormalsToBeFlushed) {
  const Envelope e = envelope_of("f32[3]{0x1p-130 0x1p-100 0}",
                                 [](Inputs x) { return x[0] * 0x1p20f; });
  EXPECT_GE(bounds_of(e)[0], 0x1p-110);
  EXPECT_LT(bounds_of(e)[0], 0x1.001p-110);
  EXPECT_LT(bounds_of(e)[1], 0x1p-102);
  EXPECT_EQ(bounds_of(e)[2], 0);
}

TEST(Bound, DemandsTheInfinityThatIsCertain) {
  const auto grow = [](Inputs x) { return (x[0] + x[0]) + x[0]; };
  EXPECT_EQ(bounds_of(envelope_of("f32[3]{3e38 inf nan}", grow)),
            (std::vector<double>{0, 0, 0}));
  // So near to the greatest number that a rounding goes beyond it; and beyond
  // it, but not if it is fused into a sum that comes back.
  const auto square = [](Inputs x) { return x[0] * x[0]; };
  EXPECT_EQ(bounds_of(envelope_of("f32[3]{0x1.fffffep+63 1e30 inf}", square)),
            (std::vector<double>{inf, inf, 0}));
  const auto masked = [](Inputs x) { return softmax(x[0] + x[1], -1); };
  const Envelope e = envelope_of("f32[3]{1 2 3} f32[3]{0 -inf 0}", masked);
  EXPECT_EQ(bounds_of(e)[1], 0);
  EXPECT_LT(bounds_of(e)[0], 1e-6);
}

// ---- compare ------------------------------------------------------------

TEST(Compare, TellsGreatIntegersApart) {
  const Envelope e{tensor("i64[1]{9007199254740993}"), tensor("f64[1]{0}")};
  EXPECT_TRUE(compare(e, e.value).inside);
  EXPECT_FALSE(compare(e, tensor("i64[1]{9007199254740992}")).inside);
}

TEST(Compare, SaysWhereAndByHowMuch) {
  const Envelope e{tensor("f32[4]{1 2 3 nan}"), tensor("f64[4]{0.5 0 inf 0}")};
  const Difference same = compare(e, tensor("f32[4]{1.25 2 9 nan}"));
  EXPECT_TRUE(same.inside);
  EXPECT_EQ(same.ratio, 0.5);
  EXPECT_EQ(same.largest, 0.25);
  EXPECT_EQ(same.position, 0);
  EXPECT_EQ(same.undecided, 1);
  EXPECT_EQ(same.text(),
            "inside: 1.25 and not 1 at 0, 0.5 of the bound 0.5; the greatest "
            "difference is 0.25, 1 undecided");

  EXPECT_FALSE(compare(e, tensor("f32[4]{1.75 2 3 nan}")).inside);
  const Difference exact = compare(e, tensor("f32[4]{1 2.5 3 nan}"));
  EXPECT_FALSE(exact.inside);
  EXPECT_EQ(exact.ratio, inf);
  EXPECT_EQ(exact.position, 1);
  EXPECT_FALSE(compare(e, tensor("f32[4]{nan 2 3 nan}")).inside);
  EXPECT_FALSE(compare(e, tensor("f32[4]{1 2 3 0}")).inside);
  EXPECT_EQ(compare(e, e.value).text(), "equal, 1 undecided");
  EXPECT_THROW(compare(e, tensor("f64[4]{1 2 3 4}")), DTypeError);
  EXPECT_THROW(compare(e, tensor("f32[2]{1 2}")), ShapeError);
}

// ---- Every engine is inside ---------------------------------------------

std::optional<std::uint64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

struct Tally {
  std::int64_t elements = 0;
  std::int64_t undecided = 0;
  double ratio = 0;
};

/// What lies outside, if anything does; the first node that does so alone.
std::string outside(const RandomNetwork& random, const Plan& plan,
                    std::uint64_t seed, Tally& tally) {
  const auto& origin = plan.lowered()->recorded.origin;
  std::vector<RandomNetwork::Fed> fed;
  for (const auto& input : random.inputs) {
    if (std::find(origin.begin(), origin.end(), input.symbol.node) !=
        origin.end()) {
      fed.push_back(input);
    }
  }
  const OwnedFeeds feeds = random.feeds(0, fed);
  const auto expected =
      envelopes(random.network, plan, random.network.parameters(), feeds.feeds);
  for (std::uint64_t again : {1, 2, 3}) {
    const auto found =
        perturbed(random.network, plan, feeds.feeds, seed * 4 + again);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Difference d = compare(expected[i], found[i]);
      tally.elements += found[i].element_count();
      tally.undecided += d.undecided;
      tally.ratio = std::max(tally.ratio, d.inside ? d.ratio : 0);
      if (!d.inside) {
        return "%" + std::to_string(plan.entry().results()[i].value.node) +
               " is " + d.text();
      }
    }
  }
  return {};
}

TEST(Envelopes, HoldOnRandomNetworks) {
  const std::uint64_t first =
      from_environment("TOPOS_NETWORK_SEED").value_or(1);
  const auto count =
      from_environment("TOPOS_NETWORK_SEED")
          ? 1
          : from_environment("TOPOS_NETWORK_COUNT").value_or(1500 / slowness);
  Tally tally;
  std::vector<std::int64_t> counts;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 3; ++seed) {
    const std::int64_t elements = seed % 16 == 0 ? 1500 : 64;
    const RandomNetwork random = random_network(seed, {32, elements});
    // Every value of the program is a result.
    const Plan whole = random.network.lower(random.entry);
    Entry entry;
    for (std::uint32_t node : whole.lowered()->recorded.origin) {
      entry.result(Symbol{whole.lowered()->recorded.list.tape, node});
    }
    const Plan plan = random.network.lower(entry);
    count_operations(plan, counts);
    const std::string what = outside(random, plan, seed, tally);
    if (what.empty()) continue;
    ++failed;
    ADD_FAILURE() << "TOPOS_NETWORK_SEED=" << seed << ": " << what << "\n"
                  << whole.describe();
  }
  std::printf("%ld elements, %.1f %% undecided, the greatest ratio %.3f\n",
              static_cast<long>(tally.elements),
              100.0 * static_cast<double>(tally.undecided) /
                  static_cast<double>(tally.elements),
              tally.ratio);
  if (count < 500) return;
  std::size_t at = 0;
  ops::All::for_each([&]<class Op>() {
    EXPECT_GT(counts[at], 0) << Op::name << " never occurred";
    ++at;
  });
  // Bounds that decide nothing would hold, too.
  EXPECT_LT(tally.undecided, tally.elements / 4);
}

// ---- makemore's training step -------------------------------------------

enum class Fault {
  none,
  no_bias,
  transposed,
  wrong_letter,
  wrong_target,
  no_mean,
  one_weight
};

constexpr std::int64_t batch_size = 32;

/// A square hidden layer, so that a transposed weight has the right shape.
struct Mlp {
  explicit Mlp(Fault fault) {
    Tape tape;
    SplitMix rng(7);
    SplitMix table_rng(8);
    const nn::Embedding table(tape, "table", 27, 10, table_rng);
    const nn::Linear hidden(tape, "hidden", 30, 30, rng);
    const nn::Linear output(tape, "output", 30, 27, rng);
    contexts = tape.input("contexts", i32, {batch_size, 3});
    targets = tape.input("targets", i32, {batch_size});
    rate = tape.input("rate", f32, {});
    const Value x = reshape(table(contexts), {batch_size, 30});
    const Value weight = hidden.weight;
    Value before =
        matmul(x, fault == Fault::transposed ? transpose(weight) : weight);
    if (fault != Fault::no_bias) before = before + *hidden.bias;
    const Value logits = output(tanh(before));
    loss = nn::cross_entropy(logits, targets);
    if (fault == Fault::no_mean) loss = loss * (batch_size - 1.0) / batch_size;
    entry.result(loss);
    for (const auto& [parameter, gradient] : tape.gradients(loss)) {
      entry.result(gradient);
      entry.carry(parameter, parameter - rate * gradient);
    }
    network.emplace(tape.seal());
    plan.emplace(network->lower(entry));
    Random random(5);
    for (std::int64_t i = 0; i < batch_size * 3; ++i) {
      letters.push_back(static_cast<std::int32_t>(random.below(27)));
    }
    for (std::int64_t i = 0; i < batch_size; ++i) {
      names.push_back(static_cast<std::int32_t>(random.below(27)));
    }
    if (fault == Fault::wrong_letter) letters[10] = (letters[10] + 1) % 27;
    if (fault == Fault::wrong_target) names[10] = (names[10] + 1) % 27;
    parameters = network->parameters();
    if (fault == Fault::one_weight) {
      const Symbol symbol = parameters.items()[1].symbol;
      const Tensor old = parameters.of(symbol);
      std::vector<float> elements = old.to_vector<float>();
      elements[17] *= 1.001f;
      parameters.set(symbol, Tensor(old.shape(), elements));
    }
  }

  std::vector<Feed> feeds() const {
    return {{contexts, letters}, {targets, names}, {rate, 0.1f}};
  }
  std::vector<Envelope> envelopes() const {
    return topos::envelopes(*network, *plan, parameters, feeds());
  }
  /// What the native engine computes: results, then carries.
  std::vector<Tensor> run() const {
    Session session = native::open(*network, parameters);
    const Run run = session.step(*plan, feeds());
    std::vector<Tensor> result;
    for (const auto& each : entry.results()) {
      result.push_back(run.of(each.value));
    }
    for (const auto& each : entry.carries()) {
      result.push_back(session.state(each.input));
    }
    return result;
  }

  Value contexts, targets, rate, loss;
  Entry entry;
  std::optional<Network> network;
  std::optional<Plan> plan;
  Parameters parameters;
  std::vector<std::int32_t> letters, names;
};

double greatest(const Tensor& x) {
  double result = 0;
  for (double element : cast(x, f64).to_vector<double>()) {
    result = std::max(result, std::fabs(element));
  }
  return result;
}

TEST(MakemoreEnvelope, HoldsTheNativeEngineExactly) {
  const Mlp mlp(Fault::none);
  const auto expected = mlp.envelopes();
  const auto found = mlp.run();
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(bits_equal(expected[i].value, found[i])) << i;
  }
}

TEST(MakemoreEnvelope, HoldsWhateverRoundsOtherwise) {
  const Mlp mlp(Fault::none);
  const auto expected = mlp.envelopes();
  double ratio = 0;
  double least = inf;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto found = perturbed(*mlp.network, *mlp.plan, mlp.feeds(), seed);
    double run = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Difference d = compare(expected[i], found[i]);
      EXPECT_TRUE(d.inside) << "value " << i << " is " << d.text();
      EXPECT_EQ(d.undecided, 0) << i;
      run = std::max(run, d.ratio);
    }
    ratio = std::max(ratio, run);
    least = std::min(least, run);
  }
  std::printf("the greatest ratio is %.3f\n", ratio);
  EXPECT_GT(least, 0) << "nothing was perturbed";
}

TEST(MakemoreEnvelope, IsNarrow) {
  const Mlp mlp(Fault::none);
  const auto envelopes = mlp.envelopes();
  const std::size_t results = mlp.entry.results().size();
  for (std::size_t i = 0; i < results; ++i) {
    const double relative =
        greatest(envelopes[i].bound) / greatest(envelopes[i].value);
    std::printf("%s: %.3g of the greatest\n", i == 0 ? "loss" : "gradient",
                relative);
    EXPECT_LT(relative, i == 0 ? 5e-5 : 1e-3) << i;
  }
}

class WrongMlp : public testing::TestWithParam<Fault> {};

TEST_P(WrongMlp, IsOutside) {
  const auto expected = Mlp(Fault::none).envelopes();
  const auto found = Mlp(GetParam()).run();
  int outside = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    outside += !compare(expected[i], found[i]).inside;
  }
  // The loss or a gradient, and a parameter after the step.
  EXPECT_GE(outside, 2);
}

INSTANTIATE_TEST_SUITE_P(Faults, WrongMlp,
                         testing::Values(Fault::no_bias, Fault::transposed,
                                         Fault::wrong_letter,
                                         Fault::wrong_target, Fault::no_mean,
                                         Fault::one_weight));

TEST(Envelopes, RefuseWhatDoesNotFit) {
  const Mlp mlp(Fault::none);
  const Mlp other(Fault::none);
  EXPECT_THROW(
      envelopes(*mlp.network, *other.plan, mlp.parameters, mlp.feeds()),
      UsageError);
  EXPECT_THROW(envelopes(*mlp.network, *mlp.plan, mlp.parameters, {}),
               UsageError);
}

}  // namespace
}  // namespace topos::test
