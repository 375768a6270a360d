#include "runtime/xla_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "topos/error.h"

namespace topos::runtime {

using engines::FeedTable;
using engines::LoweredPlan;
using engines::PlacementState;
using engines::Program;
using engines::SessionState;

namespace {

/// The part of a split argument that one of `devices` holds.
Type part_of(const Type& type, int devices) {
  return {type.dtype, type.shape.with(0, type.shape[0] / devices)};
}

Signature signature_of(const StablehloModule& module, int devices) {
  Signature result;
  for (const EmittedArgument& argument : module.arguments) {
    result.arguments.push_back(
        argument.is_split ? part_of(argument.type, devices) : argument.type);
    result.donated_to.push_back(argument.donated_to);
  }
  for (const EmittedResult& value : module.results) {
    result.results.push_back(value.type);
  }
  return result;
}

}  // namespace

// ---- XlaPlacement ---------------------------------------------------------

XlaPlacement::XlaPlacement(const engines::EngineImplementation& engine,
                           const Network& network, const Parameters& parameters,
                           std::shared_ptr<Client> client,
                           CompileOptions options)
    : PlacementState(engine, network, parameters),
      client_(std::move(client)),
      options_(std::move(options)) {}

DeviceBuffers XlaPlacement::put(const Type& type,
                                const std::byte* elements) const {
  DeviceBuffers result;
  for (int device = 0; device < devices(); ++device) {
    result.push_back(client_->put(type, elements, device));
  }
  return result;
}

const DeviceBuffers& XlaPlacement::parameter(std::uint32_t node) const {
  const std::lock_guard lock(parameters_mutex_);
  const auto found = parameters_.find(node);
  if (found != parameters_.end()) return found->second;
  const Leaf& leaf = leaves().at(node);
  return parameters_.emplace(node, put(leaf.type, leaf.payload.data()))
      .first->second;
}

std::shared_ptr<const CompiledPlan> XlaPlacement::compiled(
    const std::shared_ptr<const LoweredPlan>& plan,
    const std::vector<Symbol>& held) const {
  std::shared_ptr<CompiledPlan> result;
  {
    const std::lock_guard lock(plans_mutex_);
    std::erase_if(plans_,
                  [](const auto& item) { return item.second.expired(); });
    std::weak_ptr<CompiledPlan>& known = plans_[{plan.get(), held}];
    result = known.lock();
    if (result == nullptr) {
      result = std::make_shared<CompiledPlan>(plan);
      known = result;
    }
  }
  const std::lock_guard lock(result->compiling);
  if (result->executable == nullptr) compile(*result, held);
  return result;
}

void XlaPlacement::compile(CompiledPlan& plan,
                           const std::vector<Symbol>& held) const {
  EmitOptions emit;
  emit.partitions = devices();
  emit.check_indices = true;
  emit.held = held;
  plan.module = emit_stablehlo(Plan(plan.plan), emit);
  CompileOptions options = options_;
  if (plan.plan->narrow) {
    // Each 16-bit result is rounded, not only the last of several.
    options.overrides.try_emplace("xla_allow_excess_precision", false);
  }
  auto executable = client_->compile(
      plan.module.text, signature_of(plan.module, devices()), options);
  std::vector<DeviceBuffers> constants;
  for (const EmittedArgument& argument : plan.module.arguments) {
    if (argument.payload) {
      const Tensor elements = argument.payload->contiguous();
      constants.push_back(put(argument.type, elements.data()));
    }
  }
  plan.constants = std::move(constants);
  plan.executable = std::move(executable);
}

// ---- The session ----------------------------------------------------------

namespace {

class XlaSession final : public SessionState {
 public:
  XlaSession(const std::shared_ptr<const PlacementState>& placement,
             SessionOptions options)
      : SessionState(placement, options),
        xla_(static_cast<const XlaPlacement&>(*placement)) {}

 private:
  struct OnDevice final : Bound {
    using Bound::Bound;

