#include "emit/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/lowered_plan.h"
#include "graph/recorded_row.h"
#include "ops/catalog.h"
#include "support/tensors.h"
#include "topos/error.h"

namespace topos::test {
namespace {

/// The operands with f32 for f64 and f64 for f32; none if nothing changes.
std::vector<Tensor> exchanged(std::vector<Tensor> operands) {
  bool any = false;
  for (Tensor& x : operands) {
    if (!is_floating(x.dtype())) continue;
    any = true;
    x = cast(x, x.dtype() == f32 ? f64 : f32);
  }
  return any ? operands : std::vector<Tensor>();
}

bool reads(const Plan& plan, Symbol leaf) {
  const auto& nodes = plan.lowered()->recorded.origin;
  return std::ranges::find(nodes, leaf.node) != nodes.end();
}

/// Whether an operation takes operands of these types.
template <class Op>
bool takes(const Op& op, const std::vector<Tensor>& operands) {
  std::vector<Type> types;
  for (const Tensor& x : operands) types.push_back(x.type());
  try {
    if constexpr (requires { op.infer(types); }) {
      op.infer(types);
    } else {
      op.check(types);
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

constexpr std::string_view names[] = {"value", "gradients",
                                      "second derivatives"};

template <class Op>
void append(const Op& op, std::string row, const std::vector<Tensor>& operands,
            std::vector<Example>& to) {
  Tape tape;
  std::vector<Value> inputs;
  std::vector<Value> floating;
  std::vector<Feed> feeds;
  for (const Tensor& x : operands) {
    const std::string name = "x" + std::to_string(inputs.size());
    inputs.push_back(tape.input(name, x.dtype(), x.shape()));
    feeds.emplace_back(inputs.back(), x);
    if (is_floating(x.dtype())) floating.push_back(inputs.back());
  }
  std::vector<std::vector<Value>> orders = {{record(op, tape, inputs)}};
  if (is_floating(orders[0][0].dtype()) && !floating.empty()) {
    while (orders.size() < std::size(names)) {
      std::vector<Value> gradients;
      for (const Value& y : std::vector<Value>(orders.back())) {
        const Value ones = full_like(y, y.type(), 1);
        for (Value g : tape.vjp(y, floating, ones)) gradients.push_back(g);
      }
      orders.push_back(gradients);
    }
  }
  const Network network = tape.seal();
  for (std::size_t order = 0; order < orders.size(); ++order) {
    Entry entry;
    for (Value y : orders[order]) entry.result(y);
    const Plan plan = network.lower(entry);
    std::vector<Feed> read;
    for (const Feed& feed : feeds) {
      if (reads(plan, feed.symbol)) read.push_back(feed);
    }
    to.push_back({std::string(Op::name),
                  fmt::format("{}, {}: {}", Op::name, row, names[order]),
                  network, plan, std::move(read)});
  }
}

}  // namespace

std::vector<Example> catalogue() {
  std::vector<Example> result;
  const auto all = [&]<class Op>() {
    for (const auto& row : Op::rows()) {
      if (!is_types(row.result) || !has_elements(row.operands)) continue;
      const std::string note(row.note);
      const std::vector<Tensor> operands = tensors(row.operands);
      append(row.op, note, operands, result);
      const std::vector<Tensor> others = exchanged(operands);
      if (!others.empty() && takes(row.op, others)) {
        append(row.op, note + " exchanged", others, result);
      }
    }
  };
  ops::All::for_each(all);
  ops::AllComposites::for_each(all);
  return result;
}

Example random_example(std::uint64_t seed,
                       const RandomNetworkOptions& options) {
  const RandomNetwork random = random_network(seed, options);
  const Plan plan = random.network.lower(random.entry);
  std::vector<RandomNetwork::Fed> fed;
  for (const auto& input : random.inputs) {
    if (reads(plan, input.symbol)) fed.push_back(input);
  }
  const OwnedFeeds owned = random.feeds(0, fed);
  std::vector<Feed> feeds;
  for (std::size_t i = 0; i < fed.size(); ++i) {
    feeds.emplace_back(fed[i].symbol, owned.storage[i]);
  }
  return {"random networks", fmt::format("seed {}", seed), random.network, plan,
          std::move(feeds)};
}

}  // namespace topos::test
