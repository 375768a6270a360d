#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

/// \file
/// Where PJRT plugins lie. Python packages bring them; finding them asks the
/// file system alone and starts no Python.

namespace topos::runtime {

/// The folders that Python installs packages into, those that exist, nearest
/// first: of $VIRTUAL_ENV, of a `.venv` in the current folder or near above it
/// or above this program, of $CONDA_PREFIX, the user's and the system's.
std::vector<std::filesystem::path> site_packages();

/// A file that may be a plugin; nothing has been loaded.
struct PluginCandidate {
  std::filesystem::path path;
  /// What named it: `TOPOS_PJRT_PLUGIN`, or the folder of packages.
  std::string origin;
};

/// All that lie where plugins lie, in the order in which they are tried: those
/// for CPUs before others; then by folder; then the packages known to be good.
std::vector<PluginCandidate> probe_plugins(
    std::span<const std::filesystem::path> folders);

/// What a client is made from: the file that TOPOS_PJRT_PLUGIN names, and then
/// nothing else; without it all of `probe_plugins(site_packages())`.
std::vector<PluginCandidate> plugin_candidates();

/// The patterns below a folder of packages that are looked at, for messages.
std::vector<std::string> plugin_patterns();

}  // namespace topos::runtime
