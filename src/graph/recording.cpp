#include "graph/recording.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "math/float_environment.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::graph {

namespace {

/// The live recordings by tape id. An id is never given twice, so a stale
/// Value cannot be mistaken for another tape's.
struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::uint32_t, Recording*> live;
  std::uint32_t next_id = 1;
};

Registry& registry() {
  // Never destroyed: tapes with static storage outlive it otherwise.
  static Registry* const instance = new Registry;
  return *instance;
}

}  // namespace

Recording::Recording() {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  if (all.next_id == std::numeric_limits<std::uint32_t>::max()) {
    throw RuntimeError("no tape ids are left in this process");
  }
  graph_.tape = all.next_id++;
  all.live.emplace(graph_.tape, this);
}

Recording::Recording(Graph graph) : graph_(std::move(graph)) {
  find_numbers();
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.live.emplace(graph_.tape, this);
}

Recording::~Recording() {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  all.live.erase(graph_.tape);
}

Recording* Recording::find(std::uint32_t tape) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.live.find(tape);
  return found == all.live.end() ? nullptr : found->second;
}

Recording& Recording::of(const Tape& tape) {
  if (tape.recording_ == nullptr) {
    throw UsageError("the tape is sealed or was moved from");
  }
  return *tape.recording_;
}

Recording& Recording::of(Value value) {
  const Symbol symbol = value.symbol();
  if (symbol.tape == 0) {
    throw UsageError("a Value that was never recorded is used");
  }
  Recording* recording = find(symbol.tape);
  if (recording == nullptr) {
    throw UsageError(fmt::format(
        "value %{} of tape {} is used after its tape was sealed or destroyed: "
        "record before the seal, or reopen the network with "
        "Tape(std::move(network))",
        symbol.node, symbol.tape));
  }
  if (symbol.node >= recording->graph_.size()) {
    throw UsageError(
        fmt::format("tape {} has no value %{}", symbol.tape, symbol.node));
  }
  return *recording;
}

std::uint32_t Recording::node(Value value) const {
  const Symbol symbol = value.symbol();
  if (symbol.tape != graph_.tape) {
    const Recording& other = of(value);
    throw UsageError(fmt::format(
        "value %{} ({}) is of tape {}, but this is tape {}: a value is used on "
        "the tape that recorded it",
        symbol.node, other.graph_.origin(symbol.node), symbol.tape,
        graph_.tape));
  }
  if (symbol.node >= graph_.size()) of(value);  // says what is wrong
  return symbol.node;
}

std::uint32_t Recording::append(Kind kind, const Type& type, Site site) {
  const std::uint32_t at = append(ops::Any(), type, {}, site);
  graph_.nodes[at].kind = kind;
  return at;
}

std::uint32_t Recording::append(const ops::Any& op, const Type& type,
                                std::span<const std::uint32_t> operands,
                                Site site) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (graph_.nodes.size() >= most ||
      operands.size() > most - graph_.operand_pool.size()) {
    throw RuntimeError("a tape holds at most 2^32 nodes");
  }
  type.size_bytes();  // refuses what no memory could hold
  const auto at = graph_.size();
  const auto first = static_cast<std::uint32_t>(graph_.operand_pool.size());
  graph_.operand_pool.insert(graph_.operand_pool.end(), operands.begin(),
                             operands.end());
  graph_.nodes.push_back({Kind::operation, op, first,
                          static_cast<std::uint32_t>(operands.size()), type,
                          site, Frame::outermost()});
  return at;
}

void Recording::set_name(std::uint32_t node, std::string name) {
  if (name.empty()) throw UsageError("a name is empty");
  const auto [at, is_new] = graph_.by_name.emplace(name, node);
  if (!is_new && at->second == node) return;
  if (!is_new) {
    throw UsageError(fmt::format("the name \"{}\" is taken by %{} ({})", name,
                                 at->second, graph_.origin(at->second)));
  }
  if (const auto old = graph_.names.find(node); old != graph_.names.end()) {
    graph_.by_name.erase(old->second);
  }
  graph_.names[node] = std::move(name);
}

void Recording::set_payload(std::uint32_t node, const Tensor& payload) {
  graph_.payloads.insert_or_assign(node, payload);
}

std::size_t Recording::NumberHash::operator()(
    const NumberKey& key) const noexcept {
  std::size_t hash =
      key.bits * 0x9E3779B97F4A7C15u + static_cast<std::size_t>(key.dtype);
  for (std::int64_t extent : key.shape) {
    hash = (hash ^ static_cast<std::size_t>(extent)) * 0xBF58476D1CE4E5B9u;
  }
  return hash ^ (hash >> 31);
}

