#include "runtime/pjrt_plugin.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "environment.h"
#include "io/temporary_folder.h"
#include "runtime/pjrt_client.h"
#include "runtime/pjrt_discovery.h"
#include "topos/error.h"

namespace topos::runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::StrEq;
using testing::ThrowsMessage;

const fs::path plugins = TOPOS_FAKE_PLUGINS;
const fs::path fake = plugins / "topos_fake_plugin.so";

PjrtOptions with(const fs::path& plugin) {
  PjrtOptions options;
  options.plugin = plugin;
  options.cache.clear();
  return options;
}

TEST(Plugin, IsLoadedOnceHoweverItIsNamed) {
  const Plugin& plugin = Plugin::load(fake);
  EXPECT_EQ(&Plugin::load(plugins / "." / "topos_fake_plugin.so"), &plugin);
  EXPECT_EQ(plugin.minor(), 99);
  EXPECT_EQ(plugin.text(),
            fmt::format("PJRT 0.99, {}", fs::canonical(fake).string()));
}

// What is asked later may be another file's.
TEST(Plugin, KnowsItsCompilerFromWhenItWasLoaded) {
  const TemporaryFolder folder;
  const fs::path copy = folder / "copy.so";
  fs::copy_file(fake, copy);
  const auto expected = compiler_identity(copy);
  ASSERT_TRUE(expected);
  const Plugin& plugin = Plugin::load(copy);
  fs::remove(copy);
  EXPECT_EQ(plugin.compiler(), expected);
}

TEST(Plugin, ThatIsNotThereIsRefused) {
  EXPECT_THAT([] { Plugin::load("/no/such/plugin.so"); },
              ThrowsMessage<RuntimeError>(
                  StrEq("/no/such/plugin.so: cannot be loaded: No such file or "
                        "directory")));
}

TEST(Plugin, ThatIsNoLibraryIsRefusedWithTheLoadersWords) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text.so") << "not a library";
  EXPECT_THAT([&] { Plugin::load(folder / "text.so"); },
              ThrowsMessage<RuntimeError>(
                  AllOf(HasSubstr("text.so: cannot be loaded: "),
                        HasSubstr("file too short"))));
}

TEST(Plugin, WithoutTheFunctionThatMakesOneIsRefused) {
  EXPECT_THAT([] { Plugin::load(plugins / "topos_no_plugin.so"); },
              ThrowsMessage<RuntimeError>(
                  HasSubstr("is no PJRT plugin: it has no function "
                            "GetPjrtApi")));
}

TEST(Plugin, OfAnOldVersionIsRefusedWithBothVersions) {
  EXPECT_THAT([] { Plugin::load(plugins / "topos_old_plugin.so"); },
              ThrowsMessage<RuntimeError>(
                  HasSubstr("speaks PJRT 0.40; topos speaks 0.63 and newer")));
}

TEST(Plugin, ErrorsHaveTheNameOfTheCallTheCodeAndThePluginsWords) {
  PjrtOptions options = with(fake);
  options.create["fail"] = "no memory for a client";
  EXPECT_THAT([&] { pjrt_client(options); },
              ThrowsMessage<RuntimeError>(
                  StrEq("PJRT_Client_Create: RESOURCE_EXHAUSTED: no memory for "
                        "a client")));
}

TEST(Plugin, CreateOptionsThatItDoesNotKnowAreItsOwnToRefuse) {
  PjrtOptions options = with(fake);
  options.create["no_such_option"] = std::vector<std::int64_t>{1, 2};
  EXPECT_THAT([&] { pjrt_client(options); },
              ThrowsMessage<RuntimeError>(StrEq(
                  "PJRT_Client_Create: INVALID_ARGUMENT: no such option")));
}

TEST(Plugin, FunctionsThatItLacksAreNamed) {
  const auto client = pjrt_client(with(fake));
  EXPECT_THAT(client->description(), StartsWith("fake, 1 device, PJRT 0.99"));
  const float one = 1;
  // Null in the table.
  EXPECT_THAT(
      [&] {
        client->put({f32, {}}, reinterpret_cast<const std::byte*>(&one), 0);
      },
      ThrowsMessage<RuntimeError>(HasSubstr(
          "PJRT_Client_BufferFromHostBuffer: not supported by this plugin")));
  // Beyond its end.
  EXPECT_FALSE(
      Plugin::load(fake).has(raw::ExecutableGetCompiledMemoryStats::entry));
}

TEST(Plugin, FewerDevicesThanAreWantedAreNotEnough) {
  PjrtOptions options = with(fake);
  options.devices = 2;
  EXPECT_THAT([&] { pjrt_client(options); },
              ThrowsMessage<RuntimeError>(
                  HasSubstr("2 devices are wanted, but fake has 1")));
  options.devices = 0;
  EXPECT_THROW(pjrt_client(options), UsageError);
}

