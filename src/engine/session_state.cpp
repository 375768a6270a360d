#include "engine/session_state.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "math/float_environment.h"
#include "tensor/visit.h"
#include "topos/error.h"

namespace topos::engines {

using graph::Kind;

PlacementState::PlacementState(const EngineImplementation& engine,
                               const Network& network,
                               const Parameters& parameters)
    : engine_(&engine), tape_(graph::graph_of(network).tape) {
  const graph::Graph& graph = graph::graph_of(network);
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (node.kind == Kind::parameter || node.kind == Kind::input) {
      leaves_[i] = {node.kind, node.type, std::string(graph.name_of(i)), {}};
    }
  }
  std::set<std::uint32_t> filled;
  for (const Parameters::Item& item : parameters.items()) {
    const auto found = leaves_.find(item.symbol.node);
    if (item.symbol.tape != tape_ || found == leaves_.end() ||
        found->second.kind != Kind::parameter) {
      throw UsageError(
          fmt::format("parameter \"{}\" is not of this network", item.name));
    }
    if (!item.payload) {
      throw UsageError(
          fmt::format("parameter \"{}\" ({}) has no payload yet: fill it with "
                      "Parameters::set or from a file",
                      item.name, item.type.text()));
    }
    const auto text = [&] {
      return fmt::format("parameter \"{}\" is {}, but is given {}", item.name,
                         found->second.type.text(),
                         item.payload->type().text());
    };
    if (item.payload->dtype() != found->second.type.dtype) {
      throw DTypeError(text());
    }
    if (item.payload->shape() != found->second.type.shape) {
      throw ShapeError(text());
    }
    if (!filled.insert(found->first).second) {
      throw UsageError(
          fmt::format("parameter \"{}\" is given twice", item.name));
    }
    found->second.payload = item.payload->contiguous();
  }
  std::size_t wanted = 0;
  for (const auto& [node, leaf] : leaves_)
    wanted += leaf.kind == Kind::parameter;
  if (filled.size() != wanted) {
    throw UsageError(
        fmt::format("{} parameters are given, but the network has {}",
                    filled.size(), wanted));
  }
}

std::shared_ptr<const PlacementState> EngineImplementation::place(
    const Network& network, const Parameters& parameters) const {
  return std::make_shared<PlacementState>(*this, network, parameters);
}

