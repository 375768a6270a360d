#include "engine/generator.h"

#include <algorithm>

#include "engine/lowered_plan.h"

namespace topos::test {

void Generator::record(const std::function<Value()>& f) {
  push(f());
  if (chance(0.06)) push(f());
}

void Generator::call() {
  switch (below(26)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
      return elementwise();
    case 8:
      return chance(0.8) ? negations() : halves();
    case 9:
      return convert();
    case 10:
    case 11:
      return product();
    case 12:
    case 13:
      return reduce();
    case 14:
    case 15:
      return rows();
    case 16:
    case 17:
    case 18:
      return view();
    case 19:
      return join();
    case 20:
      return gathered();
    case 21:
      return scattered();
    case 22:
    case 23:
      return composite();
    case 24:
      return derivative();
    default:
      leaf(type());
  }
}

bool Generator::is_index(Value value) const {
  return std::any_of(inputs_.begin(), inputs_.end(), [&](const auto& input) {
    return input.symbol == value.symbol() && input.bound > 0;
  });
}

void Generator::choose_carries(Entry& entry) {
  const int wanted = below(5);
  std::set<Symbol> taken;
  const auto carry = [&](const Known& input, Value next) {
    if (is_index(input.value) || !taken.insert(input.value).second) return;
    entry.carry(input.value, next);
    carried_.push_back(input.value);
  };
  const std::vector<Known> leaves = leaves_;
  for (int i = 0; i < wanted && !leaves.empty(); ++i) {
    const Known& a = leaves[static_cast<std::size_t>(
        below(static_cast<std::int64_t>(leaves.size())))];
    const Known* b = nullptr;
    for (const Known& other : leaves) {
      if (other.type == a.type && other.value != a.value) b = &other;
    }
    switch (below(6)) {
      case 0:  // swapped
        if (b != nullptr) {
          carry(a, b->value);
          carry(*b, a.value);
          break;
        }
        [[fallthrough]];
      case 1:  // itself
        carry(a, a.value);
        break;
      case 2:  // one next value for two
        if (b != nullptr) {
          const Value next = value_of(a.type);
          carry(a, next);
          carry(*b, next);
          break;
        }
        [[fallthrough]];
      case 3:  // an update in place
        if (is_floating(a.type.dtype)) {
          carry(a, a.value * 0.5 + value_of(a.type));
          break;
        }
        [[fallthrough]];
      case 4:  // a view of itself
        if (a.type.shape.rank() > 0) {
          carry(a, reverse(a.value, 0));
          break;
        }
        [[fallthrough]];
      default:
        carry(a, value_of(a.type));
    }
  }
}

RandomNetwork Generator::finish() {
  Entry entry;
  choose_carries(entry);
  std::vector<Symbol> results;
  const int wanted = 1 + below(8);
  for (int i = 0; i < wanted; ++i) {
    const auto n = static_cast<std::int64_t>(pool_.size());
    const std::int64_t from =
        chance(0.5) ? n - std::min<std::int64_t>(8, n) : 0;
    const Known& asked =
        pool_[static_cast<std::size_t>(from + random_.below(n - from))];
    entry.result(asked.value);
    results.push_back(asked.value);
  }
  std::vector<std::pair<Symbol, Tensor>> initial;
  for (Symbol symbol : carried_) {
    if (chance(0.6)) {
      initial.emplace_back(
          symbol,
          restrided(random_elements(Value(symbol).type(), random_, wild_),
                    random_));
    }
  }
  // An input that the session holds, though no step carries it.
  std::set<Symbol> held(carried_.begin(), carried_.end());
  if (chance(0.1)) {
    for (const auto& input : inputs_) {
      if (input.bound == 0 && held.insert(input.symbol).second) {
        initial.emplace_back(input.symbol,
                             random_elements(input.type, random_, wild_));
        break;
      }
    }
  }
  Network network = tape_.seal();
  std::vector<RandomNetwork::Fed> fed;
  const Plan plan = network.lower(entry);
  const engines::Program& program = plan.lowered()->recorded;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    if (program.list.nodes[i].kind != graph::Kind::input) continue;
    const Symbol symbol{program.list.tape, program.origin[i]};
    if (held.count(symbol) != 0) continue;
    for (const auto& input : inputs_) {
      if (input.symbol == symbol) fed.push_back(input);
    }
  }
  return {seed_,
          std::move(network),
          std::move(entry),
          std::move(results),
          std::move(carried_),
          std::move(initial),
          std::move(fed),
          std::move(inputs_),
          wild_};
}

}  // namespace topos::test
