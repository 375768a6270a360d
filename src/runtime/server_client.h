#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device_client.h"

/// \file
/// Devices that jax reaches, in a Python process beside this one.

namespace topos::runtime {

struct ServerOptions {
  /// A Python with jax, and arguments for it, separated by spaces. If empty:
  /// what TOPOS_XLA_PYTHON says, else `.venv/bin/python` in the current folder
  /// or one above it, else `python3`.
  std::string python;
  /// As jax names it: `cpu`, `cuda`. If empty, jax chooses, for which it reads
  /// JAX_PLATFORMS.
  std::string platform;
  /// Into how many devices the CPU is to be divided, for partitioned programs.
  int cpu_devices = 1;

  /// How long the server may take. To start: if not given, the seconds in
  /// TOPOS_XLA_START_TIMEOUT_S, else a minute.
  std::optional<std::chrono::milliseconds> start_limit;
  std::chrono::milliseconds compile_limit = std::chrono::minutes(10);
  std::chrono::milliseconds request_limit = std::chrono::minutes(2);
};

/// Starts a server. It ends with the client, or with this process.
///
/// Calls may come from any thread and are done one after the other. A server
/// that breaks down makes that call and each later one a RuntimeError, which
/// says how the server ended and what it wrote last.
///
/// \throws RuntimeError  there is no such Python, it has no jax or one of an
///                       unknown kind, or it does not start in time
/// \throws UsageError    TOPOS_XLA_START_TIMEOUT_S is no number of seconds
std::unique_ptr<Client> open_server(const ServerOptions& options = {});

/// The Python that `open_server` would start, and its arguments.
std::vector<std::string> server_command(const ServerOptions& options);

}  // namespace topos::runtime