class SessionState::Turn {
 public:
  explicit Turn(SessionState& session) : session_(session) {
    if (session_.busy_.test_and_set(std::memory_order_acquire)) {
      throw UsageError(
          "another thread is using this session: one thread steps a session at "
          "a time; open one for each thread");
    }
  }
  ~Turn() { session_.busy_.clear(std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  SessionState& session_;
};

void SessionState::own(std::uint32_t node) {
  if (owns(node)) return;
  fill(node);
  owned_.insert(node);
}

void SessionState::fill(std::uint32_t node) {
  const PlacementState::Leaf& leaf = placement_->leaves().at(node);
  store(node, leaf.type,
        leaf.kind == Kind::parameter ? leaf.payload.data() : nullptr);
}

const PlacementState::Leaf& SessionState::leaf(Symbol symbol) const {
  const auto found = placement_->leaves().find(symbol.node);
  if (symbol.tape != placement_->tape() ||
      found == placement_->leaves().end()) {
    throw UsageError(fmt::format(
        "%{} of tape {} is neither an input nor a parameter of this session's "
        "network (tape {})",
        symbol.node, symbol.tape, placement_->tape()));
  }
  return found->second;
}

void SessionState::expect_usable() const {
  if (failed_) {
    throw UsageError(
        "a step of this session failed, and its state is not defined: set or "
        "reset it");
  }
}

SessionState::Bound& SessionState::bound(const Plan& plan) {
  for (const auto& candidate : bound_) {
    if (candidate->plan == plan.lowered()) {
      prepare(*candidate);
      return *candidate;
    }
  }
  const Program& recorded = plan.lowered()->recorded;
  if (recorded.list.tape != placement_->tape()) {
    throw UsageError(fmt::format(
        "the plan is of tape {}, but this session's network is of tape {}",
        recorded.list.tape, placement_->tape()));
  }
  for (std::uint32_t i = 0; i < recorded.size(); ++i) {
    const graph::Node& node = recorded.list.nodes[i];
    if (node.kind != Kind::input && node.kind != Kind::parameter) continue;
    if (placement_->leaves().count(recorded.origin[i]) == 0) {
      throw UsageError(fmt::format(
          "the plan reads {}, which was recorded after this session's network "
          "was sealed",
          recorded.list.origin(i)));
    }
  }
  bound_.push_back(bind(plan.lowered()));
  prepare(*bound_.back());
  return *bound_.back();
}

void SessionState::find_carried(Bound& bound) {
  for (FeedTable::Input& input : bound.feeds.inputs()) {
    if (owns(input.symbol)) {
      input.carried = true;
      input.data = address(input.symbol);
    }
  }
  bound.seen_owned = owned_.size();
}

std::uint64_t SessionState::step(const Plan& plan, Feeds feeds) {
  const Turn turn(*this);
  expect_usable();
  const math::FloatEnvironment environment;
  Bound& current = bound(plan);
  // Feeds are checked before the plan's carries make state of their own.
  const bool is_new = current.seen_owned != owned_.size() || owned_.empty();
  if (is_new) find_carried(current);
  current.feeds.bind(feeds, [&](std::uint32_t node) {
    const auto found = placement_->leaves().find(node);
    return found == placement_->leaves().end()
               ? std::string_view()
               : std::string_view(found->second.name);
  });
  for (FeedTable::Input& input : current.feeds.inputs()) {
    if (input.carried && input.data == nullptr) {
      own(input.symbol);
      input.data = address(input.symbol);
    }
  }
  ++steps_;
  last_ = &current;
  try {
    run(current);
  } catch (...) {
    // Some carries may have been written in place.
    failed_ = true;
    last_ = nullptr;
    throw;
  }
  return steps_;
}

Tensor SessionState::state(Symbol symbol) {
  const Turn turn(*this);
  expect_usable();
  const PlacementState::Leaf& which = leaf(symbol);
  std::byte* data = nullptr;
  Tensor copy = Tensor::uninitialized(which.type, data);
  const std::size_t bytes = which.type.size_bytes();
  if (owns(symbol.node)) {
    load(symbol.node, which.type, data);
  } else if (which.kind == Kind::parameter && bytes > 0) {
    std::memcpy(data, which.payload.data(), bytes);
  } else if (bytes > 0) {
    std::memset(data, 0, bytes);
  }
  return copy;
}

void SessionState::set(Symbol symbol, const Tensor& value) {
  const Turn turn(*this);
  const PlacementState::Leaf& which = leaf(symbol);
  const auto text = [&] {
    return fmt::format("\"{}\" is {}, but is set to {}", which.name,
                       which.type.text(), value.type().text());
  };
  if (value.dtype() != which.type.dtype) throw DTypeError(text());
  if (value.shape() != which.type.shape) throw ShapeError(text());
  // What a failed step left is not defined: it is not kept beside the new
  // value.
  if (failed_) fill_all();
  store(symbol.node, which.type, value.contiguous().data());
  owned_.insert(symbol.node);
  ++steps_;
  failed_ = false;
}

void SessionState::fill_all() {
  for (std::uint32_t node : owned_) fill(node);
}

void SessionState::reset() {
  const Turn turn(*this);
  fill_all();
  ++steps_;
  failed_ = false;
}

std::shared_ptr<SessionState> SessionState::fork() {
  const Turn turn(*this);
  expect_usable();
  auto other = placement_->engine().open(placement_, options_);
  for (std::uint32_t node : owned_) {
    const Type& type = placement_->leaves().at(node).type;
    std::byte* data = nullptr;
    const Tensor copy = Tensor::uninitialized(type, data);
    load(node, type, data);
    other->store(node, type, copy.data());
    other->owned_.insert(node);
  }
  return other;
}

Parameters SessionState::parameters() {
  std::vector<Parameters::Item> items;
  for (const auto& [node, leaf] : placement_->leaves()) {
    if (leaf.kind != Kind::parameter) continue;
    const Symbol symbol{placement_->tape(), node};
    items.push_back({symbol, leaf.name, leaf.type, state(symbol)});
  }
  return Parameters(std::move(items));
}

std::string SessionState::describe(const Plan& plan) {
  const Turn turn(*this);
  return describe(bound(plan));
}

Session::Report SessionState::report(const Plan& plan) {
  const Turn turn(*this);
  return report(bound(plan));
}

Profile SessionState::profile(const Plan& plan) {
  const Turn turn(*this);
  if (!options_.profile) {
    throw UsageError(
        "this session takes no times: open it with SessionOptions::profile");
  }
  return profile(bound(plan));
}

Profile SessionState::profile(Bound&) {
  throw UsageError(
      fmt::format("the engine {} takes no times", placement_->engine().name()));
}

SessionState::Elements SessionState::elements(Symbol symbol, std::uint64_t step,
                                              Type& type) {
  if (step != steps_ || last_ == nullptr) {
    throw UsageError(
        "this run is over: the session was stepped, set or reset since, and "
        "its memory serves the next step");
  }
  const Program& recorded = last_->plan->recorded;
  for (std::size_t i = 0; i < recorded.results.size(); ++i) {
    const std::uint32_t node = recorded.results[i];
    if (symbol.tape == recorded.list.tape &&
        recorded.origin[node] == symbol.node) {
      type = recorded.list.nodes[node].type;
      return result(*last_, i);
    }
  }
  throw UsageError(fmt::format(
      "%{} of tape {} is not a result of this plan's entry: ask for it with "
      "Entry::result",
      symbol.node, symbol.tape));
}

Tensor SessionState::result(Symbol symbol, std::uint64_t step) {
  const Turn turn(*this);
  Type type;
  const Elements from = elements(symbol, step, type);
  std::byte* data = nullptr;
  Tensor copy = Tensor::uninitialized(type, data);
  gather_elements(from.base, from.layout, size_bytes(type.dtype), data);
  return copy;
}

double SessionState::scalar(Symbol symbol, std::uint64_t step) {
  const Turn turn(*this);
  Type type;
  const Elements from = elements(symbol, step, type);
  if (type.shape.element_count() != 1) {
    throw ShapeError(
        fmt::format("the only element is asked of {}", type.text()));
  }
  return visit_dtype(type.dtype, [&]<class T>() {
    return static_cast<double>(
        reinterpret_cast<const T*>(from.base)[from.layout.offset]);
  });
}

void SessionState::read(Symbol symbol, DType dtype, void* to, std::size_t count,
                        std::uint64_t step) {
  const Turn turn(*this);
  Type type;
  const Elements from = elements(symbol, step, type);
  const auto text = [&] {
    return fmt::format("the result is {}, but is read into {} elements of {}",
                       type.text(), count, name(dtype));
  };
  if (type.dtype != dtype) throw DTypeError(text());
  if (static_cast<std::uint64_t>(type.shape.element_count()) != count) {
    throw ShapeError(text());
  }
  gather_elements(from.base, from.layout, size_bytes(dtype),
                  static_cast<std::byte*>(to));
}

// ---- In this process's memory ---------------------------------------------

std::byte* HostSessionState::state_data(std::uint32_t node) {
  const auto found = slots_.find(node);
  return found == slots_.end() ? nullptr : found->second.data;
}

const std::byte* HostSessionState::parameter(std::uint32_t node) {
  if (const std::byte* own = state_data(node)) return own;
  return placement().leaves().at(node).payload.data();
}

std::uint64_t HostSessionState::version(std::uint32_t node) const {
  const auto found = slots_.find(node);
  return found == slots_.end() ? 0 : found->second.version;
}

void HostSessionState::note_written(std::uint32_t node) {
  ++slots_.at(node).version;
}

void HostSessionState::store(std::uint32_t node, const Type& type,
                             const std::byte* elements) {
  std::byte* data = state_data(node);
  if (data == nullptr) {
    const Tensor storage = Tensor::uninitialized(type, data);
    slots_.emplace(node, Slot{storage, data});
  }
  note_written(node);
  const std::size_t bytes = type.size_bytes();
  if (bytes == 0) return;
  if (elements != nullptr) {
    std::memcpy(data, elements, bytes);
  } else {
    std::memset(data, 0, bytes);
  }
}

void HostSessionState::load(std::uint32_t node, const Type& type,
                            std::byte* elements) {
  const std::size_t bytes = type.size_bytes();
  if (bytes > 0) std::memcpy(elements, state_data(node), bytes);
}

}  // namespace topos::engines
