// The native engine gives the interpreter's bits on random programs over all
// operations. One seed again:
//
//     TOPOS_NETWORK_SEED=1234 build/release/tests/topos_engine_test
//         --gtest_filter='RandomNetworks.*'   (on one line)

#include "engine/random_network.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/builds.h"
#include "ops/catalog.h"

namespace topos::test {
namespace {

struct Sizes {
  const char* name;
  RandomNetworkOptions options;
  std::vector<int> threads;
  std::uint64_t first;
  int count;
};

void PrintTo(const Sizes& run, std::ostream* out) { *out << run.name; }

class RandomNetworks : public testing::TestWithParam<Sizes> {};

std::optional<std::uint64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

TEST_P(RandomNetworks, HaveTheInterpretersBits) {
  const Sizes& run = GetParam();
  std::uint64_t first = run.first;
  auto count = static_cast<std::uint64_t>(
      from_environment("TOPOS_NETWORK_COUNT").value_or(run.count / slowness));
  if (const auto seed = from_environment("TOPOS_NETWORK_SEED")) {
    first = *seed;
    count = 1;
  }
  std::vector<std::int64_t> counts(ops::All::size);
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count && failed < 3; ++seed) {
    try {
      const RandomNetwork random = random_network(seed, run.options);
      count_operations(random.network.lower(random.entry), counts);
      const std::string difference = compare_engines(random, run.threads);
      if (difference.empty()) continue;
      ++failed;
      ADD_FAILURE() << "TOPOS_NETWORK_SEED=" << seed << " " << run.name << ": "
                    << difference;
    } catch (const std::exception& error) {
      ++failed;
      ADD_FAILURE() << "TOPOS_NETWORK_SEED=" << seed << " " << run.name
                    << " throws: " << error.what();
    }
  }
  std::int64_t all = 0;
  std::int64_t least = INT64_MAX;
  for (std::int64_t n : counts) {
    all += n;
    least = std::min(least, n);
  }
  RecordProperty("networks", static_cast<int>(count));
  RecordProperty("operations", static_cast<int>(all));
  std::printf("%d networks, %ld operations, the rarest %ld times\n",
              static_cast<int>(count), static_cast<long>(all),
              static_cast<long>(least));
  if (count < 500) return;
  std::size_t at = 0;
  ops::All::for_each([&]<class Op>() {
    EXPECT_GT(counts[at], 0) << Op::name << " never occurred";
    ++at;
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, RandomNetworks,
    testing::Values(Sizes{"small", {32, 64}, {1, 2}, 1, 6000},
                    Sizes{"long", {120, 150}, {1, 2}, 100000, 600},
                    Sizes{"medium", {40, 1500}, {1, 2, 7}, 200000, 600},
                    Sizes{"large", {40, 20000}, {1, 2, 7}, 300000, 300}),
    [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace topos::test