std::uint32_t Recording::number(const Type& type, Number number, Site site) {
  const math::FloatEnvironment environment;
  const std::uint64_t bits = visit_dtype(type.dtype, [&]<class T>() {
    const T exact = number.as<T>();
    std::uint64_t result = 0;
    std::memcpy(&result, &exact, sizeof(T));
    return result;
  });
  const NumberKey key{type.dtype, bits, type.shape};
  if (const auto found = numbers_.find(key); found != numbers_.end()) {
    return found->second;
  }
  std::uint32_t at = 0;
  if (type.shape.rank() == 0) {
    at = append(Kind::constant, type, site);
    set_payload(at, Tensor::full(type, number));
  } else {
    type.size_bytes();  // before anything is recorded
    const std::uint32_t scalar = this->number({type.dtype, {}}, number, site);
    at = append(ops::Broadcast{type.shape, {}}, type, {{scalar}}, site);
  }
  numbers_.emplace(key, at);
  return at;
}

void Recording::find_numbers() {
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const auto* broadcast = node.kind == Kind::operation
                                ? std::get_if<ops::Broadcast>(&node.op)
                                : nullptr;
    std::uint32_t scalar = i;
    if (broadcast != nullptr) {
      if (!broadcast->axes.empty()) continue;
      scalar = graph_.operands(node)[0];
    }
    if (graph_.nodes[scalar].kind != Kind::constant ||
        graph_.nodes[scalar].type.shape.rank() != 0) {
      continue;
    }
    const Tensor& payload = graph_.payloads.at(scalar);
    std::uint64_t bits = 0;
    std::memcpy(&bits, payload.data(), size_bytes(payload.dtype()));
    numbers_.emplace(NumberKey{node.type.dtype, bits, node.type.shape}, i);
  }
}

void Recording::truncate(std::uint32_t size) {
  if (size >= graph_.size()) return;
  graph_.operand_pool.resize(graph_.nodes[size].first_operand);
  graph_.nodes.resize(size);
  std::erase_if(graph_.names, [&](const auto& x) { return x.first >= size; });
  std::erase_if(graph_.by_name,
                [&](const auto& x) { return x.second >= size; });
  std::erase_if(graph_.payloads,
                [&](const auto& x) { return x.first >= size; });
  std::erase_if(graph_.labels, [&](const Label& x) { return x.end > size; });
  std::erase_if(numbers_, [&](const auto& x) { return x.second >= size; });
}

void Recording::compact(std::uint32_t begin, std::span<Value> roots) {
  const std::uint32_t end = graph_.size();
  std::vector<bool> live(end - begin);
  for (const Value& root : roots) {
    if (root.symbol().node >= begin) live[root.symbol().node - begin] = true;
  }
  // A label's own derivative needs the operands that its formula may not.
  std::unordered_multimap<std::uint32_t, const Label*> rules;
  for (const Label& label : graph_.labels) {
    if (label.derivative && label.begin >= begin) {
      rules.emplace(label.result, &label);
    }
  }
  for (std::uint32_t i = end; i-- > begin;) {
    if (!live[i - begin]) continue;
    const auto need = [&](std::span<const std::uint32_t> operands) {
      for (std::uint32_t operand : operands) {
        if (operand >= begin) live[operand - begin] = true;
      }
    };
    need(graph_.operands(i));
    for (auto [at, last] = rules.equal_range(i); at != last; ++at) {
      need(at->second->operands);
    }
  }
  std::vector<std::uint32_t> moved(end - begin);
  const auto to = [&](std::uint32_t node) {
    return node < begin ? node : moved[node - begin];
  };
  std::uint32_t next = begin;
  std::uint32_t pool =
      begin < end ? graph_.nodes[begin].first_operand
                  : static_cast<std::uint32_t>(graph_.operand_pool.size());
  for (std::uint32_t i = begin; i < end; ++i) {
    moved[i - begin] = next;
    if (!live[i - begin]) continue;
    Node node = graph_.nodes[i];
    const std::uint32_t first = pool;
    for (std::uint32_t operand : graph_.operands(node)) {
      graph_.operand_pool[pool++] = to(operand);
    }
    node.first_operand = first;
    graph_.nodes[next++] = node;
  }
  graph_.operand_pool.resize(pool);
  graph_.nodes.resize(next);

  const auto dead = [&](std::uint32_t node) {
    return node >= begin && !live[node - begin];
  };
  std::erase_if(numbers_, [&](const auto& x) { return dead(x.second); });
  for (auto& [key, node] : numbers_) node = to(node);
  std::unordered_map<std::uint32_t, Tensor> payloads;
  for (auto& [node, payload] : graph_.payloads) {
    if (!dead(node)) payloads.emplace(to(node), std::move(payload));
  }
  graph_.payloads = std::move(payloads);
  std::erase_if(graph_.labels, [&](const Label& label) {
    return label.begin >= begin && dead(label.result);
  });
  for (Label& label : graph_.labels) {
    if (label.begin < begin) continue;
    for (std::uint32_t& operand : label.operands) operand = to(operand);
    label.result = to(label.result);
    label.end = label.end == end ? next : to(label.end);
    label.begin = to(label.begin);
  }
  for (Value& root : roots) root = value(to(root.symbol().node));
}

}  // namespace topos::graph
