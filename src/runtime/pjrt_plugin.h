#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/pjrt_api.h"
#include "runtime/pjrt_discovery.h"

/// \file
/// A PJRT plugin in this process: its functions, its errors as exceptions, its
/// objects as handles. What they mean is `pjrt_client.h`'s.

namespace topos::runtime {

/// The oldest version whose layout is known to be a prefix of the one here.
/// The major version has always been 0.
inline constexpr int least_pjrt_minor = 63;

class Plugin {
 public:
  /// Loads a plugin and readies it; once per file and process. It stays until
  /// the process ends: plugins start threads and cannot be unloaded.
  ///
  /// Sets TF_CPP_MIN_LOG_LEVEL to 1 (no news, warnings) unless it is set: not
  /// while another thread reads the environment.
  ///
  /// \throws RuntimeError  the loader's message; or it is no plugin; or its
  ///                       version, with the ones that topos calls
  static const Plugin& load(const std::filesystem::path& path);

  /// The first that loads.
  /// \throws RuntimeError  none does: why, for each; or there are none: what
  ///                       was looked for, and where
  static const Plugin& load_first(std::span<const PluginCandidate> candidates);

  const std::filesystem::path& path() const noexcept { return path_; }
  int minor() const noexcept { return minor_; }
  std::optional<std::int64_t> xla_version() const noexcept {
    return xla_version_;
  }
  /// The newest StableHLO that it reads, `{1, 13, 3}`; empty: it does not say.
  const std::vector<std::int64_t>& stablehlo_version() const noexcept {
    return stablehlo_version_;
  }
  /// Of its compiler, for the cache, as it was when it was loaded; nothing if
  /// that could not be found.
  const std::optional<std::string>& compiler() const noexcept {
    return compiler_;
  }
  /// For people: `PJRT 0.115, XLA 2, StableHLO 1.20.0, <path>`.
  std::string text() const;

  bool has(const raw::Entry& entry) const noexcept {
    return address(entry) != nullptr;
  }

  /// \throws RuntimeError  `name: CODE: words` of the plugin; or it does not
  ///                       have the function
  template <class T>
  void call(raw::Args<T>& arguments) const {
    check(T::entry, call_untyped(T::entry, arguments.get()));
  }

  /// For clean-up: what goes wrong there cannot be mended.
  template <class Destroy>
  void destroy(decltype(Destroy::object) object) const noexcept {
    raw::Args<Destroy> arguments;
    arguments->object = object;
    destroy_untyped(Destroy::entry, arguments.get());
  }

  /// Waits until it has happened and frees it; null has happened already.
  /// \throws RuntimeError  it happened as an error, in the course of `entry`
  void await(raw::Event* event, const raw::Entry& entry) const;

 private:
  using Function = raw::Error* (*)(void*);
  using VoidFunction = void (*)(void*);

  Plugin(std::filesystem::path path, const raw::Api* api);
  void* address(const raw::Entry& entry) const noexcept;
  raw::Error* call_untyped(const raw::Entry& entry, void* arguments) const;
  void destroy_untyped(const raw::Entry& entry, void* arguments) const noexcept;
  void check(const raw::Entry& entry, raw::Error* error) const;
  void read_attributes();

  std::filesystem::path path_;
  const raw::Api* api_;
  int minor_;
  std::optional<std::int64_t> xla_version_;
  std::vector<std::int64_t> stablehlo_version_;
  std::optional<std::string> compiler_;
};

/// Owns an object of a plugin, or none.
template <class Destroy>
class Handle {
 public:
  using Pointer = decltype(Destroy::object);

  Handle() = default;
  Handle(const Plugin& plugin, Pointer object) noexcept
      : plugin_(&plugin), object_(object) {}
  Handle(Handle&& other) noexcept
      : plugin_(other.plugin_),
        object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) plugin_->destroy<Destroy>(object_);
  }

  Pointer get() const noexcept { return object_; }

 private:
  const Plugin* plugin_ = nullptr;
  Pointer object_ = nullptr;
};

}  // namespace topos::runtime
