#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "runtime/device_client.h"
#include "runtime/executable_cache.h"

/// \file
/// The client over any PJRT plugin: CPU, GPU or TPU, in this process.
///
/// Buffers and programs keep what they need of the client alive, so that they
/// may be destroyed in any order. Threads may share a client and a program; a
/// buffer that a run donates belongs to that run alone.

namespace topos::runtime {

struct PjrtOptions {
  /// A plugin's file. Empty: the one that TOPOS_PJRT_PLUGIN names, or the
  /// first that is found and loads (`plugin_candidates`).
  std::filesystem::path plugin;
  /// How many devices are used: the plugin's first ones. The plugin for CPUs
  /// makes as many of this machine.
  int devices = 1;
  /// The plugin's own options, such as a GPU's `memory_fraction`. Some plugins
  /// refuse those that they do not know.
  std::map<std::string, std::variant<bool, std::int64_t, float, std::string,
                                     std::vector<std::int64_t>>>
      create;
  /// Where compiled programs are kept; empty: nowhere.
  std::filesystem::path cache = default_cache_folder();
};

/// \throws RuntimeError  no plugin, with all that was looked at; or it has
///                       fewer devices; or its own words
std::unique_ptr<Client> pjrt_client(const PjrtOptions& options = {});

/// Where a buffer of such a client lies in its device's memory; a number to
/// compare, not to read from.
/// \throws UsageError  the buffer is another client's, or was donated
std::uintptr_t device_address(const Buffer& buffer);

}  // namespace topos::runtime
