// The engines that run on XLA: who reaches it, found when it is first needed.

#include <fmt/format.h>

#include <deque>
#include <mutex>

#include "runtime/pjrt_client.h"
#include "runtime/server_client.h"
#include "runtime/xla_session.h"
#include "topos/error.h"
#include "topos/xla.h"

namespace topos::runtime {

namespace {

CompileOptions compile_options(const XlaOptions& options) {
  CompileOptions result;
  result.partitions = options.devices;
  for (const auto& [name, value] : options.compiler) {
    std::visit(
        [&, &key = name]<class T>(const T& x) {
          if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
            throw UsageError(
                fmt::format("the compiler's option {} cannot be a list", key));
          } else {
            result.overrides[key] = x;
          }
        },
        value);
  }
  return result;
}

/// An engine for one set of options, and the client that its placements share.
class XlaEngine : public engines::EngineImplementation {
 public:
  explicit XlaEngine(XlaOptions options) : options_(std::move(options)) {}

  const XlaOptions& options() const noexcept { return options_; }

  std::shared_ptr<const engines::PlacementState> place(
      const Network& network, const Parameters& parameters) const override {
    if (options_.devices < 1) {
      throw UsageError(fmt::format("{} devices are too few", options_.devices));
    }
    for (const auto limit : {options_.compile_limit, options_.request_limit}) {
      if (limit.count() > 0) continue;
      throw UsageError(
          fmt::format("a limit of {} ms is too short", limit.count()));
    }
    return std::make_shared<XlaPlacement>(*this, network, parameters, client(),
                                          compile_options(options_));
  }

  std::shared_ptr<engines::SessionState> open(
      std::shared_ptr<const engines::PlacementState> placement,
      SessionOptions options) const override {
    return open_xla_session(placement, options);
  }

  std::string description() const override { return client()->description(); }

 private:
  virtual std::unique_ptr<Client> make_client() const = 0;

  /// The one in use, or a new one. It goes with its last user: a server
  /// process does not stay behind, and one that died is replaced.
  std::shared_ptr<Client> client() const {
    const std::lock_guard lock(mutex_);
    if (auto in_use = client_.lock(); in_use != nullptr && in_use->alive()) {
      return in_use;
    }
    std::shared_ptr<Client> fresh = make_client();
    if (fresh->device_count() < options_.devices) {
      throw RuntimeError(fmt::format("{} devices are wanted, but there is {}",
                                     options_.devices, fresh->description()));
    }
    client_ = fresh;
    return fresh;
  }

  XlaOptions options_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<Client> client_;
};

class InProcess final : public XlaEngine {
 public:
  using XlaEngine::XlaEngine;
  std::string_view name() const override { return "xla"; }

 private:
  std::unique_ptr<Client> make_client() const override {
    PjrtOptions pjrt;
    pjrt.plugin = options().plugin;
    pjrt.devices = options().devices;
    if (options().cache) pjrt.cache = *options().cache;
    for (const auto& [name, value] : options().client) {
      std::visit(
          [&, &key = name]<class T>(const T& x) {
            if constexpr (std::same_as<T, double>) {
              pjrt.create[key] = static_cast<float>(x);
            } else {
              pjrt.create[key] = x;
            }
          },
          value);
    }
    return pjrt_client(pjrt);
  }
};

class InServer final : public XlaEngine {
 public:
  using XlaEngine::XlaEngine;
  std::string_view name() const override { return "xla-server"; }

 private:
  std::unique_ptr<Client> make_client() const override {
    ServerOptions server;
    server.python = options().python;
    server.cpu_devices = options().devices;
    server.compile_limit = options().compile_limit;
    server.request_limit = options().request_limit;
    return open_server(server);
  }
};

/// The engine of these options, made if there is none. Engines stay: handles
/// to them are plain pointers.
template <class Implementation>
const Implementation& engine_of(const XlaOptions& options) {
  static std::mutex mutex;
  static std::deque<Implementation> engines;
  const std::lock_guard lock(mutex);
  for (const Implementation& engine : engines) {
    if (engine.options() == options) return engine;
  }
  return engines.emplace_back(options);
}

}  // namespace

}  // namespace topos::runtime

namespace topos {

Engine xla::engine(const XlaOptions& options) {
  return Engine(runtime::engine_of<runtime::InProcess>(options));
}

Engine xla_server::engine(const XlaOptions& options) {
  return Engine(runtime::engine_of<runtime::InServer>(options));
}

}  // namespace topos