    std::shared_ptr<const CompiledPlan> compiled;
    /// The inputs that it takes from the session's state, and how many leaves
    /// had one when they were looked for.
    std::vector<Symbol> held;
    std::size_t owned_then = 0;
    /// [device][argument] of the next step; feeds are filled in.
    std::vector<Buffer*> arguments;
    /// Of the last step: [device][result]; those of carries have moved on.
    std::vector<std::unique_ptr<Buffer>> results;
    /// The results that were read, in this process's memory.
    std::vector<std::vector<std::byte>> read;
    std::vector<bool> is_read;

    /// Frees what the last step left, here and on the devices.
    void forget() {
      results.clear();
      for (auto& elements : read) elements = {};
    }
  };

  std::unique_ptr<Bound> bind(
      std::shared_ptr<const LoweredPlan> plan) override {
    auto bound = std::make_unique<OnDevice>(plan);
    const std::size_t results = plan->recorded.results.size();
    bound->read.resize(results);
    bound->is_read.resize(results);
    return bound;
  }

  /// An input that has become the session's since makes it another program.
  void prepare(Bound& base) override {
    OnDevice& bound = static_cast<OnDevice&>(base);
    const bool is_compiled = bound.compiled != nullptr;
    if (is_compiled && bound.owned_then == owned_count()) return;
    auto held = held_inputs(bound);
    if (!is_compiled || held != bound.held) {
      bound.compiled = xla_.compiled(bound.plan, held);
      bound.held = std::move(held);
    }
    bound.owned_then = owned_count();
  }

  /// The inputs in the state that this plan does not carry: they were set, or
  /// another plan carries them. Only those to which it makes a difference.
  std::vector<Symbol> held_inputs(OnDevice& bound) const {
    std::vector<Symbol> result;
    const auto& inputs = bound.feeds.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool has_indices =
          std::ranges::find(bound.feeds.checks(), i,
                            &FeedTable::IndexCheck::input) !=
          bound.feeds.checks().end();
      if (owns(inputs[i].symbol) && !is_carried(*bound.plan, inputs[i].node) &&
          (has_indices || xla_.devices() > 1)) {
        result.push_back({placement().tape(), inputs[i].symbol});
      }
    }
    return result;
  }

  static bool is_carried(const LoweredPlan& plan, std::uint32_t input) {
    return std::ranges::find(plan.recorded.carries, input,
                             &Program::Carry::input) !=
           plan.recorded.carries.end();
  }

  /// The feeds of a step on the devices; they end with the step.
  DeviceBuffers borrow(const EmittedArgument& argument,
                       const std::byte* elements) const {
    DeviceBuffers result;
    const int devices = xla_.devices();
    const Type type =
        argument.is_split ? part_of(argument.type, devices) : argument.type;
    const std::size_t step = argument.is_split ? type.size_bytes() : 0;
    for (int device = 0; device < devices; ++device) {
      result.push_back(xla_.client().borrow(
          type, elements + static_cast<std::size_t>(device) * step, device));
    }
    return result;
  }

  void run(Bound& base) override {
    OnDevice& bound = static_cast<OnDevice&>(base);
    const StablehloModule& module = bound.compiled->module;
    const Program& program = bound.plan->recorded;
    for (const Program::Carry& carry : program.carries) {
      own(program.origin[carry.input]);
    }
    // The run before is over, whichever plan's it was.
    if (last_run_ != nullptr && last_run_ != &bound) last_run_->forget();
    last_run_ = &bound;
    bound.results.clear();
    std::fill(bound.is_read.begin(), bound.is_read.end(), false);

    const auto devices = static_cast<std::size_t>(xla_.devices());
    const std::size_t count = module.arguments.size();
    bound.arguments.resize(devices * count);
    std::vector<DeviceBuffers> fed;
    auto constant = bound.compiled->constants.begin();
    for (std::size_t i = 0; i < count; ++i) {
      const EmittedArgument& argument = module.arguments[i];
      const std::uint32_t node = argument.symbol.node;
      const DeviceBuffers* from = nullptr;
      if (argument.kind == EmittedArgument::Kind::constant) {
        from = &*constant++;
      } else if (owns(node)) {
        from = &state_.at(node);
      } else if (argument.kind == EmittedArgument::Kind::parameter) {
        from = &xla_.parameter(node);
      } else {
        fed.push_back(borrow(argument, bound.feeds.find(node)->data));
        from = &fed.back();
      }
      for (std::size_t d = 0; d < devices; ++d) {
        bound.arguments[d * count + i] = (*from)[d].get();
      }
    }
    bound.results = bound.compiled->executable->execute(bound.arguments);
    take_carries(bound);
    report_faults(bound);
  }

