// The native session: binds plans to memory and steps them.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/native_program.h"
#include "engine/session_state.h"
#include "kernels/targets.h"
#include "kernels/thread_pool.h"
#include "tensor/memory.h"
#include "topos/error.h"

namespace topos::engines {

namespace {

using graph::Kind;

/// One piece of memory for all plans of a session, as large as the largest
/// needs.
class Arena {
 public:
  std::byte* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

  /// Grows. What it held stays where it was until `forget`: the results of the
  /// last run may lie there.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    Memory larger = allocate_memory(bytes);
    if (larger == nullptr) {
      throw RuntimeError(
          fmt::format("no memory for the plan's arena of {} bytes", bytes));
    }
    before_.push_back(std::move(data_));
    data_ = std::move(larger);
    bytes_ = bytes;
  }
  void forget() noexcept { before_.clear(); }

 private:
  Memory data_;
  std::vector<Memory> before_;
  std::size_t bytes_ = 0;
};

class NativeSession final : public HostSessionState {
 public:
  NativeSession(std::shared_ptr<const PlacementState> placement,
                SessionOptions options)
      : HostSessionState(std::move(placement), options) {
    threads_ = options.threads > 0 ? options.threads
                                   : kernels::ThreadPool::instance().size();
  }

 private:
  /// A packed operand that stays, for all products that read it alike.
  struct KeptOperand {
    std::uint32_t symbol;  // whose elements
    Layout layout;
    DType dtype;
    Arena packed = {};
    std::uint64_t version = UINT64_MAX;  // of the elements that are packed
  };

  struct Compiled final : Bound {
    Compiled(std::shared_ptr<const LoweredPlan> lowered, int threads)
        : Bound(lowered), native(std::move(lowered), threads) {}

    NativeProgram native;
    Addresses addresses;
    /// Leaves that have to be pointed to at each step.
    struct Fed {
      std::uint32_t node;
      std::size_t input;  // in the feed table
    };
    std::vector<Fed> fed;
    std::vector<Tensor> constants;
    std::vector<std::byte*> carried;  // by carry
    /// By kept product: its operand in the session.
    std::vector<KeptOperand*> operands;
    std::vector<NativeProgram::Kept> kept;
    const std::byte* arena = nullptr;
    std::size_t owned = SIZE_MAX;
    std::optional<ProfileRecorder> recorder;
  };

  std::unique_ptr<Bound> bind(
      std::shared_ptr<const LoweredPlan> plan) override {
    auto bound = std::make_unique<Compiled>(std::move(plan), threads_);
    const Program& program = bound->native.program();
    bound->addresses.assign(program.size(), nullptr);
    bound->carried.resize(program.carries.size());
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const graph::Node& node = program.list.nodes[i];
      if (node.kind == Kind::constant) {
        bound->constants.push_back(program.list.payloads.at(i).contiguous());
        // Never written: no group's result lies at a leaf.
        bound->addresses[i] =
            const_cast<std::byte*>(bound->constants.back().data());
      } else if (node.kind == Kind::input) {
        auto& inputs = bound->feeds.inputs();
        const auto* found = bound->feeds.find(program.origin[i]);
        bound->fed.push_back(
            {i, static_cast<std::size_t>(found - inputs.data())});
      }
    }
    arena_.reserve(bound->native.arena_bytes());
    if (options().profile) {
      bound->recorder.emplace(bound->native.steps().size(),
                              bound->native.workers());
    }
    for (const Product* product : bound->native.kept()) {
      bound->operands.push_back(
          &kept_operand(*product, program.origin[product->right()]));
      bound->kept.push_back({bound->operands.back()->packed.data(), false});
    }
    return bound;
  }

  KeptOperand& kept_operand(const Product& product, std::uint32_t symbol) {
    for (const auto& operand : kept_) {
      if (operand->symbol == symbol && operand->dtype == product.dtype() &&
          operand->layout == product.right_layout()) {
        return *operand;
      }
    }
    kept_.push_back(std::make_unique<KeptOperand>(
        KeptOperand{symbol, product.right_layout(), product.dtype()}));
    kept_.back()->packed.reserve(product.ahead_bytes());
    return *kept_.back();
  }

  /// Which packed operands are of the elements that there are now. Of products
  /// that share one, the first packs it.
  void check_kept(Compiled& bound) {
    for (std::size_t i = 0; i < bound.kept.size(); ++i) {
      KeptOperand& operand = *bound.operands[i];
      const std::uint64_t now = version(operand.symbol);
      bound.kept[i].ready = operand.version == now;
      operand.version = now;
    }
  }

