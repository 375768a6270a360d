#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/session_state.h"
#include "runtime/device_client.h"
#include "topos/emit.h"

/// \file
/// Sessions over whoever runs StableHLO: a plan is emitted and compiled when a
/// session of a placement steps it first, and stepped on buffers that stay.

namespace topos::runtime {

/// One tensor on each device: the whole, or a part of it.
using DeviceBuffers = std::vector<std::unique_ptr<Buffer>>;

/// A plan compiled for a client's devices.
struct CompiledPlan {
  explicit CompiledPlan(std::shared_ptr<const engines::LoweredPlan> what)
      : plan(std::move(what)) {}

  /// Kept, so that its address is nobody else's.
  std::shared_ptr<const engines::LoweredPlan> plan;
  StablehloModule module;
  /// Of the arguments that are constants.
  std::vector<DeviceBuffers> constants;
  /// Null until it is compiled; that one thread does, the others wait.
  std::unique_ptr<Executable> executable;
  std::mutex compiling;
};

/// Parameters on the devices, and the plans that were compiled for them.
class XlaPlacement final : public engines::PlacementState {
 public:
  XlaPlacement(const engines::EngineImplementation& engine,
               const Network& network, const Parameters& parameters,
               std::shared_ptr<Client> client, CompileOptions options);

  Client& client() const noexcept { return *client_; }
  int devices() const noexcept { return options_.partitions; }

  /// A parameter on all devices; crosses when first asked for, since those
  /// that are only carried belong to the sessions.
  const DeviceBuffers& parameter(std::uint32_t node) const;

  /// Compiles the plan unless somebody has it.
  /// \param held  of its inputs, those that the session has on the devices:
  ///              EmitOptions::held
  std::shared_ptr<const CompiledPlan> compiled(
      const std::shared_ptr<const engines::LoweredPlan>& plan,
      const std::vector<Symbol>& held) const;

  DeviceBuffers put(const Type& type, const std::byte* elements) const;

 private:
  using PlanKey = std::pair<const engines::LoweredPlan*, std::vector<Symbol>>;

  void compile(CompiledPlan& plan, const std::vector<Symbol>& held) const;

  std::shared_ptr<Client> client_;
  CompileOptions options_;
  mutable std::mutex parameters_mutex_;
  mutable std::unordered_map<std::uint32_t, DeviceBuffers> parameters_;
  /// Not held while a plan is compiled: sessions go on with others.
  mutable std::mutex plans_mutex_;
  /// Plans belong to the sessions that step them, and go with the last one.
  mutable std::map<PlanKey, std::weak_ptr<CompiledPlan>> plans_;
};

/// \param placement  an XlaPlacement
std::shared_ptr<engines::SessionState> open_xla_session(
    const std::shared_ptr<const engines::PlacementState>& placement,
    SessionOptions options);

}  // namespace topos::runtime
