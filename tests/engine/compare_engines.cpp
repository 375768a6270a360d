#include <algorithm>
#include <sstream>

#include "engine/lowered_plan.h"
#include "engine/random_network.h"

namespace topos::test {

namespace {

constexpr int steps = 3;

/// All results, then all carried state, of each step.
struct Trace {
  std::vector<Tensor> values;
  std::vector<std::string> what;
};

Trace trace(const RandomNetwork& random, Session session, const Plan& plan) {
  Trace result;
  for (const auto& [symbol, value] : random.initial) session.set(symbol, value);
  for (int step = 0; step < steps; ++step) {
    const OwnedFeeds feeds = random.feeds(step, random.fed);
    {
      const Run run = session.step(plan, feeds.feeds);
      for (Symbol symbol : random.results) {
        result.values.push_back(run.of(symbol));
        result.what.push_back("result %" + std::to_string(symbol.node) +
                              " of step " + std::to_string(step));
      }
    }
    for (Symbol symbol : random.carried) {
      result.values.push_back(session.state(symbol));
      result.what.push_back("state %" + std::to_string(symbol.node) +
                            " after step " + std::to_string(step));
    }
    // A fork goes on as its parent would have.
    if (step == 1 && random.seed % 4 == 0) session = session.fork();
  }
  return result;
}

/// The first node, in recording order, that differs when it is asked alone and
/// everything is fed.
std::string first_difference(const RandomNetwork& random, int threads) {
  const Plan whole = random.network.lower(random.entry);
  for (std::uint32_t node : whole.lowered()->recorded.origin) {
    const Symbol symbol{whole.lowered()->recorded.list.tape, node};
    const Plan plan = random.network.lower(Entry().result(symbol));
    std::vector<RandomNetwork::Fed> fed;
    for (const auto& input : random.inputs) {
      const auto& origin = plan.lowered()->recorded.origin;
      if (std::find(origin.begin(), origin.end(), input.symbol.node) !=
          origin.end()) {
        fed.push_back(input);
      }
    }
    for (int step = 0; step < steps; ++step) {
      const OwnedFeeds feeds = random.feeds(step, fed);
      Session plain = interpreter::open(random.network);
      Session native =
          native::open(random.network, SessionOptions{.threads = threads});
      const Tensor expected = plain.step(plan, feeds.feeds).of(symbol);
      const Tensor found = native.step(plan, feeds.feeds).of(symbol);
      if (!bits_equal(expected, found)) {
        return "alone, %" + std::to_string(node) + " differs first:\n" +
               expected.text() + " interpreter\n" + found.text() + " native\n" +
               plan.describe() + native.describe(plan);
      }
    }
  }
  return "no node differs when it is asked alone\n" + whole.describe() +
         native::open(random.network, SessionOptions{.threads = threads})
             .describe(whole);
}

}  // namespace

std::string compare_engines(const RandomNetwork& random,
                            const std::vector<int>& threads) {
  const Plan plan = random.network.lower(random.entry);
  const Trace expected = trace(random, interpreter::open(random.network), plan);
  for (int count : threads) {
    const Trace found = trace(
        random, native::open(random.network, SessionOptions{.threads = count}),
        plan);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      if (bits_equal(expected.values[i], found.values[i])) continue;
      std::ostringstream text;
      text << expected.what[i] << " differs with " << count << " threads:\n"
           << expected.values[i].text() << " interpreter\n"
           << found.values[i].text() << " native\n"
           << first_difference(random, count);
      return text.str();
    }
  }
  return {};
}

void count_operations(const Plan& plan, std::vector<std::int64_t>& counts) {
  counts.resize(ops::All::size);
  for (const graph::Node& node : plan.lowered()->recorded.list.nodes) {
    if (node.kind == graph::Kind::operation) ++counts[node.op.index()];
  }
}

}  // namespace topos::test
