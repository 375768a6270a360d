#include "runtime/pjrt_discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "environment.h"
#include "io/temporary_folder.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "not loaded\n";
}

// What was found, from the folder on.
std::vector<std::string> names(const std::vector<PluginCandidate>& found,
                               const fs::path& root) {
  std::vector<std::string> out;
  for (const PluginCandidate& candidate : found) {
    out.push_back(candidate.path.lexically_relative(root).string());
  }
  return out;
}

TEST(PluginDiscovery, KnownPackagesComeFirstAndOtherDevicesLast) {
  const TemporaryFolder root;
  const std::vector<fs::path> folders = {root / "near", root / "far"};
  touch(root / "near/libtpu/libtpu.so");
  touch(root / "near/jax_plugins/xla_cuda12/xla_cuda_plugin.so");
  touch(root / "near/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  touch(root / "near/xla_plugins/xla_cpu_pjrt/notes.txt");
  touch(root / "near/fastatomstruct_xla_cpu/libpjrt_cpu.so");
  touch(root / "far/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so");
  fs::create_directories(root / "far/libtpu/libtpu.so");  // no file
  EXPECT_THAT(names(probe_plugins(folders), root.path()),
              ElementsAre("near/fastatomstruct_xla_cpu/libpjrt_cpu.so",
                          "near/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                          "far/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
                          "near/jax_plugins/xla_cuda12/xla_cuda_plugin.so",
                          "near/libtpu/libtpu.so"));
  EXPECT_EQ(probe_plugins(folders)[2].origin, (root / "far").string());
}

TEST(PluginDiscovery, InOneFolderTheBestPackageIsFirst) {
  const TemporaryFolder root;
  const std::vector<fs::path> folders = {root.path()};
  touch(root / "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
  touch(root / "fastatomstruct_xla_cpu/libpjrt_cpu.so");
  touch(root / "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so");
  EXPECT_THAT(names(probe_plugins(folders), root.path()),
              ElementsAre("lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
                          "fastatomstruct_xla_cpu/libpjrt_cpu.so",
                          "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"));
}

TEST(PluginDiscovery, FoldersThatAreNotThereHoldNothing) {
  const std::vector<fs::path> folders = {"/no/such/folder"};
  EXPECT_THAT(probe_plugins(folders), IsEmpty());
}

TEST(PluginDiscovery, TheActiveEnvironmentIsNearestThenCondaThenTheUsers) {
  const TemporaryFolder root;
  const EnvironmentVariable active("VIRTUAL_ENV", (root / "venv").string());
  const EnvironmentVariable conda("CONDA_PREFIX", (root / "conda").string());
  const EnvironmentVariable home("HOME", (root / "home").string());
  fs::create_directories(root / "venv/lib/python3.9/site-packages");
  fs::create_directories(root / "venv/lib/python3.11/site-packages");
  fs::create_directories(root / "venv/lib/python2.7/site-packages");
  fs::create_directories(root / "conda/lib/python3.12/site-packages");
  fs::create_directories(root / "home/.local/lib/python3.11/site-packages");
  std::vector<std::string> ours;
  for (const fs::path& folder : site_packages()) {
    const std::string inside = folder.lexically_relative(root.path()).string();
    if (!inside.starts_with("..")) ours.push_back(inside);
  }
  EXPECT_THAT(ours, ElementsAre("venv/lib/python3.11/site-packages",
                                "venv/lib/python3.9/site-packages",
                                "conda/lib/python3.12/site-packages",
                                "home/.local/lib/python3.11/site-packages"));
}

TEST(PluginDiscovery, TheEnvironmentOfAProjectIsFoundFromAFolderInIt) {
  const TemporaryFolder root;
  const fs::path packages = root / ".venv/lib/python3.11/site-packages";
  fs::create_directories(packages);
  fs::create_directories(root / "one/two");
  const fs::path before = fs::current_path();
  fs::current_path(root / "one/two");
  const std::vector<fs::path> found = site_packages();
  fs::current_path(before);
  EXPECT_THAT(found, testing::Contains(fs::canonical(packages)));
}

TEST(PluginDiscovery, TheVariableNamesThePluginAndNothingElseIsTried) {
  const EnvironmentVariable named("TOPOS_PJRT_PLUGIN", "/no/such/plugin.so");
  const std::vector<PluginCandidate> found = plugin_candidates();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].path, "/no/such/plugin.so");
  EXPECT_EQ(found[0].origin, "TOPOS_PJRT_PLUGIN");
}

}  // namespace
}  // namespace topos::runtime