  /// Points to parameters, state and arena; again only when one has moved.
  void find_addresses(Compiled& bound) {
    const Program& program = bound.native.program();
    for (const Program::Carry& carry : program.carries) {
      own(program.origin[carry.input]);
    }
    if (bound.arena == arena_.data() && bound.owned == owned_count()) return;
    bound.arena = arena_.data();
    bound.owned = owned_count();
    for (std::uint32_t i = 0; i < program.carries.size(); ++i) {
      bound.carried[i] = state_data(program.origin[program.carries[i].input]);
    }
    for (std::uint32_t i = 0; i < program.size(); ++i) {
      const NativeProgram::Place& place = bound.native.places()[i];
      if (place.kind == NativeProgram::Place::Kind::block) {
        bound.addresses[i] =
            arena_.data() + bound.native.blocks()[place.index].offset;
      } else if (place.kind == NativeProgram::Place::Kind::carry) {
        bound.addresses[i] = bound.carried[place.index];
      } else if (program.list.nodes[i].kind == Kind::parameter) {
        bound.addresses[i] =
            const_cast<std::byte*>(parameter(program.origin[i]));
      }
    }
  }

  void run(Bound& base) override {
    Compiled& bound = static_cast<Compiled&>(base);
    arena_.forget();
    find_addresses(bound);
    for (const Compiled::Fed& fed : bound.fed) {
      bound.addresses[fed.node] =
          const_cast<std::byte*>(bound.feeds.inputs()[fed.input].data);
    }
    IndexFault fault;
    ProfileRecorder* const recorder =
        bound.recorder ? &*bound.recorder : nullptr;
    if (recorder != nullptr) recorder->begin_step();
    for (const Program::Carry& carry : bound.native.program().carries) {
      note_written(bound.native.program().origin[carry.input]);
    }
    check_kept(bound);
    bound.native.run(bound.addresses, arena_.data(), bound.kept, fault,
                     recorder);
    for (const NativeProgram::Copy& copy : bound.native.commits()) {
      const std::byte* from =
          copy.block ? arena_.data() + bound.native.blocks()[*copy.block].offset
                     : bound.addresses[copy.from.root];
      gather_elements(from, copy.from.layout, size_bytes(copy.type.dtype),
                      bound.carried[copy.to]);
    }
    if (recorder != nullptr) recorder->end_step();
    if (fault.found) {
      throw IndexError(
          fmt::format("{}: the index {} at position {} is not in [0, {})",
                      bound.native.program().list.origin(fault.node),
                      fault.index, fault.position, fault.extent));
    }
  }

  Elements result(Bound& base, std::size_t index) override {
    const Compiled& bound = static_cast<Compiled&>(base);
    const NativeProgram::ResultPlace& place = bound.native.results()[index];
    if (place.block) {
      return {bound.arena + bound.native.blocks()[*place.block].offset,
              place.access.layout};
    }
    return {bound.addresses[place.access.root], place.access.layout};
  }

  std::string describe(Bound& bound) override {
    return fmt::format("{}target {}\n",
                       static_cast<Compiled&>(bound).native.describe(),
                       kernels::current_target());
  }

  Session::Report report(Bound& base) override {
    const NativeProgram& native = static_cast<Compiled&>(base).native;
    Session::Report result;
    result.nodes = native.program().size();
    result.groups = native.steps().size();
    result.reference_nodes = native.reference_nodes();
    result.peak_bytes = native.arena_bytes();
    result.allocated_bytes = arena_.bytes();
    for (const auto& operand : kept_) {
      result.allocated_bytes += operand->packed.bytes();
    }
    result.threads = threads_;
    return result;
  }

  Profile profile(Bound& base) override {
    const Compiled& bound = static_cast<Compiled&>(base);
    return bound.recorder->profile(*bound.plan, bound.native.workers());
  }

  int threads_;
  Arena arena_;
  std::vector<std::unique_ptr<KeptOperand>> kept_;
};

class Native final : public EngineImplementation {
 public:
  std::string_view name() const override { return "native"; }
  std::string description() const override {
    if (const std::string& error = kernels::target_error(); !error.empty()) {
      throw RuntimeError(error);
    }
    return fmt::format("{}, up to {} threads", kernels::current_target(),
                       kernels::ThreadPool::instance().size());
  }
  std::shared_ptr<SessionState> open(
      std::shared_ptr<const PlacementState> placement,
      SessionOptions options) const override {
    if (const std::string& error = kernels::target_error(); !error.empty()) {
      throw UsageError(error);
    }
    return std::make_shared<NativeSession>(std::move(placement), options);
  }
};

}  // namespace

}  // namespace topos::engines

namespace topos {

Engine native::engine() {
  static const engines::Native instance;
  return Engine(instance);
}

}  // namespace topos