TEST(Plugin, TheOneThatTheVariableNamesIsUsedOrRefused) {
  const EnvironmentVariable good("TOPOS_PJRT_PLUGIN", fake.string());
  PjrtOptions options = with("");
  EXPECT_THAT(pjrt_client(options)->description(), HasSubstr("fake"));
  // Not passed over in favour of one that works.
  const EnvironmentVariable bad("TOPOS_PJRT_PLUGIN",
                                (plugins / "topos_old_plugin.so").string());
  EXPECT_THAT(
      [&] { pjrt_client(options); },
      ThrowsMessage<RuntimeError>(AllOf(
          StartsWith("no PJRT plugin can be used:"),
          HasSubstr("speaks PJRT 0.40"), HasSubstr("(TOPOS_PJRT_PLUGIN)"))));
}

TEST(Plugin, WithoutAnyTheMessageSaysWhereItWasLookedFor) {
  const TemporaryFolder root;
  const EnvironmentVariable active("VIRTUAL_ENV", root.path().string());
  fs::create_directories(root / "lib/python3.11/site-packages");
  EXPECT_THAT(
      [] { Plugin::load_first({}); },
      ThrowsMessage<RuntimeError>(AllOf(
          StartsWith("no PJRT plugin was found. TOPOS_PJRT_PLUGIN may name"),
          HasSubstr("lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so, "),
          HasSubstr("\n  " +
                    (root / "lib/python3.11/site-packages").string()))));
}

TEST(Plugin, ABrokenOneThatIsFoundDoesNotHideTheNext) {
  const TemporaryFolder root;
  const fs::path packages = root / "lib/python3.11/site-packages";
  fs::create_directories(packages / "lammps_jax_pjrt_cpu");
  fs::create_directories(packages / "fastatomstruct_xla_cpu");
  std::ofstream(packages / "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so")
      << "broken";
  fs::copy_file(fake, packages / "fastatomstruct_xla_cpu/libpjrt_cpu.so");
  const EnvironmentVariable none("TOPOS_PJRT_PLUGIN", std::nullopt);
  const EnvironmentVariable active("VIRTUAL_ENV", root.path().string());
  EXPECT_THAT(pjrt_client(with(""))->description(),
              AllOf(HasSubstr("fake"), HasSubstr("libpjrt_cpu.so")));
}

// The size that a plugin wants, from its refusal of one that is too small:
// `Unexpected PJRT_X_Args size: expected 56, got 1.`
template <class T>
std::size_t wanted_size(const Plugin& plugin) {
  raw::Args<T> arguments;
  arguments->header.struct_size = 1;
  try {
    plugin.call(arguments);
  } catch (const RuntimeError& error) {
    constexpr std::string_view mark = ": expected ";
    const std::string& text = error.message();
    const auto at = text.find(mark);
    if (at == std::string::npos) return 0;
    std::size_t size = 0;
    std::from_chars(text.data() + at + mark.size(), text.data() + text.size(),
                    size);
    return size;
  }
  return 0;
}

// An opinion from outside. Structs that have grown are taken in their older
// sizes, too; all must fit the room that is left for newer ones.
template <class... T>
void expect_sizes(const Plugin& plugin) {
  const auto expect = [](const raw::Entry& entry, std::size_t size) {
    constexpr std::array grown = {
        raw::ExecutableDeserializeAndLoad::entry.slot,
        raw::ExecutableGetCompiledMemoryStats::entry.slot};
    if (std::ranges::find(grown, entry.slot) == grown.end()) {
      EXPECT_EQ(size, entry.size) << entry.name;
    } else {
      EXPECT_GT(size, sizeof(raw::Header)) << entry.name;
      EXPECT_LE(size, entry.size + raw::Args<raw::ErrorMessage>::room)
          << entry.name;
    }
  };
  (expect(T::entry, wanted_size<T>(plugin)), ...);
}

TEST(Plugin, ARealOneWantsTheSizesThatAreDeclared) {
  const auto found = plugin_candidates();
  if (found.empty()) GTEST_SKIP() << "no PJRT plugin was found";
  expect_sizes<
      raw::EventDestroy, raw::EventAwait, raw::PluginInitialize,
      raw::PluginAttributes, raw::ClientCreate, raw::ClientDestroy,
      raw::ClientPlatformName, raw::ClientPlatformVersion,
      raw::ClientAddressableDevices, raw::ClientBufferFromHostBuffer,
      raw::BufferDestroy, raw::BufferIsDeleted, raw::BufferToHostBuffer,
      raw::BufferReadyEvent, raw::BufferUnsafePointer, raw::ClientCompile,
      raw::ExecutableDestroy, raw::ExecutableNumOutputs,
      raw::ExecutableSerialize, raw::LoadedExecutableDestroy,
      raw::LoadedExecutableGetExecutable, raw::LoadedExecutableExecute,
      raw::ExecutableDeserializeAndLoad, raw::ExecutableOutputElementTypes,
      raw::ExecutableOutputDimensions, raw::ExecutableGetCompiledMemoryStats>(
      Plugin::load(found[0].path));
}

}  // namespace
}  // namespace topos::runtime
