#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
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
  /// Kept, so that its address is nobody else's.
  std::shared_ptr<const engines::LoweredPlan> plan;
  StablehloModule module;
  std::unique_ptr<Executable> executable;
  /// Of the arguments that are constants.
  std::vector<DeviceBuffers> constants;
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

  /// Compiles the plan unless it has been.
  std::shared_ptr<const CompiledPlan> compiled(
      const std::shared_ptr<const engines::LoweredPlan>& plan) const;

  DeviceBuffers put(const Type& type, const std::byte* elements) const;

 private:
  std::shared_ptr<Client> client_;
  CompileOptions options_;
  mutable std::mutex parameters_mutex_;
  mutable std::unordered_map<std::uint32_t, DeviceBuffers> parameters_;
  /// Held while a plan is compiled: sessions go on stepping others.
  mutable std::mutex plans_mutex_;
  mutable std::unordered_map<const engines::LoweredPlan*,
                             std::shared_ptr<const CompiledPlan>>
      plans_;
};

/// \param placement  an XlaPlacement
std::shared_ptr<engines::SessionState> open_xla_session(
    std::shared_ptr<const engines::PlacementState> placement,
    SessionOptions options);

}  // namespace topos::runtime
