#include "runtime/pjrt_discovery.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include "runtime/system.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;

// Best first: the newest compiler, and those with the fewest copies.
constexpr std::array<std::string_view, 5> patterns = {
    "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
    "fastatomstruct_xla_cpu/libpjrt_cpu.so",
    "xla_plugins/*/*.so",
    "jax_plugins/*/*.so",
    "libtpu/libtpu.so",
};

// How far above the current folder and this program a `.venv` is looked for:
// from build/release/bin to the project.
constexpr int levels_up = 4;

/// That of the environment, if it is not empty.
std::optional<std::string> given(const char* name) {
  auto value = variable(name);
  if (value && value->empty()) value.reset();
  return value;
}

// `*` at one end of a name, or nothing special.
bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.starts_with('*')) return name == pattern;
  pattern.remove_prefix(1);
  return name.ends_with(pattern);
}

// What lies in a folder, by name; nothing where it cannot be read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    found.push_back(at->path());
  }
  std::ranges::sort(found);
  return found;
}

// The files below `folder` that a pattern names.
std::vector<fs::path> expand(const fs::path& folder, const fs::path& pattern) {
  std::vector<fs::path> found = {folder};
  for (const fs::path& part : pattern) {
    const std::string wanted = part.string();
    std::vector<fs::path> next;
    for (const fs::path& parent : found) {
      if (!wanted.starts_with('*')) {
        next.push_back(parent / part);
        continue;
      }
      for (const fs::path& entry : entries(parent)) {
        if (matches(entry.filename().string(), wanted)) next.push_back(entry);
      }
    }
    found = std::move(next);
  }
  std::erase_if(found, [](const fs::path& path) {
    std::error_code error;
    return !fs::is_regular_file(path, error);
  });
  return found;
}

// `prefix/python3.11/...`, and `prefix/python3/...`: the newest first.
std::vector<fs::path> of_pythons(const fs::path& prefix,
                                 std::span<const std::string_view> names) {
  std::vector<fs::path> pythons;
  for (const fs::path& entry : entries(prefix)) {
    if (entry.filename().string().starts_with("python3")) {
      pythons.push_back(entry);
    }
  }
  // 3.9 is shorter than 3.11, and older.
  std::ranges::sort(pythons, std::ranges::greater(), [](const fs::path& path) {
    const std::string text = path.string();
    return std::tuple(text.size(), text);
  });
  std::vector<fs::path> found;
  for (const fs::path& python : pythons) {
    for (const std::string_view name : names) {
      std::error_code error;
      if (fs::is_directory(python / name, error)) {
        found.push_back(python / name);
      }
    }
  }
  return found;
}

// The `.venv` of a folder and of those above it.
std::vector<fs::path> environments_above(fs::path folder) {
  std::vector<fs::path> found;
  for (int level = 0; level <= levels_up && !folder.empty(); ++level) {
    found.push_back(folder / ".venv");
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return found;
}

}  // namespace

std::vector<fs::path> site_packages() {
  std::error_code error;
  std::vector<fs::path> environments;
  const auto add = [&](const std::vector<fs::path>& more) {
    environments.insert(environments.end(), more.begin(), more.end());
  };
  if (const auto active = given("VIRTUAL_ENV")) add({*active});
  add(environments_above(fs::current_path(error)));
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  add(environments_above(program.parent_path()));
  if (const auto conda = given("CONDA_PREFIX")) add({*conda});
  if (const auto home = given("HOME")) add({fs::path(*home) / ".local"});
  add({"/usr/local", "/usr"});

  constexpr std::array<std::string_view, 2> names = {"site-packages",
                                                     "dist-packages"};
  std::vector<fs::path> folders;
  for (const fs::path& environment : environments) {
    for (const fs::path& folder : of_pythons(environment / "lib", names)) {
      if (std::ranges::find(folders, folder) == folders.end()) {
        folders.push_back(folder);
      }
    }
  }
  return folders;
}

std::vector<PluginCandidate> probe_plugins(std::span<const fs::path> folders) {
  std::vector<PluginCandidate> on_cpu;
  std::vector<PluginCandidate> others;
  for (const fs::path& folder : folders) {
    for (const std::string_view pattern : patterns) {
      for (const fs::path& path : expand(folder, pattern)) {
        const std::string inside = path.lexically_relative(folder).string();
        const bool cpu = inside.find("cpu") != std::string::npos;
        (cpu ? on_cpu : others).push_back({path, folder.string()});
      }
    }
  }
  on_cpu.insert(on_cpu.end(), others.begin(), others.end());
  return on_cpu;
}

std::vector<PluginCandidate> plugin_candidates() {
  constexpr const char* name = "TOPOS_PJRT_PLUGIN";
  if (const auto path = given(name)) return {{*path, name}};
  return probe_plugins(site_packages());
}

std::vector<std::string> plugin_patterns() {
  return {patterns.begin(), patterns.end()};
}

}  // namespace topos::runtime
