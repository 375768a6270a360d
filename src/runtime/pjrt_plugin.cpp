#include "runtime/pjrt_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>

#include "runtime/executable_cache.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;

std::string code_name(int code) {
  constexpr std::array<std::string_view, 17> names = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "DATA_LOSS",
      "UNAUTHENTICATED",
  };
  const auto at = static_cast<std::size_t>(code);
  if (code >= 0 && at < names.size()) return std::string(names[at]);
  return fmt::format("code {}", code);
}

// The plugin's table, from the file's one symbol.
const raw::Api* open_plugin(const fs::path& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw RuntimeError(
        fmt::format("{}: cannot be loaded: {}", path.string(), ::dlerror()));
  }
  using GetApi = const raw::Api* (*)();
  const auto get = reinterpret_cast<GetApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    throw RuntimeError(fmt::format(
        "{}: is no PJRT plugin: it has no function GetPjrtApi", path.string()));
  }
  const raw::Api* api = get();
  if (api == nullptr || api->header.struct_size < sizeof(raw::Api)) {
    throw RuntimeError(fmt::format("{}: GetPjrtApi gives no table of functions",
                                   path.string()));
  }
  const auto& version = api->version;
  if (version.major != 0 || version.minor < least_pjrt_minor) {
    throw RuntimeError(fmt::format(
        "{}: speaks PJRT {}.{}; topos speaks 0.{} and newer ones of major "
        "version 0",
        path.string(), version.major, version.minor, least_pjrt_minor));
  }
  return api;
}

}  // namespace

const Plugin& Plugin::load(const fs::path& path) {
  static std::mutex mutex;
  // Never destroyed, as the plugins themselves.
  static auto& loaded = *new std::map<fs::path, std::unique_ptr<Plugin>>();

  // A name without a slash would send the loader to the system's folders.
  std::error_code error;
  fs::path file = fs::canonical(path, error);
  if (error) {
    throw RuntimeError(fmt::format("{}: cannot be loaded: {}", path.string(),
                                   error.message()));
  }
  const std::lock_guard lock(mutex);
  if (const auto at = loaded.find(file); at != loaded.end()) return *at->second;
  // As jax does: without it every client that is made is news on stderr.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): stated in the header.
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
  std::unique_ptr<Plugin> plugin(new Plugin(file, open_plugin(file)));
  return *loaded.emplace(file, std::move(plugin)).first->second;
}

const Plugin& Plugin::load_first(std::span<const PluginCandidate> candidates) {
  std::string tried;
  for (const PluginCandidate& candidate : candidates) {
    try {
      return load(candidate.path);
    } catch (const RuntimeError& error) {
      tried += fmt::format("\n  {} ({})", error.message(), candidate.origin);
    }
  }
  if (!tried.empty()) {
    throw RuntimeError("no PJRT plugin can be used:" + tried);
  }
  std::string folders;
  for (const fs::path& folder : site_packages()) {
    folders += "\n  " + folder.string();
  }
  if (folders.empty()) folders = "\n  (no folder of Python packages is here)";
  throw RuntimeError(fmt::format(
      "no PJRT plugin was found. TOPOS_PJRT_PLUGIN may name one, and `pip "
      "install --no-deps lammps-jax-pjrt-cpu` installs one for CPUs; looked "
      "for {} in{}",
      fmt::join(plugin_patterns(), ", "), folders));
}

Plugin::Plugin(fs::path path, const raw::Api* api)
    : path_(std::move(path)),
      api_(api),
      minor_(api->version.minor),
      compiler_(compiler_identity(path_)) {
  for (const raw::Entry& entry :
       {raw::ErrorDestroy::entry, raw::ErrorMessage::entry,
        raw::ErrorGetCode::entry}) {
    if (!has(entry)) {
      throw RuntimeError(fmt::format("{}: is no PJRT plugin: it has no {}",
                                     path_.string(), entry.name));
    }
  }
  raw::Args<raw::PluginInitialize> initialize;
  call(initialize);
  read_attributes();
}

void Plugin::read_attributes() {
  if (!has(raw::PluginAttributes::entry)) return;
  raw::Args<raw::PluginAttributes> arguments;
  call(arguments);
  for (const raw::NamedValue& value :
       std::span(arguments->attributes, arguments->num_attributes)) {
    const std::string_view name(value.name, value.name_size);
    if (name == "xla_version" && value.type == raw::NamedValueType::int64) {
      xla_version_ = value.int64_value;
    }
    if (name == "stablehlo_current_version" &&
        value.type == raw::NamedValueType::int64_list) {
      const std::span numbers(value.int64_array_value, value.value_size);
      stablehlo_version_.assign(numbers.begin(), numbers.end());
    }
  }
}

std::string Plugin::text() const {
  std::string out = fmt::format("PJRT 0.{}", minor_);
  if (xla_version_) out += fmt::format(", XLA {}", *xla_version_);
  if (!stablehlo_version_.empty()) {
    out += fmt::format(", StableHLO {}", fmt::join(stablehlo_version_, "."));
  }
  return fmt::format("{}, {}", out, path_.string());
}

void* Plugin::address(const raw::Entry& entry) const noexcept {
  const auto count =
      (api_->header.struct_size - sizeof(raw::Api)) / sizeof(void*);
  if (static_cast<std::size_t>(entry.slot) >= count) return nullptr;
  return reinterpret_cast<void* const*>(api_ + 1)[entry.slot];
}

raw::Error* Plugin::call_untyped(const raw::Entry& entry,
                                 void* arguments) const {
  void* const called = address(entry);
  if (called == nullptr) {
    throw RuntimeError(fmt::format("{}: not supported by this plugin ({})",
                                   entry.name, text()));
  }
  return reinterpret_cast<Function>(called)(arguments);
}

void Plugin::destroy_untyped(const raw::Entry& entry,
                             void* arguments) const noexcept {
  void* const called = address(entry);
  if (called == nullptr) return;
  // The one that destroys errors returns nothing.
  if (entry.slot == raw::ErrorDestroy::entry.slot) {
    reinterpret_cast<VoidFunction>(called)(arguments);
  } else if (auto* error = reinterpret_cast<Function>(called)(arguments);
             error != nullptr) {
    destroy<raw::ErrorDestroy>(error);
  }
}

void Plugin::check(const raw::Entry& entry, raw::Error* error) const {
  if (error == nullptr) return;
  const Handle<raw::ErrorDestroy> owned(*this, error);

  raw::Args<raw::ErrorMessage> message;
  message->error = error;
  reinterpret_cast<VoidFunction>(address(raw::ErrorMessage::entry))(
      message.get());

  raw::Args<raw::ErrorGetCode> code;
  code->error = error;
  const Handle<raw::ErrorDestroy> unknown(
      *this, call_untyped(raw::ErrorGetCode::entry, code.get()));
  throw RuntimeError(
      fmt::format("{}: {}: {}", entry.name,
                  unknown.get() == nullptr ? code_name(code->code) : "no code",
                  std::string_view(message->message, message->message_size)));
}

void Plugin::await(raw::Event* event, const raw::Entry& entry) const {
  if (event == nullptr) return;
  const Handle<raw::EventDestroy> owned(*this, event);
  raw::Args<raw::EventAwait> arguments;
  arguments->event = event;
  check(entry, call_untyped(raw::EventAwait::entry, arguments.get()));
}

}  // namespace topos::runtime
