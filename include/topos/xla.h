#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "topos/engine.h"

/// \file
/// Plans on XLA: emitted as StableHLO, compiled once, and run where XLA runs.
/// Parameters cross once and stay; carries are donated and updated in place;
/// results are read only when asked for.
///
///     Session session = xla::open(network);
///
/// Numerics are XLA's own, within the bounds of docs/xla.md: not the
/// interpreter's bits. Indices out of range are an IndexError as on every
/// engine, though XLA itself clamps a gather's and drops a scatter_add's: fed
/// ones before anything runs; computed ones, and those that the session holds,
/// after the step, by a result that plans with such indices have beside their
/// own.

namespace topos {

/// An option of a plugin or of XLA's compiler, handed through.
using XlaOption = std::variant<bool, std::int64_t, double, std::string,
                               std::vector<std::int64_t>>;

/// Where and how plans run:
///
///     Session session = xla::open(network, {.devices = 2});
struct XlaOptions {
  /// Devices that each plan is partitioned over: inputs whose leading extent
  /// they divide are split among them, all else is on each, and XLA adds what
  /// has to cross. What a plan means does not change.
  int devices = 1;

  /// `xla`: the file of a PJRT plugin. If empty: TOPOS_PJRT_PLUGIN, then the
  /// usual places in Python environments.
  std::string plugin = {};
  /// `xla`: options for the plugin's client, such as a GPU's
  /// `memory_fraction`.
  std::map<std::string, XlaOption> client = {};
  /// `xla`: the folder of compiled plans; empty: none is kept. If not given:
  /// TOPOS_CACHE_DIR, else topos/ in the user's cache folder.
  std::optional<std::string> cache = {};

  /// `xla-server`: a Python with jax, and arguments for it, split at spaces:
  /// a path that has some needs a link. If empty: TOPOS_XLA_PYTHON, split
  /// likewise, `.venv/bin/python` here or above, `python3`.
  std::string python = {};
  /// `xla-server`: how long it may take to compile a plan, and to do anything
  /// else: a step, a tensor there or back. A server that takes longer is ended,
  /// and with it the sessions that it has.
  std::chrono::milliseconds compile_limit = std::chrono::minutes(10);
  std::chrono::milliseconds request_limit = std::chrono::minutes(2);

  /// XLA's own options for each plan, by the names of its DebugOptions.
  std::map<std::string, XlaOption> compiler = {};

  bool operator==(const XlaOptions&) const = default;
};

/// XLA in this process, through any PJRT plugin. Options are those of the
/// placement's engine, too; SessionOptions have nothing to say here.
namespace xla {
/// The plugin is loaded when parameters are placed first.
Engine engine(const XlaOptions& options = {});
inline Session open(const Placement& x, const XlaOptions& options = {},
                    Site site = Site::here()) {
  return engine(options).open(x, {}, site);
}
inline Session open(const Network& x, const XlaOptions& options = {},
                    Site site = Site::here()) {
  return engine(options).open(x, {}, site);
}
inline Session open(const Network& x, const Parameters& parameters,
                    const XlaOptions& options = {}, Site site = Site::here()) {
  return engine(options).open(x, parameters, {}, site);
}
}  // namespace xla

/// XLA in a Python process with jax, for machines that have jax and no plugin.
namespace xla_server {
/// The process starts when parameters are placed first, and ends with the last
/// placement and session.
Engine engine(const XlaOptions& options = {});
inline Session open(const Placement& x, const XlaOptions& options = {},
                    Site site = Site::here()) {
  return engine(options).open(x, {}, site);
}
inline Session open(const Network& x, const XlaOptions& options = {},
                    Site site = Site::here()) {
  return engine(options).open(x, {}, site);
}
inline Session open(const Network& x, const Parameters& parameters,
                    const XlaOptions& options = {}, Site site = Site::here()) {
  return engine(options).open(x, parameters, {}, site);
}
}  // namespace xla_server

}  // namespace topos