  /// \throws IndexError  of the first operation that met one out of range
  void report_faults(const OnDevice& bound) const {
    const StablehloModule& module = bound.compiled->module;
    const std::size_t checks = module.index_checks.size();
    if (checks == 0) return;
    std::vector<std::int64_t> faults(2 * checks);
    const std::size_t last = module.results.size() - 1;
    xla_.client().read(*bound.results[last], module.results[last].type,
                       reinterpret_cast<std::byte*>(faults.data()));
    for (std::size_t i = 0; i < checks; ++i) {
      if (faults[2 * i] < 0) continue;
      const EmittedIndexCheck& check = module.index_checks[i];
      throw IndexError(fmt::format(
          "{}: the index {} at position {} is not in [0, {})", check.origin,
          faults[2 * i + 1], faults[2 * i], check.extent));
    }
  }

  /// What became of the carries is the session's state now.
  void take_carries(OnDevice& bound) {
    const auto& results = bound.compiled->module.results;
    const std::size_t count = results.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!results[i].is_carry) continue;
      DeviceBuffers& state = state_.at(results[i].symbol.node);
      for (std::size_t d = 0; d < state.size(); ++d) {
        state[d] = std::move(bound.results[d * count + i]);
      }
    }
  }

  Elements result(Bound& base, std::size_t index) override {
    OnDevice& bound = static_cast<OnDevice&>(base);
    const Type& type = bound.compiled->module.results[index].type;
    std::vector<std::byte>& elements = bound.read[index];
    if (!bound.is_read[index]) {
      elements.resize(std::max<std::size_t>(type.size_bytes(), 1));
      xla_.client().read(*bound.results[index], type, elements.data());
      bound.is_read[index] = true;
    }
    return {elements.data(), Layout::row_major(type.shape)};
  }

  std::string describe(Bound& base) override {
    const CompiledPlan& compiled = *static_cast<OnDevice&>(base).compiled;
    std::string result = fmt::format(
        "{}: {} nodes as {} operations, {} bytes of StableHLO, on {}\n",
        placement().engine().name(), compiled.plan->simplified.size(),
        compiled.module.operation_count, compiled.module.text.size(),
        xla_.client().description());
    if (const auto memory = compiled.executable->memory()) {
      result += fmt::format(
          "arguments {} bytes, results {} bytes, of which {} in donated "
          "arguments, temporary {} bytes\n",
          memory->argument_bytes, memory->result_bytes, memory->alias_bytes,
          memory->temporary_bytes);
    }
    return result + compiled.module.text;
  }

  Session::Report report(Bound& base) override {
    const CompiledPlan& compiled = *static_cast<OnDevice&>(base).compiled;
    Session::Report result;
    result.nodes = compiled.plan->simplified.size();
    result.groups = compiled.module.operation_count;
    if (const auto memory = compiled.executable->memory()) {
      result.peak_bytes = static_cast<std::size_t>(memory->temporary_bytes);
      result.allocated_bytes = result.peak_bytes;
    }
    result.threads = 0;
    return result;
  }

  void store(std::uint32_t node, const Type& type,
             const std::byte* elements) override {
    std::vector<std::byte> zeros;
    if (elements == nullptr) {
      zeros.resize(type.size_bytes());
      elements = zeros.data();
    }
    state_[node] = xla_.put(type, elements);
  }

  void load(std::uint32_t node, const Type& type,
            std::byte* elements) override {
    if (type.size_bytes() > 0) {
      xla_.client().read(*state_.at(node).front(), type, elements);
    }
  }

  const std::byte* address(std::uint32_t) override { return nullptr; }

  const XlaPlacement& xla_;
  std::unordered_map<std::uint32_t, DeviceBuffers> state_;
  OnDevice* last_run_ = nullptr;
};

}  // namespace

std::shared_ptr<SessionState> open_xla_session(
    const std::shared_ptr<const PlacementState>& placement,
    SessionOptions options) {
  return std::make_shared<XlaSession>(placement, options);
}

}  // namespace topos::runtime
